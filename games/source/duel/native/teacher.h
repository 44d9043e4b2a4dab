/* The scripted teacher as data: the cases of nodes/fighting/strategist.py, and for each how good every action is in it.

   It plays as `Restricted` of fighters.py does, or, to learn, draws an action by how good it is. */
#ifndef TEACHER_H
#define TEACHER_H

#include "players.h"

#define CASES 18
#define BANDS 6
#define CELLS (CASES * BANDS)

struct teacher {
    u8 interval;           /* frames between two decisions */
    u8 late;               /* frames between what happens and what it sees */
    u8 explores;           /* draws an action instead of taking the best */
    u8 cooldown[ACTIONS];  /* frames after an action without another one */
    u8 may[ACTIONS];       /* which actions it chooses from */
    float worth[CELLS][ACTIONS]; /* natural logarithms of weights; actions as they are while the enemy stands on the right */
};

/* What it chose, and what it gained from then on. */
struct lesson {
    u8 cell, action;
    float gained; /* health that it took, less what it lost, each weighted by how much later that was */
};

/* Let it play these matches as pad 1, and write a lesson for each decision; `seed` is where chance comes from if it explores.
   `weights` says for each of so many frames after a decision how much what happens on it counts. Return how many lessons there
   are, which is at most `room`. */
PUBLIC u32 duel_teach(const struct teacher *teacher, u32 seed, const struct setting *settings, u32 matches, const float *weights,
    u32 frames, struct lesson *lessons, u32 room, struct result *results);
/* Let it play one match and write its pads of each frame; return the number of frames. */
PUBLIC u32 duel_record_teacher(const struct teacher *teacher, const struct setting *setting, u16 *pads, u32 most_frames,
    struct result *result);

#endif
