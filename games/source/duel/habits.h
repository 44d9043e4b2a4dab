/* Habits of the other player, estimated from what it has done so far. */
#ifndef HABITS_H
#define HABITS_H

#include "mind.h"
#include "sight.h"

/* Reset the habits to the estimates before anything is known. */
void habits_forget(struct habits *habits);
/* Update the habits. `begun`: what the other fighter has begun on this frame (SHOT, JUMP, BLOW). */
void habits_notice(struct mind *mind, const struct sight *sight, u8 begun);
/* Which of the circumstances PRESSES to GUARDS hold; a bit each. */
u16 habits_seen(const struct habits *habits);

#endif
