/* The native part of the tuning: replace the opponent's tables, and sample its choices with their returns. */
#ifndef TUNING_H
#define TUNING_H

#include "players.h"
#include "tactics.h"

/* A choice of the opponent on the right, and its return. */
struct sample {
    u8 situation, option;
    u16 circumstances; /* a bit for each that held */
    float gained;      /* damage dealt minus damage taken, weighted by delay */
};

PUBLIC void duel_read_tactics(struct options table[SITUATIONS]);
PUBLIC void duel_write_tactics(const struct options table[SITUATIONS]);

/* Play these matches with `player` as pad 1, and write a sample for each of the opponent's choices and a
   result for each match. `weights` is the weight of each of the `frames` frames after a choice; `chance`,
   out of 256, that of a choice at random. Return the number of samples, at most `room`. */
PUBLIC u32 duel_sample(const struct player *player, const struct setting *settings, u32 matches, const float *weights, u32 frames,
    u16 chance, struct sample *samples, u32 room, struct result *results);

#endif
