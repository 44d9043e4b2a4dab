/* What was struck in a match, for who asks what came of a choice. */
#ifndef BLOWS_H
#define BLOWS_H

#include "game.h"

/* A match begins. */
void blows_begin(void);
/* Look at both sides' health; called after each frame. */
void blows_note(void);
/* Frames that have been looked at. */
u32 blows_frame(void);
/* Health that a side gained from this frame on: what it took, less what it lost, each by how much later it was. Frames are
   asked for in ascending order; `first`, 0 at first, keeps the place. */
float blows_gained(u8 side, u32 frame, u32 *first, const float *weights, u32 frames);

#endif
