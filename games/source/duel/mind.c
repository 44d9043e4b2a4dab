#include "mind.h"

struct mind minds[SIDES];

/* ---- chance ---- */

void mind_seed(struct mind *mind, u32 seed)
{
    /* Similar seeds must not give similar streams. Source: lowbias32 (C. Wellons, Prospecting for Hash
       Functions, 2018). */
    u32 x = seed;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    mind->random = x ? x : 1;
}

/* Source: xorshift32 (G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003). */
u32 draw(struct mind *mind)
{
    u32 x = mind->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return mind->random = x;
}

u8 happens(struct mind *mind, u16 chance) { return (u16)(draw(mind) >> 8 & 255) < chance; }

u8 below(struct mind *mind, u16 limit) { return (u8)(((u16)(draw(mind) >> 8 & 255) * limit) >> 8); }

/* ---- plans ---- */

void clear_plan(struct mind *mind) { mind->steps = mind->at = mind->left = mind->committed = 0; }

void add(struct mind *mind, u8 way, u16 buttons, u8 frames)
{
    if (mind->steps < PLAN_STEPS && frames)
        mind->plan[mind->steps++] = (struct step){way, frames, buttons};
}

void hold(struct mind *mind, u8 way, s16 frames)
{
    if (frames > 0)
        add(mind, way, 0, (u8)frames);
}

void press(struct mind *mind, u8 way, u16 button)
{
    add(mind, way, button, 3);
    add(mind, way & DOWN, 0, 3);
}

u8 has_plan(const struct mind *mind) { return mind->at < mind->steps; }

struct step next_step(struct mind *mind)
{
    struct step now = {0, 0, 0};
    if (!has_plan(mind))
        return now;
    now = mind->plan[mind->at];
    if (now.buttons)
        mind->committed = 1;
    if (mind->left == 0)
        mind->left = now.frames;
    mind->left--;
    if (mind->left == 0)
        mind->at++;
    if (mind->at >= mind->steps)
        clear_plan(mind);
    return now;
}
