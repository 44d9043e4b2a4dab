#include "habits.h"

#define UNKNOWN 64
#define OFTEN 100        /* a habit above this is taken into account */
#define MOSTLY 150       /* the same for those that are common in any style */
#define CALM_AGAIN 20    /* without attacks, the habit of attacking decays down to this */
#define FORGETS 16       /* chance of 256 on each frame that it decays by 1 */
#define LONG_MOVE 35     /* frames from which a move can be punished after a block */
#define GRABBED_WITHIN 46 /* pixels: throwing range */

void habits_forget(struct habits *habits)
{
    *habits = (struct habits){UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
}

/* 1 / parts in 65536ths: the 68000 multiplies words itself, but a division would call a function. */
#define ONE_OF(parts) (u16)((65536 + (parts) - 1) / (parts))

/* Move a habit towards 255 if it was seen, towards 0 otherwise, by this part of the difference, in 65536ths. */
static OUT_OF_LINE void count_in(u8 *habit, u8 is_seen, u16 part)
{
    u16 way = is_seen ? (u16)(255 - *habit) : *habit;
    u8 step = (u8)((u32)way * part >> 16);
    *habit = (u8)(is_seen ? *habit + step : *habit - step);
}

static void notice_attack(struct habits *habits, const struct sight *sight)
{
    const struct seen_fighter *it = sight->it;
    const struct move *move = &characters[it->character].moves[it->move];
    count_in(&habits->attacking, 1, ONE_OF(4));
    count_in(&habits->rising, it->move == MOVE_RISING, ONE_OF(4));
    if (it->move < MOVE_JUMPING)
        count_in(&habits->swinging, move_frames(move) >= LONG_MOVE, ONE_OF(4));
    if (it->move == MOVE_THROW)
        count_in(&habits->grabbing, 1, ONE_OF(3));
    else if (distance(it->x, sight->me->x) < GRABBED_WITHIN)
        count_in(&habits->grabbing, 0, ONE_OF(6));
}

/* True on the frame of a hit. Throws do not count, since they cannot be blocked. */
static u8 was_hit(const struct seen_fighter *now, const struct seen_fighter *before)
{
    if (before->state == HELD || (now->state != HIT && now->state != FALLING))
        return 0;
    return now->state != before->state;
}

void habits_notice(struct mind *mind, const struct sight *sight, u8 begun)
{
    struct habits *habits = &mind->habits;
    const struct seen_fighter *it = sight->it, *before = sight->it_before;
    if (begun & BLOW)
        notice_attack(habits, sight);
    else if (habits->attacking > CALM_AGAIN && happens(mind, FORGETS))
        habits->attacking--;

    /* a projectile counts when it is released, not when its move begins */
    if ((begun & BLOW) && it->move == MOVE_PROJECTILE)
        begun &= (u8)~BLOW;

    if (begun & SHOT)
        count_in(&habits->shooting, 1, ONE_OF(4));
    else if (begun)
        count_in(&habits->shooting, 0, ONE_OF(8));

    if (begun & JUMP)
        count_in(&habits->jumping, 1, ONE_OF(4));
    else if (begun)
        count_in(&habits->jumping, 0, ONE_OF(10));

    if (it->state == BLOCK && before->state != BLOCK)
        count_in(&habits->guarding, 1, ONE_OF(5));
    else if (was_hit(it, before))
        count_in(&habits->guarding, 0, ONE_OF(5));
}

static u16 bit_if(u8 is_so, u8 circumstance) { return is_so ? (u16)(1 << circumstance) : 0; }

u16 habits_seen(const struct habits *habits)
{
    u16 seen = bit_if(habits->attacking > OFTEN, PRESSES);
    seen |= bit_if(habits->swinging > MOSTLY, SWINGS);
    seen |= bit_if(habits->grabbing > OFTEN, GRABS);
    seen |= bit_if(habits->shooting > OFTEN, SHOOTS);
    seen |= bit_if(habits->jumping > OFTEN, JUMPS);
    seen |= bit_if(habits->rising > OFTEN, RISES);
    seen |= bit_if(habits->guarding > MOSTLY, GUARDS);
    return seen;
}
