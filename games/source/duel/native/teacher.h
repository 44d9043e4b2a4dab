/* The scripted teacher as data: the worth of every action in each case of nodes/fighting/strategist.py.

   It takes the best action, as `Restricted` of fighters.py does, or draws one from the softmax, to learn. */
#ifndef TEACHER_H
#define TEACHER_H

#include "lesson.h"
#include "players.h"

#define CASES 18
#define BANDS 6
#define CELLS (CASES * BANDS)

struct teacher {
    u8 interval;           /* frames between two decisions */
    u8 late;               /* delay of what it sees, in frames */
    u8 explores;           /* draws an action instead of taking the best */
    u8 cooldown[ACTIONS];  /* frames from an action to the next one, at least */
    u8 may[ACTIONS];       /* 1 for each action that it chooses from */
    float worth[CELLS][ACTIONS]; /* logits; actions are named for an enemy on the right */
};

/* Play these matches as pad 1, and write a lesson for each decision and a result for each match. `seed` is
   for exploration. `weights` is the weight of each of the `frames` frames after a decision. Return the
   number of lessons, at most `room`. */
PUBLIC u32 duel_teach(const struct teacher *teacher, u32 seed, const struct setting *settings, u32 matches, const float *weights,
    u32 frames, struct lesson *lessons, u32 room, struct result *results);
/* Play one match and write its pad on each frame. Return the number of frames, which may exceed `most_frames`. */
PUBLIC u32 duel_record_teacher(const struct teacher *teacher, const struct setting *setting, u16 *pads, u32 most_frames,
    struct result *result);

#endif
