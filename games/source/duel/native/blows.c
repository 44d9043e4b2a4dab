#include "blows.h"

#define MOST_BLOWS 2048

static struct {
    u32 frame;
    s16 hp[SIDES];
    u32 count;
    s16 balance[MOST_BLOWS]; /* damage dealt by the right side minus damage that it took */
    u32 struck_on[MOST_BLOWS];
} blows;

void blows_begin(void)
{
    blows.frame = blows.count = 0;
    blows.hp[0] = blows.hp[1] = FULL_HP;
}

/* Health that a side has lost on this frame; 0 if a new round has restored it. */
static s16 lost(u8 side)
{
    s16 hp = game.fighters[side].hp < 0 ? 0 : game.fighters[side].hp;
    s16 before = blows.hp[side];
    blows.hp[side] = hp;
    return hp < before ? (s16)(before - hp) : 0;
}

void blows_note(void)
{
    s16 balance = (s16)(lost(0) - lost(1));
    if (balance && blows.count < MOST_BLOWS) {
        blows.balance[blows.count] = balance;
        blows.struck_on[blows.count++] = blows.frame;
    }
    blows.frame++;
}

u32 blows_frame(void) { return blows.frame; }

float blows_gained(u8 side, u32 frame, u32 *first, const float *weights, u32 frames)
{
    float gained = 0;
    while (*first < blows.count && blows.struck_on[*first] < frame)
        (*first)++;
    for (u32 i = *first; i < blows.count && blows.struck_on[i] < frame + frames; i++)
        gained += (float)blows.balance[i] * weights[blows.struck_on[i] - frame];
    return side ? gained : -gained;
}
