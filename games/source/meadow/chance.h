/* Random numbers: all of them follow from the seed and from the pad. */
#ifndef CHANCE_H
#define CHANCE_H

#include "published.h"

/* Source: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (14), 2003. */
static inline u32 chance(void)
{
    u32 x = game.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return game.random = x;
}

/* A number from 0 up to, but not including, limit; 0 if limit is 0. */
static inline u8 chance_below(u8 limit) { return (u8)((chance() >> 8 & 0xFFFF) * limit >> 16); }

static inline void chance_start(u32 seed)
{
    game.random = seed * 2654435761u ^ 0x4D454144u;
    if (!game.random)
        game.random = 1;
    for (u8 i = 0; i < 8; i++)
        chance();
}

#endif
