#include "game.h"

#include <stdlib.h>

#include "frame.h"

u8 work_ram[RAM_BYTES];

/* The block in which the Makefile gathers all variables; the linker defines these symbols. */
extern u8 __start_game_state[], __stop_game_state[];

/* The block's content before anything was played, kept outside of the block. */
static u8 *initial_state OUTSIDE_GAME_STATE;

u16 explores OUTSIDE_GAME_STATE;

static u32 state_bytes(void) { return (u32)(__stop_game_state - __start_game_state); }

static __attribute__((constructor)) void keep_initial_state(void)
{
    initial_state = malloc(state_bytes());
    memcpy(initial_state, __start_game_state, state_bytes());
}

static void power_on(void)
{
    memcpy(__start_game_state, initial_state, state_bytes());
    write_first_settings();
    place_first_fighters();
    to_title();
}

void game_frame(u16 pad1, u16 pad2)
{
    clamp_settings();
    step(pad1, pad2);
    FRAME++;
    rules_publish();
}

void game_begin(const struct setting *setting)
{
    power_on();
    SEED = setting->seed;
    MODE = setting->mode;
    AGENT_LEVEL = setting->agent_level;
    ENEMY_LEVEL = setting->enemy_level;
    AGENT_CHARACTER = setting->agent_character;
    ENEMY_CHARACTER = (u8)setting->enemy_character;
    STAGE = setting->stage;
    START = 1;
    game_frame(0, 0);
}

u8 game_is_decided(void)
{
    return game.victories[0] == ROUNDS_TO_WIN || game.victories[1] == ROUNDS_TO_WIN || game.phase == PHASE_MATCH_OVER;
}

u32 duel_image_bytes(void) { return state_bytes(); }

u32 duel_image_ram(void) { return (u32)(work_ram - __start_game_state); }

void duel_power_on(u8 *image)
{
    power_on();
    memcpy(image, __start_game_state, state_bytes());
}

void duel_frames(u8 *image, u16 pad1, u16 pad2, u32 frames)
{
    memcpy(__start_game_state, image, state_bytes());
    while (frames--)
        game_frame(pad1, pad2);
    memcpy(image, __start_game_state, state_bytes());
}
