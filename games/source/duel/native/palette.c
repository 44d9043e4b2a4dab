#include "palette.h"

#include <math.h>

#include "blows.h"

#define MOST_DECISIONS 16384 /* in a match */

static struct {
    const struct palette *palette;
    float sums[MOST_ANSWERS][MOST_PALETTE]; /* of the weights of a cell's answers, up to each */
    u32 random;
    u32 decisions;
    struct decision decided[MOST_DECISIONS];
} drawing;

static void prepare(const struct palette *palette, u32 seed)
{
    drawing.palette = palette;
    drawing.random = seed ? seed : 1;
    for (u8 cell = 0; cell < MOST_ANSWERS; cell++) {
        float sum = 0;
        for (u32 i = 0; i < palette->count; i++) {
            sum += expf(palette->worth[cell][i]);
            drawing.sums[cell][i] = sum;
        }
    }
}

/* Source: xorshift32 (G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003). */
static double chance(void)
{
    drawing.random ^= drawing.random << 13;
    drawing.random ^= drawing.random >> 17;
    drawing.random ^= drawing.random << 5;
    return (double)(drawing.random >> 8) / (1 << 24);
}

static const struct answer *drawn_answer(u8 cell)
{
    const float *sums = drawing.sums[cell];
    u32 last = drawing.palette->count - 1;
    double drawn = chance() * sums[last];
    u32 number = 0;
    while (number < last && sums[number] <= drawn)
        number++;
    if (drawing.decisions < MOST_DECISIONS)
        drawing.decided[drawing.decisions++] = (struct decision){cell, (u8)number, blows_frame()};
    return &drawing.palette->answer[number];
}

static void watch_blows(u16 pad)
{
    (void)pad;
    blows_note();
}

u32 duel_draw_answers(const struct player *player, const struct palette *palette, u32 seed, const struct setting *settings,
    u32 matches, const float *weights, u32 frames, struct lesson *lessons, u32 room, struct result *results)
{
    u32 count = 0;
    prepare(palette, seed);
    for (u32 i = 0; i < matches; i++) {
        drawing.decisions = 0;
        blows_begin();
        play_choosing(player, drawn_answer, &settings[i], watch_blows, &results[i]);
        count += write_lessons(drawing.decided, drawing.decisions, weights, frames, lessons + count, room - count);
    }
    return count;
}
