/* The computer opponent, for either side or both.

   It has the means of a player: a pad, and a delayed view of the other fighter. Each frame, an observation
   goes into a ring buffer. The opponent sees its own fighter in the newest one, and the other fighter in
   the one that is as old as the reaction time of its level. It acts by held buttons, which go through the
   same input parser as everybody's. It knows the frame data, as a practised player does. */
#ifndef OPPONENT_H
#define OPPONENT_H

#include "published.h"
#include "rules.h"

/* Reseed. Each side gets a random stream of its own. */
void opponent_seed(u32 seed);
/* Learn from the last hits of a round, which will not be observed any more once the next one begins. */
void opponent_end_round(u8 side, u8 level);
/* Discard the plans. Observations expire during the intro; the other player's habits are remembered. */
void opponent_new_round(void);
void opponent_new_match(void);
/* Record an observation. Call once per frame, whatever controls the pads. */
void opponent_observe(void);
/* The buttons that an opponent of this level holds on this frame. */
u16 opponent_pad(u8 side, u8 level);

#endif
