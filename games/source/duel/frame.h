/* One frame of the game, on any platform: the host's writes, the menus, the opponents' pads, the rules.

   Each build includes it once: in main.c for the console, in native/game.c without drawing. */
#ifndef FRAME_H
#define FRAME_H

#include "opponent.h"
#include "published.h"
#include "rules.h"

#define TITLE_FRAMES 360       /* from the title to a demonstration */
#define DEMO_FRAMES 1500
#define DEMO_LEVEL 6
#define FIRST_SEED 0x12345678
#define FIRST_LEVEL 3

static u16 before_pad;         /* pad 1 on the previous frame, for the menus */
static u16 demos, demo_frames;
static u32 seeded_with;

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

/* Must run before anything reads the settings. */
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
    /* no change during a round: it counts from the next introduction on */
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

/* ---- a frame ---- */

/* Write the level of the computer opponent on each side, or 0 if a pad plays it. */
static void who_plays(u8 levels[SIDES])
{
    u16 mode = DEMO ? MODE_CPU_CPU : MODE;
    levels[0] = mode == MODE_CPU_CPU ? (u8)AGENT_LEVEL : 0;
    levels[1] = mode == MODE_PAD_PAD ? 0 : (u8)ENEMY_LEVEL;
    if (DEMO)
        levels[0] = levels[1] = DEMO_LEVEL;
}

static void play(u16 pad1, u16 pad2)
{
    u16 held[SIDES] = {pad1, pad2}, pads[SIDES] = {0, 0};
    u16 round = game.round, phase = game.phase;
    u8 levels[SIDES];
    who_plays(levels);
    for (u8 side = 0; side < SIDES && phase == PHASE_FIGHT; side++)
        pads[side] = levels[side] ? opponent_pad(side, levels[side]) : held[side];
    AGENT_PAD = pads[0];
    ENEMY_PAD = pads[1];
    rules_step(pads);
    opponent_observe();
    for (u8 side = 0; side < SIDES && phase == PHASE_FIGHT && game.phase != PHASE_FIGHT; side++)
        if (levels[side])
            opponent_end_round(side, levels[side]);
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

/* ---- power-on ---- */

static void write_first_settings(void)
{
    MAGIC = MAGIC_VALUE;
    SEED = FIRST_SEED;
    AGENT_LEVEL = ENEMY_LEVEL = FIRST_LEVEL;
    ENEMY_CHARACTER = 1;
}

static void place_first_fighters(void)
{
    fighter_place(&game.fighters[0], AGENT_STARTS, 1);
    fighter_place(&game.fighters[1], ENEMY_STARTS, 0);
    reseed(SEED);
}

#endif
