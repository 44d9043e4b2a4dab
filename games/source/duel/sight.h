/* What an opponent sees: its own fighter as it is, the other as it was one reaction time ago. */
#ifndef SIGHT_H
#define SIGHT_H

#include "rules.h"

struct seen_fighter {
    s16 x, y;                           /* pixels right of the stage's centre, and above the ground */
    s16 vx;                             /* in the air, subpixels per frame */
    s16 projectile_x, projectile_speed; /* speed 0: none in flight */
    s16 hp;
    u8 state, move, frame, stun, faces_right, character;
};

/* What a side sees, and the same one frame earlier. */
struct sight {
    const struct seen_fighter *me, *it;
    const struct seen_fighter *me_before, *it_before;
};

/* Store the present state of both fighters. */
void sight_observe(void);
/* What this side sees with this reaction time, in frames. */
struct sight sight_of(u8 side, u8 reaction);
/* The health that a side had `ago` frames before the newest observation. */
s16 hp_seen(u8 side, u8 ago);

#endif
