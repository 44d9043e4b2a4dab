/* What an opponent sees: itself as it is, the other as it was a reaction time ago. */
#ifndef SIGHT_H
#define SIGHT_H

#include "rules.h"

struct seen_fighter {
    s16 x, y;                           /* pixels, right of the stage's middle and above the ground */
    s16 vx;                             /* of a flight, in subpixels */
    s16 projectile_x, projectile_speed; /* speed 0: none flies */
    s16 hp;
    u8 state, move, frame, stun, faces_right, character;
};

/* What a side goes by, and the same a frame earlier. */
struct sight {
    const struct seen_fighter *me, *it;
    const struct seen_fighter *me_before, *it_before;
};

/* Keep what both fighters do now. */
void sight_observe(void);
/* What this side knows: of the other only what lies so many frames back. */
struct sight sight_of(u8 side, u8 reaction);
/* The health that a side had so many frames ago. */
s16 hp_seen(u8 side, u8 ago);

#endif
