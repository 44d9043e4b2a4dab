#include "choosing.h"

#include "habits.h"

#define QUICK_BELOW 13 /* frames of reaction time */
#define INSTANT_BELOW 7
#define MOST_WORTH 127
#define REMEMBERED 120 /* frames after which a choice gets no more credit */
#define AT_ONCE 2      /* frames before which it cannot have had any effect */
#define SHARED 2       /* a kind of deed gains or loses this fraction of what the option does */
#define PATIENCE 240   /* frames without damage after which it is bored */
#define BOREDOM 8
#define BORED_DOWN_TO -96 /* worth below which boredom takes none: what has hurt stays worse than the rest */

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

/* The kind of each deed: what a deed of a kind gains or loses is expected of the others as well. */
static const u8 kind_of[DEEDS] = {
    [WALK_IN] = CLOSING, [CREEP_IN] = CLOSING, [STAND_BY] = CLOSING, [WALK_BACK_IN] = CLOSING,
    [LEAP] = LEAPING, [LEAP_LATE] = LEAPING, [HOP_UP] = LEAPING, [LEAP_BACK] = LEAPING,
    [POKE] = STRIKING, [SWEEP] = STRIKING, [KICK_HIGH] = STRIKING, [UPPERCUT] = STRIKING, [MEET] = STRIKING,
    [SWEEP_BACK] = STRIKING, [SWEEP_AGAIN] = STRIKING,
    [LIGHT] = JABBING, [LIGHT_BACK] = JABBING, [STRING] = JABBING,
    [GRAB] = THROWING, [WALK_AND_GRAB] = THROWING, [GRAB_BACK] = THROWING, [GRAB_GETTING_UP] = THROWING,
    [RISE] = RISING, [RISE_BACK] = RISING, [RISE_GETTING_UP] = RISING, [RISE_AT_LANDING] = RISING,
    [SHOOT] = SHOOTING,
};

/* Compute the logarithm of each option's weight. */
static void weigh(const struct mind *mind, u8 situation, s16 logarithms[MOST_OPTIONS])
{
    const struct options *options = &tactics[situation];
    const s8 *worth = mind->worth[situation];
    for (u8 option = 0; option < options->count; option++)
        logarithms[option] = (s16)(worth[option] + mind->worth_of_kind[kind_of[options->deeds[option]]]);
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

static void change_worth(s8 *worth, s16 change)
{
    s16 now = (s16)(*worth + change);
    if (now > MOST_WORTH - 1)
        now = MOST_WORTH - 1;
    if (now < -MOST_WORTH)
        now = -MOST_WORTH;
    *worth = (s8)now;
}

/* What an attack costs in worth, so that one that is only ever blocked, or that meets the other fighter's
   projectile, is given up; one that hits gains more. */
static const u8 costs[KINDS] = {[STRIKING] = 1, [JABBING] = 1, [SHOOTING] = 4};

static s8 *worth_of(struct mind *mind, const struct choice *choice) { return &mind->worth[choice->situation][choice->option]; }

static u8 kind_chosen(const struct choice *choice) { return kind_of[tactics[choice->situation].deeds[choice->option]]; }

static void credit(struct mind *mind, const struct choice *choice, s16 change)
{
    u8 kind = kind_chosen(choice);
    change_worth(worth_of(mind, choice), change);
    if (kind != OTHER)
        change_worth(&mind->worth_of_kind[kind], (s16)(change / SHARED));
}

/* After a long time without damage, an option that does not lead closer loses worth, and one that does gets back
   what it has lost; but not what its kind has lost, so that it does not walk into the same attack again. */
static void get_bored(struct mind *mind, const struct choice *choice, u8 closes)
{
    s8 *worth = worth_of(mind, choice);
    if (closes && *worth < 0)
        change_worth(worth, BOREDOM);
    else if (!closes && *worth > BORED_DOWN_TO)
        change_worth(worth, -BOREDOM);
}

void note_choice(struct mind *mind, u8 situation, u8 option)
{
    mind->newest_choice = (u8)((mind->newest_choice + 1) & (TRAIL - 1));
    struct choice *choice = &mind->trail[mind->newest_choice];
    *choice = (struct choice){situation, option, mind->frame};
    u8 kind = kind_chosen(choice);
    change_worth(worth_of(mind, choice), (s16)-costs[kind]);
    if ((u16)(mind->frame - mind->latest_blow) > PATIENCE)
        get_bored(mind, choice, kind == CLOSING || kind == THROWING);
}

void learn(struct mind *mind, s16 gained, u16 then, u8 rate)
{
    if (gained == 0)
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
            rate = (u8)(rate / 2); /* earlier choices get less credit */
        }
        at = (u8)((at - 1) & (TRAIL - 1));
    }
}
