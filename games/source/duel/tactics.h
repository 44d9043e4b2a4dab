/* What an opponent can do, and how readily it does so before this match has taught it better. */
#ifndef TACTICS_H
#define TACTICS_H

#include "console.h"

enum situation {
    /* nothing has begun: by distance */
    AFAR, BETWEEN, TWO_STEPS_OFF, A_STEP_OFF, AT_REACH, CLOSE,
    /* it cannot move itself */
    UNDER_FIRE, BLOCKS_NEAR, BLOCKS_AFAR, LANDS_NEAR,
    /* somebody is off the ground or on it */
    IN_THE_AIR, GETTING_UP, LIES_AFAR, LIES_NEAR,
    /* the other has begun something */
    JUMPS_AT, JUMPS_SHORT, JUMPS_OVER, SHOT_FROM_AFAR, SHOT_FROM_NEAR, ROSE, STRUCK_AT, STRIKES_SHORT, HAS_STRUCK,
    SITUATIONS
};

enum deed {
    STAY_LOW, STAY_HIGH, WALK_IN, CREEP_IN, WALK_OUT, BAIT, HOVER, HOP_OUT, HOP_UP, LEAP, LEAP_LATE,
    POKE, LIGHT, SWEEP, KICK_HIGH, UPPERCUT, MEET, GRAB, WALK_AND_GRAB, STRING, RISE, SHOOT,
    /* against a jump */
    UPPERCUT_LANDING, SWEEP_LANDING, RISE_AT_LANDING, WALK_UNDER,
    /* against a blow or a projectile */
    GUARD_AND_PUNISH, PUNISH, MEET_SHOT, GUARD_SHOT, JUMP_SHOT,
    /* beside who lies there */
    SWEEP_AGAIN, STAND_BY,
    /* as soon as it can move again */
    GUARD_ON, SWEEP_BACK, LIGHT_BACK, GRAB_BACK, RISE_BACK, HOP_BACK, LEAP_BACK, WALK_BACK_IN,
    RISE_GETTING_UP, GUARD_GETTING_UP, GRAB_GETTING_UP,
    DEEDS
};

/* What is the case, beside the situation. */
enum circumstance {
    ALWAYS,
    /* the other has done much of this */
    PRESSES, SWINGS, GRABS, SHOOTS, JUMPS, RISES, GUARDS,
    /* it has lost a round of this match */
    BEATEN,
    /* it reacts soon itself, or at once; which fighter it is */
    QUICK, INSTANT, AS_KAZE, AS_BRON, AS_MIRA, AS_TARN,
    CIRCUMSTANCES
};

#define MOST_OPTIONS 24

/* What can be done in a situation. */
struct options {
    u8 count;
    u8 deeds[MOST_OPTIONS];
    /* The logarithm of each one's weight, in sixteenths of a doubling: what stands under ALWAYS, and what each circumstance
       that is the case adds. */
    s8 logarithms[CIRCUMSTANCES][MOST_OPTIONS];
};

/* On the console they are constant. A search for better ones, which plays on another computer, changes them. */
#ifndef TACTICS
#define TACTICS const
#endif
extern TACTICS struct options tactics[SITUATIONS];

#endif
