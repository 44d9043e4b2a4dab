/* The frame loop: clamp what the host wrote, draw, play sounds, read the pads, play game frames, publish. */
#include "hud.h"
#include "opponent.h"
#include "sound.h"
#include "video.h"

#define VIEW_HEIGHT 224
/* A further game frame in the same console frame starts before this scan line, so that everything is done
   by VIEW_HEIGHT, where the picture ends. The longest takes 154 lines if both opponents choose, 107 if
   there is only one; publishing takes 7. */
#define LATEST_LINE_OF_ONE 95
#define LATEST_LINE_OF_TWO 55

static u16 before_pad;         /* as in frame.h; repeated here to keep the order of variables in work RAM */
static u8 shown_stage, shown_character[SIDES], shown_screen;
static u8 loaded, dark;        /* parts of the screen that are loaded; the display is off */

#include "frame.h" /* here for the same reason */

enum screen { SCREEN_NONE, SCREEN_TITLE, SCREEN_SELECT, SCREEN_FIGHT };

/* ---- the screen ---- */

/* A screen is loaded one part per frame, with the display off, so that loading delays no game frame. */
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

/* True if the longest step ends before the next vertical blank. The first frames are played in the blank before the view. */
static u8 time_left(u8 *in_view)
{
    u8 line = vdp_line();
    if (line >= VIEW_HEIGHT)
        return !*in_view;
    *in_view = 1;
    u8 levels[SIDES];
    who_plays(levels);
    return line < (levels[0] && levels[1] ? LATEST_LINE_OF_TWO : LATEST_LINE_OF_ONE);
}

int main(void)
{
    write_first_settings();
    shown_stage = 0xFF;
    place_first_fighters();
    sound_init();
    video_init();
    to_title();
    for (;;) {
        vsync();
        clamp_settings();
        draw();
        sound_step(!BLANK && PACE == 1);
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
