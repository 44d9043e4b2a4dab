/* The changes of health in a match, from which the return of a choice is computed. */
#ifndef BLOWS_H
#define BLOWS_H

#include "game.h"

/* Reset at the beginning of a match. */
void blows_begin(void);
/* Record changes of both sides' health. Call after each frame. */
void blows_note(void);
/* The number of frames recorded. */
u32 blows_frame(void);
/* The damage that a side deals minus the damage that it takes from this frame on, weighted by delay:
   weights[0] is for the frame itself, weights[frames - 1] the last. Ask for frames in ascending order;
   `first`, initially 0, keeps the position between calls. */
float blows_gained(u8 side, u32 frame, u32 *first, const float *weights, u32 frames);

#endif
