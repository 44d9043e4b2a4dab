/* The game on this computer, frame by frame and without pictures.

   The game keeps its state in variables of its own, as on the console: there is one game at a time. They all lie
   in one block, so that a copy of the block, an image, is a game put aside. */
#ifndef GAME_H
#define GAME_H

#include "rules.h"

/* Callable from Python. */
#define PUBLIC __attribute__((visibility("default")))

/* What a match is begun with: what a host writes. */
struct setting {
    u32 seed;
    u16 mode;
    u16 agent_level, enemy_level;
    u16 agent_character, enemy_character;
    u16 stage;
};

/* Switch the game on, and begin a match. */
void game_begin(const struct setting *setting);
/* Play one frame with these pads held. */
void game_frame(u16 pad1, u16 pad2);
/* True once the match is decided, with or without a winner. */
u8 game_is_decided(void);

/* ---- for Python: several games at once, each an image ---- */

/* The size of an image, and where in it work RAM begins. */
PUBLIC u32 duel_image_bytes(void);
PUBLIC u32 duel_image_ram(void);
/* Switch on the game of this image. */
PUBLIC void duel_power_on(u8 *image);
/* Play so many frames with these pads held. */
PUBLIC void duel_frames(u8 *image, u16 pad1, u16 pad2, u32 frames);

#endif
