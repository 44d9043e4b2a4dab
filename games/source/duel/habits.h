/* What the other does often, by what it has done so far. */
#ifndef HABITS_H
#define HABITS_H

#include "mind.h"
#include "sight.h"

/* Before anything is known. */
void habits_forget(struct habits *habits);
/* Notice what is new. `begun` has what the other has begun on this frame: SHOT, JUMP, BLOW. */
void habits_notice(struct mind *mind, const struct sight *sight, u8 begun);
/* What of PRESSES to GUARDS is the case; a bit each. */
u16 habits_seen(const struct habits *habits);

#endif
