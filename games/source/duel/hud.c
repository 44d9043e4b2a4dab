#include "hud.h"
#include "art_types.h"
#include "rules.h"
#include "video.h"

#define BAR_TILES 17
#define BAR_ROW 2
#define LEFT_BAR 1
#define RIGHT_BAR 22
#define RIGHT_NAME (RIGHT_BAR + 4) /* right of the marks for rounds won */
#define WHO_AFTER 5                /* columns from the start of a name */
#define LEVEL_AFTER 8
#define CLOCK_COLUMN 19
#define NAME_ROW 4
#define SCORE_ROW 1
#define MESSAGE_ROW 10
#define BLINK 32 /* frames */

/* What the screen shows, so that only changes are drawn. */
static struct {
    u8 valid;
    u16 phase;
    u8 outcome, seconds, blinks, stage;
    u8 bar[SIDES], victories[SIDES], level[SIDES], character[SIDES];
    u16 mode;
    u32 score;
} shown;

void hud_reset(void) { shown.valid = 0; }

/* Width of the filled part of a health bar, in pixels. */
static u8 bar_pixels(s16 hp) { return hp <= 0 ? 0 : (u8)((hp * (BAR_TILES * 8) + FULL_HP - 1) / FULL_HP); }

/* The bars empty from the outside: the agent's from the left, the enemy's from the right. */
static void draw_bar(u8 side, u8 filled)
{
    for (u8 i = 0; i < BAR_TILES; i++) {
        s16 here = (s16)(filled - i * 8);
        u8 full = here < 0 ? 0 : here > 8 ? 8 : (u8)here;
        u8 column = side ? (u8)(RIGHT_BAR + i) : (u8)(LEFT_BAR + BAR_TILES - 1 - i);
        video_tile(column, BAR_ROW, (u16)((UI_BAR + full) | (side ? 0 : FLIPPED)));
    }
}

static void number(char *to, u8 value)
{
    to[0] = (char)('0' + value / 10);
    to[1] = (char)('0' + value % 10);
    to[2] = 0;
}

/* Always two characters: a single digit is followed by a space. */
static void level_number(char *to, u8 level)
{
    number(to, level);
    if (level < 10) {
        to[0] = to[1];
        to[1] = ' ';
    }
}

static void draw_score(void)
{
    char text[9];
    for (u8 i = 0; i < 8; i++)
        text[i] = (char)('0' + ((game.score >> (28 - 4 * i)) & 15));
    text[8] = 0;
    video_text(LEFT_BAR, SCORE_ROW, text);
}

static void draw_names(void)
{
    static const char *const who[] = {"PAD", "CPU"};
    static char level[] = " LV00";
    for (u8 side = 0; side < SIDES; side++) {
        const char *name = characters[game.fighters[side].character].name;
        u8 cpu = DEMO || MODE == MODE_CPU_CPU || (side && MODE == MODE_PAD_CPU);
        u8 column = side ? RIGHT_NAME : LEFT_BAR;
        video_text(column, NAME_ROW, name);
        video_text((u8)(column + WHO_AFTER), NAME_ROW, who[cpu]);
        level_number(level + 3, (u8)(side ? ENEMY_LEVEL : AGENT_LEVEL));
        video_text((u8)(column + LEVEL_AFTER), NAME_ROW, cpu ? level : "     ");
    }
}

static void draw_marks(void)
{
    for (u8 side = 0; side < SIDES; side++)
        for (u8 i = 0; i < ROUNDS_TO_WIN; i++)
            video_tile((u8)(side ? RIGHT_BAR + i : LEFT_BAR + BAR_TILES - 1 - i), NAME_ROW, (u16)(UI_MARK + (game.victories[side] <= i)));
}

static void message(const char *text)
{
    video_text_centred(MESSAGE_ROW, "                    ");
    if (text)
        video_text_centred(MESSAGE_ROW, text);
}

static void draw_message(void)
{
    static char round[] = "ROUND 0";
    switch (game.phase) {
    case PHASE_INTRO:
        round[6] = (char)('0' + game.round);
        message(game.phase_frame < 40 ? round : "FIGHT!");
        break;
    case PHASE_ROUND_OVER:
        if (game.outcome == DRAWN)
            message("DRAW");
        else if (game.seconds == 0)
            message("TIME OVER");
        else
            message(game.fighters[game.outcome == AGENT_WON].hp == KNOCKED_OUT ? "K.O.!" : "");
        break;
    case PHASE_MATCH_OVER:
        if (game.outcome == DRAWN) {
            message("DRAWN MATCH");
        } else {
            message(characters[game.fighters[game.outcome == ENEMY_WON].character].name);
            video_text_centred(MESSAGE_ROW + 2, "WINS");
        }
        break;
    default:
        message(NULL);
        video_text_centred(MESSAGE_ROW + 2, "            ");
    }
}

static void draw_fight_screen(u8 blinks)
{
    char text[3];
    if (!shown.valid || shown.mode != MODE || shown.level[0] != AGENT_LEVEL || shown.level[1] != ENEMY_LEVEL
        || shown.character[0] != game.fighters[0].character || shown.character[1] != game.fighters[1].character)
        draw_names();
    if (!shown.valid || shown.victories[0] != game.victories[0] || shown.victories[1] != game.victories[1] || shown.mode != MODE)
        draw_marks();
    for (u8 side = 0; side < SIDES; side++) {
        u8 filled = bar_pixels(game.fighters[side].hp);
        if (!shown.valid || filled != shown.bar[side])
            draw_bar(side, filled);
        shown.bar[side] = filled;
    }
    if (!shown.valid || shown.seconds != game.seconds) {
        number(text, game.seconds);
        video_text(CLOCK_COLUMN, BAR_ROW, text);
    }
    if (!shown.valid || shown.score != game.score)
        draw_score();
    if (!shown.valid || shown.phase != game.phase || shown.outcome != game.outcome || (game.phase == PHASE_INTRO && (game.phase_frame == 1 || game.phase_frame == 40)))
        draw_message();
    if (DEMO && (!shown.valid || shown.blinks != blinks))
        video_text_centred(24, blinks ? "PRESS START" : "           ");
}

static void draw_title(u8 blinks)
{
    if (!shown.valid) {
        video_logo((TEXT_COLUMNS - LOGO_COLUMNS) / 2, 6);
        video_text_centred(22, "MINIBRAINS 2026");
    }
    video_text_centred(17, blinks ? "PRESS START" : "           ");
}

static void draw_selection(u8 blinks)
{
    static char text[] = "LEVEL 00";
    if (!shown.valid || shown.blinks != blinks || shown.character[0] != game.fighters[0].character || shown.character[1] != game.fighters[1].character
        || shown.level[1] != ENEMY_LEVEL || shown.stage != STAGE) {
        video_text_centred(4, "CHOOSE YOUR FIGHTER");
        video_text(6, 9, "<      >");
        video_text(8, 9, characters[game.fighters[0].character].name);
        video_text(28, 9, characters[game.fighters[1].character].name);
        level_number(text + 6, (u8)ENEMY_LEVEL);
        video_text(27, 11, text);
        video_text_centred(6, "              ");
        video_text_centred(6, stage_art[STAGE].name);
        video_text_centred(25, "A LEVEL  B RIVAL  C STAGE");
        video_text_centred(13, blinks ? "START FIGHT" : "           ");
    }
}

void hud_draw(void)
{
    u8 blinks = (u8)((FRAME / BLINK) & 1);
    if (game.phase == PHASE_TITLE)
        draw_title(blinks);
    else if (game.phase == PHASE_SELECT)
        draw_selection(blinks);
    else
        draw_fight_screen(blinks);
    shown.valid = 1;
    shown.phase = game.phase;
    shown.outcome = game.outcome;
    shown.seconds = game.seconds;
    shown.score = game.score;
    shown.blinks = blinks;
    shown.mode = MODE;
    shown.stage = (u8)STAGE;
    shown.level[0] = (u8)AGENT_LEVEL;
    shown.level[1] = (u8)ENEMY_LEVEL;
    for (u8 side = 0; side < SIDES; side++) {
        shown.victories[side] = game.victories[side];
        shown.character[side] = game.fighters[side].character;
    }
}
