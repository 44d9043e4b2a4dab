/* What an opponent has in mind: its plan, what it has noticed of the other, and what each deed has brought in this match. */
#ifndef MIND_H
#define MIND_H

#include "fighter.h"
#include "tactics.h"

#define PLAN_STEPS 10
#define TRAIL 8 /* latest choices that what happens is put down to; a power of two */

/* Handed a pointer, the compiler keeps it; within the caller it would look for the mind anew at every step. */
#define OUT_OF_LINE __attribute__((noinline))

/* Directions of a plan are relative to where the fighter faces. */
enum { FORWARD = 1, BACK = 2, UP = 4, DOWN = 8 };

/* What the other has begun. */
enum { SHOT = 1, JUMP = 2, BLOW = 4 };

struct step {
    u8 way;
    u8 frames;
    u16 buttons;
};

/* How often the other does what, from 0 to 255: a new observation counts more than old ones. */
struct habits {
    u8 attacking;
    u8 shooting; /* of what it does */
    u8 jumping;
    u8 guarding; /* what would hit it */
    u8 swinging; /* of its blows: long ones */
    u8 rising;   /* of its attacks */
    u8 grabbing; /* of what it does from near */
};

/* What it chose, and when. */
struct choice {
    u8 situation, option;
    u16 frame;
};

struct mind {
    u32 random;
    u16 frame;      /* of the match */
    u8 beaten;      /* has lost a round of it */

    struct step plan[PLAN_STEPS];
    u8 steps, at, left;
    u8 committed;   /* the plan presses something: nothing that is seen changes it */

    u8 unanswered;  /* what has begun and was not answered yet */
    u8 jump_seen;   /* frames for which the jump has been seen */
    u8 blocked_ago; /* frames since it last began to block */
    struct habits habits;

    u16 circumstances; /* that were the case when it chose; a bit for each */
    struct choice trail[TRAIL];
    u8 newest_choice;
    u16 latest_blow;   /* the frame of it, whoever was hit; at first that on which the round began */
    s8 worth[SITUATIONS][MOST_OPTIONS]; /* what each option brought in this match: each 16 double its weight */
};

extern struct mind minds[SIDES];

/* ---- chance ---- */

void mind_seed(struct mind *mind, u32 seed);
u32 draw(struct mind *mind);
/* True in so many of 256 cases. */
u8 happens(struct mind *mind, u16 chance);
/* A number from 0 to below `limit`, which is at most 256. */
u8 below(struct mind *mind, u16 limit);

/* ---- plans ---- */

void clear_plan(struct mind *mind);
/* Plan to hold a direction and buttons for so many frames, after what is planned. */
void add(struct mind *mind, u8 way, u16 buttons, u8 frames);
/* Likewise without buttons, and not at all if there are no frames for it. */
void hold(struct mind *mind, u8 way, s16 frames);
/* Plan to press a button, and commit to the plan. */
void press(struct mind *mind, u8 way, u16 button);
/* True while there is something left to do. */
u8 has_plan(const struct mind *mind);
/* Take the present frame of the plan. */
struct step next_step(struct mind *mind);

#endif
