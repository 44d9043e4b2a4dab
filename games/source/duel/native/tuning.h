/* What a search for better tactics needs: to try tables out, and to see what came of each choice. */
#ifndef TUNING_H
#define TUNING_H

#include "players.h"
#include "tactics.h"

/* What the opponent on the right chose, and what it gained from then on. */
struct sample {
    u8 situation, option;
    u16 circumstances; /* a bit for each that was the case */
    float gained;      /* health that it took, less what it lost, each weighted by how much later that was */
};

PUBLIC void duel_read_tactics(struct options table[SITUATIONS]);
PUBLIC void duel_write_tactics(const struct options table[SITUATIONS]);

/* Let a player play these matches, and write a sample for each choice. `weights` says for each of so many frames after a choice
   how much what happens on it counts. Return how many samples there are, which is at most `room`. */
PUBLIC u32 duel_sample(const struct player *player, const struct setting *settings, u32 matches, const float *weights, u32 frames,
    struct sample *samples, u32 room, struct result *results);

#endif
