#include "choosing.h"

#include "habits.h"

#define QUICK_BELOW 16 /* frames of reaction time */
#define INSTANT_BELOW 6
#define MOST_WORTH 96
#define REMEMBERED 120 /* frames after which a choice gets no more credit */
#define AT_ONCE 2      /* frames before which it cannot have had any effect */
#define IMPATIENCE 1
#define PATIENCE 320   /* frames without a hit after which every choice loses worth */
#define BOREDOM 3
#define CHIP 2         /* greatest chip damage: changes up to this are not learned from */

/* 64 * 2^(n + x / 16), for x from 0 to 15. */
#define OCTAVE(n) \
    64u << (n), 67u << (n), 70u << (n), 73u << (n), 76u << (n), 79u << (n), 83u << (n), 87u << (n), \
    91u << (n), 95u << (n), 99u << (n), 103u << (n), 108u << (n), 112u << (n), 117u << (n), 123u << (n)

/* By logarithm. A table, because the 68000 shifts one bit at a time. */
static const u32 weights[] = {
    OCTAVE(0), OCTAVE(1), OCTAVE(2), OCTAVE(3), OCTAVE(4), OCTAVE(5),
    OCTAVE(6), OCTAVE(7), OCTAVE(8), OCTAVE(9), OCTAVE(10), OCTAVE(11),
};
#define GREATEST (s16)(sizeof weights / sizeof *weights - 1)

/* The best option has the greatest weight; options too far below it for the table have the least. */
static u32 weight_of(s16 logarithm, s16 best)
{
    s16 at = (s16)(GREATEST + logarithm - best);
    return weights[at < 0 ? 0 : at];
}

u16 circumstances_of(const struct mind *mind, const struct view *view)
{
    u16 is_case = 1 << ALWAYS;
    is_case |= habits_seen(&mind->habits);
    if (mind->beaten)
        is_case |= 1 << BEATEN;
    if (view->reaction < QUICK_BELOW)
        is_case |= 1 << QUICK;
    if (view->reaction < INSTANT_BELOW)
        is_case |= 1 << INSTANT;
    return (u16)(is_case | 1 << (AS_KAZE + view->me->character));
}

/* A random number from 0 to limit - 1, by 16-bit multiplications: the 68000 has no wider ones. */
static u32 draw_below(struct mind *mind, u32 limit)
{
    u16 chance = (u16)(draw(mind) >> 8), finer = (u16)(draw(mind) >> 8);
    u16 high = (u16)(limit >> 16), low = (u16)limit;
    return (u32)chance * high + ((u32)chance * low >> 16) + ((u32)finer * high >> 16);
}

/* Compute the logarithm of each option's weight. */
static void weigh(const struct mind *mind, u8 situation, s16 logarithms[MOST_OPTIONS])
{
    const struct options *options = &tactics[situation];
    const s8 *worth = mind->worth[situation];
    for (u8 option = 0; option < options->count; option++)
        logarithms[option] = worth[option];
    for (u8 circumstance = 0; circumstance < CIRCUMSTANCES; circumstance++) {
        if (!(mind->circumstances & (1 << circumstance)))
            continue;
        const s8 *adds = options->logarithms[circumstance];
        s16 *logarithm = logarithms;
        for (u8 left = options->count; left > 0; left--)
            *logarithm++ += *adds++;
    }
}

u8 choose_option(struct mind *mind, u8 situation)
{
    u8 count = tactics[situation].count;
    s16 logarithms[MOST_OPTIONS];
    u32 sums[MOST_OPTIONS], sum = 0;
    weigh(mind, situation, logarithms);
    s16 best = logarithms[0];
    for (u8 option = 1; option < count; option++)
        if (logarithms[option] > best)
            best = logarithms[option];
    for (u8 option = 0; option < count; option++) {
        sum += weight_of(logarithms[option], best);
        sums[option] = sum;
    }
    u32 drawn = draw_below(mind, sum);
    u8 option = 0;
    while (option < count - 1 && sums[option] <= drawn)
        option++;
    return option;
}

u8 any_option(struct mind *mind, u8 situation) { return below(mind, tactics[situation].count); }

static void credit(struct mind *mind, const struct choice *choice, s16 change)
{
    s8 *worth = &mind->worth[choice->situation][choice->option];
    s16 now = (s16)(*worth + change);
    if (now > MOST_WORTH - 1)
        now = MOST_WORTH - 1;
    if (now < -MOST_WORTH)
        now = -MOST_WORTH;
    *worth = (s8)now;
}

static u8 only_waits(u8 deed)
{
    switch (deed) {
    case STAY_LOW:
    case STAY_HIGH:
    case WALK_OUT:
    case BAIT:
    case HOVER:
    case HOP_OUT:
        return 1;
    default:
        return 0;
    }
}

void note_choice(struct mind *mind, u8 situation, u8 option, u8 is_behind)
{
    mind->newest_choice = (u8)((mind->newest_choice + 1) & (TRAIL - 1));
    struct choice *choice = &mind->trail[mind->newest_choice];
    *choice = (struct choice){situation, option, mind->frame};
    if (is_behind && only_waits(tactics[situation].deeds[option]))
        credit(mind, choice, -IMPATIENCE);
    if ((u16)(mind->frame - mind->latest_blow) > PATIENCE)
        credit(mind, choice, -BOREDOM);
}

void learn(struct mind *mind, s16 gained, u16 then, u8 rate)
{
    if (gained >= -CHIP && gained <= CHIP)
        return;
    mind->latest_blow = mind->frame;
    u8 at = mind->newest_choice;
    for (u8 i = 0; i < TRAIL; i++) {
        const struct choice *choice = &mind->trail[at];
        s16 ago = (s16)(then - choice->frame);
        if (choice->frame == 0 || ago > REMEMBERED)
            return;
        if (ago >= AT_ONCE) {
            credit(mind, choice, (s16)(gained * rate / 16));
            rate = (u8)(rate * 3 / 4); /* earlier choices get less credit */
        }
        at = (u8)((at - 1) & (TRAIL - 1));
    }
}
