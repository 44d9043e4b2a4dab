/* The fight: hit detection, rounds, the clock and the match. Independent of drawing, and of what
   controls the pads. */
#ifndef RULES_H
#define RULES_H

#include "fighter.h"
#include "published.h"

#define AGENT_STARTS (MIDDLE - PIXELS(51))
#define ENEMY_STARTS (MIDDLE + PIXELS(51))
#define INTRO_FRAMES 64
#define ROUND_SECONDS 99
#define FRAMES_A_SECOND 60   /* of the round clock */
#define ROUNDS_TO_WIN 2
#define MOST_ROUNDS 5        /* a drawn round counts for neither side */

enum spark_kind { SPARK_NONE, SPARK_HIT, SPARK_HEAVY, SPARK_BLOCK };

struct spark {
    u8 kind, frame;
    s16 x, y;
};

enum outcome { UNDECIDED, AGENT_WON, ENEMY_WON, DRAWN };

struct game {
    struct fighter fighters[SIDES];
    struct spark sparks[SIDES];  /* by the side that was hit */
    u16 phase;
    u16 phase_frame;
    u16 round;
    u16 hit_stop;
    u16 time_outs;
    u8 victories[SIDES];
    u8 seconds, frames;
    u8 outcome;       /* of the round in PHASE_ROUND_OVER, of the match in PHASE_MATCH_OVER */
    u8 shake;         /* frames of screen shake left */
    u32 score;        /* the agent's, eight BCD digits */
};

extern struct game game;

void rules_new_match(void);
/* Advance a match by one frame: intro, fight, round over or match over. */
void rules_step(const u16 pads[SIDES]);
void rules_publish(void);

#endif
