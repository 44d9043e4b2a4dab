/* The opponent's options in each situation, and their weights before it learns in a match. */
#ifndef TACTICS_H
#define TACTICS_H

#include "console.h"

enum situation {
    /* nothing to respond to: by distance */
    AFAR, BETWEEN, TWO_STEPS_OFF, A_STEP_OFF, AT_REACH, CLOSE,
    /* in stun or recovery itself */
    UNDER_FIRE, BLOCKS_NEAR, BLOCKS_AFAR, LANDS_NEAR,
    /* either fighter is in the air or down */
    IN_THE_AIR, GETTING_UP, LIES_AFAR, LIES_NEAR,
    /* the other fighter has begun something */
    JUMPS_AT, JUMPS_SHORT, JUMPS_OVER, SHOT_FROM_AFAR, SHOT_FROM_NEAR, ROSE, STRUCK_AT, STRIKES_SHORT, HAS_STRUCK,
    SITUATIONS
};

enum deed {
    STAY_LOW, STAY_HIGH, WALK_IN, CREEP_IN, WALK_OUT, BAIT, HOVER, HOP_OUT, HOP_UP, LEAP, LEAP_LATE,
    POKE, LIGHT, SWEEP, KICK_HIGH, UPPERCUT, MEET, GRAB, WALK_AND_GRAB, STRING, RISE, SHOOT,
    /* against a jump */
    UPPERCUT_LANDING, SWEEP_LANDING, RISE_AT_LANDING, WALK_UNDER,
    /* against an attack or a projectile */
    GUARD_AND_PUNISH, PUNISH, MEET_SHOT, GUARD_SHOT, JUMP_SHOT,
    /* against a fighter that is down */
    SWEEP_AGAIN, STAND_BY,
    /* as soon as it can act again */
    GUARD_ON, SWEEP_BACK, LIGHT_BACK, GRAB_BACK, RISE_BACK, HOP_BACK, LEAP_BACK, WALK_BACK_IN,
    RISE_GETTING_UP, GUARD_GETTING_UP, GRAB_GETTING_UP,
    DEEDS
};

/* Kinds of deeds, by what may go wrong with them. */
enum kind { OTHER, CLOSING, LEAPING, STRIKING, JABBING, THROWING, RISING, SHOOTING, KINDS };

/* What else the weights depend on, besides the situation. */
enum circumstance {
    ALWAYS,
    /* habits of the other player */
    PRESSES, SWINGS, GRABS, SHOOTS, JUMPS, RISES, GUARDS,
    /* it has lost a round of this match */
    BEATEN,
    /* its own reaction time is short, or very short; the fighter it plays */
    QUICK, INSTANT, AS_KAZE, AS_BRON, AS_MIRA, AS_TARN,
    CIRCUMSTANCES
};

#define MOST_OPTIONS 24

/* The options in a situation. */
struct options {
    u8 count;
    u8 deeds[MOST_OPTIONS];
    /* Logarithms of the weights, in sixteenths of a doubling: a base value in row ALWAYS, and in the other
       rows what each circumstance adds to it while it holds. */
    s8 logarithms[CIRCUMSTANCES][MOST_OPTIONS];
};

/* Constant on the console; in the native build, tuning.py writes them. */
#ifndef TACTICS
#define TACTICS const
#endif
extern TACTICS struct options tactics[SITUATIONS];

#endif
