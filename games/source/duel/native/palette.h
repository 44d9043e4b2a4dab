/* A rule or table that draws its answers from a palette, to learn which of them is best in each cell. */
#ifndef PALETTE_H
#define PALETTE_H

#include "lesson.h"
#include "players.h"

#define MOST_PALETTE 64

struct palette {
    u32 count;
    struct answer answer[MOST_PALETTE];
    float worth[MOST_ANSWERS][MOST_PALETTE]; /* logits */
};

/* Play these matches as pad 1, with the conditions or bands of `player` and answers drawn from the softmax of
   a cell's logits, and write a lesson for each answer and a result for each match. See duel_teach. */
PUBLIC u32 duel_draw_answers(const struct player *player, const struct palette *palette, u32 seed, const struct setting *settings,
    u32 matches, const float *weights, u32 frames, struct lesson *lessons, u32 room, struct result *results);

#endif
