/* The state of an opponent: its plan, what it has noticed, and the worth of each option, learned in this match. */
#ifndef MIND_H
#define MIND_H

#include "fighter.h"
#include "tactics.h"

#define PLAN_STEPS 10
#define TRAIL 8 /* latest choices that get credit for a change of health; a power of two */

/* Not inlined, a function keeps the pointer to a mind; inlined, it would compute the address at every access. */
#define OUT_OF_LINE __attribute__((noinline))

/* Directions of a plan: FORWARD is towards the other fighter. */
enum { FORWARD = 1, BACK = 2, UP = 4, DOWN = 8 };

/* What the other fighter has begun; a set of bits. */
enum { SHOT = 1, JUMP = 2, BLOW = 4 };

struct step {
    u8 way;
    u8 frames;
    u16 buttons;
};

/* Habits of the other player, from 0 to 255: moving averages, in which new observations count more. */
struct habits {
    u8 attacking;
    u8 shooting; /* projectiles, of all that it begins */
    u8 jumping;  /* likewise */
    u8 guarding; /* blocks, of the attacks that reach it */
    u8 swinging; /* long moves, of its attacks on the ground */
    u8 rising;   /* rising attacks, of its attacks */
    u8 grabbing; /* throws, of its attacks at close range */
};

/* A choice, and the frame on which it was made. */
struct choice {
    u8 situation, option;
    u16 frame;
};

struct mind {
    u32 random;
    u16 frame;      /* of the match */
    u8 beaten;      /* has lost a round of this match */

    struct step plan[PLAN_STEPS];
    u8 steps, at, left;
    u8 committed;   /* the plan presses a button: it is carried out unless the fighter is hit */

    u8 unanswered;  /* what has begun and still calls for a response */
    u8 jump_seen;   /* frames for which the jump has been seen */
    u8 blocked_ago; /* frames since it last began to block */
    struct habits habits;

    u16 circumstances; /* that held at the latest choice; a bit for each */
    struct choice trail[TRAIL];
    u8 newest_choice;
    u16 latest_blow;   /* frame of the latest hit on either side, or of the round's start */
    s8 worth[SITUATIONS][MOST_OPTIONS]; /* learned in this match: each 16 double an option's weight */
    s8 worth_of_kind[KINDS];            /* likewise, of all options of a kind */
};

extern struct mind minds[SIDES];

/* ---- chance ---- */

void mind_seed(struct mind *mind, u32 seed);
/* 32 random bits. */
u32 draw(struct mind *mind);
/* True with a probability of chance / 256. */
u8 happens(struct mind *mind, u16 chance);
/* A random number from 0 to limit - 1; `limit` is at most 256. */
u8 below(struct mind *mind, u16 limit);

/* ---- plans ---- */

void clear_plan(struct mind *mind);
/* Append a step to the plan, unless it is full: hold a direction and buttons for this many frames. */
void add(struct mind *mind, u8 way, u16 buttons, u8 frames);
/* Likewise without buttons; do nothing if `frames` is not positive. */
void hold(struct mind *mind, u8 way, s16 frames);
/* Append the press of a button, and commit to the plan. */
void press(struct mind *mind, u8 way, u16 button);
/* True while there are steps left. */
u8 has_plan(const struct mind *mind);
/* Return what to hold on this frame, and advance the plan. */
struct step next_step(struct mind *mind);

#endif
