/* The fight: two fighters, who hits whom, rounds, the clock, the match. Knows nothing of pictures, and
   nothing of who holds the pads. */
#ifndef RULES_H
#define RULES_H

#include "fighter.h"
#include "published.h"

#define AGENT_STARTS (MIDDLE - PIXELS(51))
#define ENEMY_STARTS (MIDDLE + PIXELS(51))
#define INTRO_FRAMES 64
#define ROUND_SECONDS 99
#define FRAMES_A_SECOND 40   /* of the round clock, which is faster than a real one */
#define ROUNDS_TO_WIN 2
#define MOST_ROUNDS 5        /* draws count for nobody; after this many the match ends as it stands */

enum spark_kind { SPARK_NONE, SPARK_HIT, SPARK_HEAVY, SPARK_BLOCK };

struct spark {
    u8 kind, frame;
    s16 x, y;
};

enum outcome { UNDECIDED, AGENT_WON, ENEMY_WON, DRAWN };

struct game {
    struct fighter fighters[SIDES];
    struct spark sparks[SIDES];  /* one for each side that was hit */
    u16 phase;
    u16 phase_frame;
    u16 round;
    u16 hit_stop;
    u16 time_outs;
    u8 victories[SIDES];
    u8 seconds, frames;
    u8 outcome;       /* of the round, while PHASE_ROUND_OVER; of the match, while PHASE_MATCH_OVER */
    u8 shake;         /* frames for which the picture trembles */
    u32 score;        /* eight decimal digits, of the agent */
};

extern struct game game;

void rules_new_match(void);
/* One frame of a match: intro, fight, round over or match over. */
void rules_step(const u16 pads[SIDES]);
void rules_publish(void);

#endif
