/* The native game, frame by frame and without pictures.

   The game keeps its state in global variables, as on the console, so there is one game at a time. All of
   them lie in one block of memory. A copy of this block, an image, is a saved game. */
#ifndef GAME_H
#define GAME_H

#include "rules.h"

/* Callable from Python. */
#define PUBLIC __attribute__((visibility("default")))

/* The settings of a match, which a host writes. */
struct setting {
    u32 seed;
    u16 mode;
    u16 agent_level, enemy_level;
    u16 agent_character, enemy_character;
    u16 stage;
};

/* Power the game on, and begin a match. */
void game_begin(const struct setting *setting);
/* Play one frame with these pads held. */
void game_frame(u16 pad1, u16 pad2);
/* True once the match is decided, with or without a winner. */
u8 game_is_decided(void);

/* ---- for Python: several games, each of them an image ---- */

/* The size of an image, and the offset of work RAM in it, in bytes. */
PUBLIC u32 duel_image_bytes(void);
PUBLIC u32 duel_image_ram(void);
/* Write the image of a game that was just powered on. */
PUBLIC void duel_power_on(u8 *image);
/* Play this many frames with these pads held. */
PUBLIC void duel_frames(u8 *image, u16 pad1, u16 pad2, u32 frames);

#endif
