/* The computer opponent, for either side or both.

   It has what a player has: a pad, and eyes that see the other late. Every frame an observation goes into a ring; of itself
   it knows the newest, of the other the one that lies its level's reaction time back. What it wants leaves as held buttons,
   into the same parser as everybody's. It knows the moves' tables, as a practised player does. */
#ifndef OPPONENT_H
#define OPPONENT_H

#include "published.h"
#include "rules.h"

/* Begin again from this seed; each side gets a stream of its own. */
void opponent_seed(u32 seed);
/* A round is over: learn from its last blows, which nobody sees any more once the next one begins. */
void opponent_end_round(u8 side, u8 level);
/* A new round: what was planned is forgotten, what was seen leaves with the intro. Habits of the other player are remembered. */
void opponent_new_round(void);
void opponent_new_match(void);
/* Look at the game as it is now. Once a frame, whoever holds the pads. */
void opponent_observe(void);
/* The buttons that an opponent of this level holds this frame. */
u16 opponent_pad(u8 side, u8 level);

#endif
