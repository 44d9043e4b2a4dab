/* The frame loop: clamp what the host wrote, draw, take it, read the pads, let opponents press theirs, play a frame, publish. */
#include "hud.h"
#include "opponent.h"
#include "published.h"
#include "rules.h"
#include "video.h"

#define TITLE_FRAMES 360       /* the title waits so long before a demonstration */
#define DEMO_FRAMES 1500
#define DEMO_LEVEL 6
#define PSG BYTE_AT(0xC00011)
#define FM_ADDRESS BYTE_AT(0xA04000)
#define FM_VALUE BYTE_AT(0xA04001)
#define FIRST_SEED 0x12345678
#define FIRST_LEVEL 3
#define VIEW_HEIGHT 224
#define LATEST_LINE 140        /* a frame played along with another begins before it: the longest takes 65 lines, publishing 7 */

static u16 before_pad;         /* pad 1 a frame ago, for the menus */
static u8 shown_stage, shown_character[SIDES], shown_screen;
static u8 loaded, dark;        /* parts of the screen; nothing is shown */
static u16 demos, demo_frames;
static u32 seeded_with;

enum screen { SCREEN_NONE, SCREEN_TITLE, SCREEN_SELECT, SCREEN_FIGHT };

/* ---- what the host may write ---- */

static u16 clamped(u16 value, u16 least, u16 most) { return value < least ? least : value > most ? most : value; }

static void use_characters(void)
{
    game.fighters[0].character = (u8)AGENT_CHARACTER;
    game.fighters[1].character = ENEMY_CHARACTER;
}

static void reseed(u32 seed)
{
    seeded_with = seed;
    opponent_seed(seed);
}

static void new_match(void)
{
    if (!DEMO)
        use_characters();
    reseed(DEMO ? FRAME : SEED);
    rules_new_match();
    opponent_new_match();
}

/* Before anything reads them. */
static void clamp_settings(void)
{
    MODE = clamped(MODE, 0, MODES - 1);
    AGENT_LEVEL = clamped(AGENT_LEVEL, 1, LEVELS);
    ENEMY_LEVEL = clamped(ENEMY_LEVEL, 1, LEVELS);
    AGENT_CHARACTER = clamped(AGENT_CHARACTER, 0, CHARACTERS - 1);
    ENEMY_CHARACTER = (u8)clamped(ENEMY_CHARACTER, 0, CHARACTERS - 1);
    STAGE = clamped(STAGE, 0, STAGES - 1);
    BLANK = clamped(BLANK, 0, 1);
    PACE = clamped(PACE, 1, MOST_PACE);
    QUEUED = clamped(QUEUED, 0, 1);
}

static void take_settings(void)
{
    if (START) {
        START = 0;
        DEMO = 0;
        new_match();
    }
    if (DEMO)
        return;
    if (SEED != seeded_with)
        reseed(SEED);
    /* who is fighting cannot become somebody else: until the next round begins */
    if (game.phase <= PHASE_INTRO)
        use_characters();
}

/* ---- menus ---- */

static void to_title(void)
{
    game.phase = PHASE_TITLE;
    game.phase_frame = 0;
    DEMO = 0;
}

static void begin_demo(void)
{
    DEMO = 1;
    demo_frames = 0;
    game.fighters[0].character = (u8)(demos % CHARACTERS);
    game.fighters[1].character = (u8)((demos + 1 + demos / CHARACTERS) % CHARACTERS);
    demos++;
    new_match();
}

static void step_title(u16 fresh)
{
    if (fresh & PAD_START) {
        game.phase = PHASE_SELECT;
        for (u8 side = 0; side < SIDES; side++)
            fighter_place(&game.fighters[side], side ? PIXELS(336) : PIXELS(176), !side);
    } else if (++game.phase_frame > TITLE_FRAMES) {
        begin_demo();
    }
}

static void step_select(u16 fresh)
{
    if (fresh & PAD_RIGHT)
        AGENT_CHARACTER = (u16)((AGENT_CHARACTER + 1) % CHARACTERS);
    if (fresh & PAD_LEFT)
        AGENT_CHARACTER = (u16)((AGENT_CHARACTER + CHARACTERS - 1) % CHARACTERS);
    if (fresh & PAD_B)
        ENEMY_CHARACTER = (u8)((ENEMY_CHARACTER + 1) % CHARACTERS);
    if (fresh & PAD_C)
        STAGE = (u16)((STAGE + 1) % STAGES);
    if (fresh & PAD_A)
        ENEMY_LEVEL = (u16)(ENEMY_LEVEL % LEVELS + 1);
    use_characters();
    if (fresh & PAD_START)
        new_match();
}

/* ---- the screen ---- */

/* A screen is loaded a part a frame, in the dark: no frame of the rules waits for a picture. */
enum { STAGE_TILES, STAGE_TOP, STAGE_BOTTOM, TEXT, LOGO, PARTS };

static void load(u8 part, u8 screen, u8 stage)
{
    switch (part) {
    case STAGE_TILES:
        video_load_stage(stage);
        break;
    case STAGE_TOP:
    case STAGE_BOTTOM:
        video_load_half_a_map(stage, part == STAGE_BOTTOM);
        break;
    case TEXT:
        video_clear_text();
        break;
    default:
        video_load_logo(screen == SCREEN_TITLE);
    }
}

static void draw(void)
{
    u8 screen = game.phase == PHASE_TITLE ? SCREEN_TITLE : game.phase == PHASE_SELECT ? SCREEN_SELECT : SCREEN_FIGHT;
    u8 stage = DEMO ? (u8)(demos % STAGES) : (u8)STAGE;
    video_widen(!BLANK);
    if (stage != shown_stage)
        loaded = STAGE_TILES;
    else if (screen != shown_screen && loaded > TEXT)
        loaded = TEXT;
    shown_stage = stage;
    shown_screen = screen;
    if (BLANK || loaded < PARTS) {
        video_show(0);
        dark = 1;
        if (!BLANK)
            load(loaded++, screen, stage);
        return;
    }
    if (dark) {
        dark = 0;
        hud_reset();
        video_show(1);
    }
    for (u8 side = 0; side < SIDES; side++) {
        u8 character = game.fighters[side].character, alike = side && character == game.fighters[0].character;
        u8 look = (u8)(character * 2 + alike + 1);
        if (look != shown_character[side]) {
            video_load_colours(side, character, alike);
            shown_character[side] = look;
        }
    }
    if (screen == SCREEN_TITLE)
        video_hide_sprites();
    else
        video_draw_fight();
    hud_draw();
}

/* ---- a frame ---- */

static void play(u16 pad1, u16 pad2)
{
    u16 pads[SIDES] = {0, 0};
    u16 mode = DEMO ? MODE_CPU_CPU : MODE;
    u16 round = game.round;
    if (game.phase == PHASE_FIGHT) {
        pads[0] = mode == MODE_CPU_CPU ? opponent_pad(0, DEMO ? DEMO_LEVEL : (u8)AGENT_LEVEL) : pad1;
        pads[1] = mode == MODE_PAD_PAD ? pad2 : opponent_pad(1, DEMO ? DEMO_LEVEL : (u8)ENEMY_LEVEL);
    }
    AGENT_PAD = pads[0];
    ENEMY_PAD = pads[1];
    rules_step(pads);
    opponent_observe();
    if (game.round != round)
        opponent_new_round();
}

static void step(u16 pad1, u16 pad2)
{
    u16 fresh = (u16)(pad1 & ~before_pad);
    before_pad = pad1;
    take_settings();
    switch (game.phase) {
    case PHASE_TITLE:
        step_title(fresh);
        break;
    case PHASE_SELECT:
        step_select(fresh);
        break;
    default:
        if (DEMO && ((fresh & PAD_START) || ++demo_frames > DEMO_FRAMES))
            to_title();
        else if (game.phase == PHASE_MATCH_OVER && !DEMO && (fresh & PAD_START))
            to_title();
        else
            play(pad1, pad2);
        if (game.phase == PHASE_TITLE)
            DEMO = 0;
    }
}

/* Enough of it for the longest step, before the next blank. The first frames are played in the blank before the view. */
static u8 time_left(u8 *in_view)
{
    u8 line = vdp_line();
    if (line >= VIEW_HEIGHT)
        return !*in_view;
    *in_view = 1;
    return line < LATEST_LINE;
}

/* The silent voices of the sound chips as slow as they go, and the sixth of the FM chip given a sample instead of computed:
   an emulator that counts their every turn has less to do. */
static void slow_down_voices(void)
{
    FM_ADDRESS = 0x2B;
    FM_VALUE = 0x80;
    for (u8 voice = 0; voice < 3; voice++) {
        PSG = (u8)(0x8F | voice << 5);
        PSG = 0x3F;
    }
    PSG = 0xE3; /* the noise turns with the third */
}

int main(void)
{
    MAGIC = MAGIC_VALUE;
    SEED = FIRST_SEED;
    AGENT_LEVEL = ENEMY_LEVEL = FIRST_LEVEL;
    ENEMY_CHARACTER = 1;
    shown_stage = 0xFF;
    fighter_place(&game.fighters[0], AGENT_STARTS, 1);
    fighter_place(&game.fighters[1], ENEMY_STARTS, 0);
    reseed(SEED);
    slow_down_voices();
    video_init();
    to_title();
    for (;;) {
        vsync();
        clamp_settings();
        draw();
        u16 pad1 = read_pad(PAD_PORT_1), pad2 = read_pad(PAD_PORT_2);
        u16 played = 0;
        u8 in_view = 0;
        do {
            step(QUEUED ? QUEUE(played) & PAD_ALL : pad1, pad2);
            FRAME++;
        } while (++played < PACE && time_left(&in_view));
        rules_publish();
    }
}
