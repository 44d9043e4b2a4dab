#include "input.h"

#define MOTION_FRAMES 24  /* a motion must be completed within this many */

#define WAYS (PAD_UP | PAD_DOWN | PAD_LEFT | PAD_RIGHT)

void input_clear(struct input *input) { memset(input, 0, sizeof *input); }

void input_take(struct input *input, u16 pad)
{
    u16 fresh = (u16)(pad & ~input->held & PAD_ATTACKS);
    if (fresh) {
        input->pressed = fresh;
        input->age = 0;
    } else if (input->pressed && ++input->age > PRESS_LASTS) {
        input->pressed = 0;
    }
    input->held = pad;
    input->at = (u8)((input->at + 1) & (HISTORY - 1));
    input->ways[input->at] = (u8)(pad & WAYS);
}

/* True if the directions in `wanted` (oldest first) were held in this order, with anything in between. */
static u8 went_through(const struct input *input, const u8 *wanted, u8 count)
{
    u8 found = 0;
    for (u8 ago = MOTION_FRAMES; ago-- > 0 && found < count;)
        if (input->ways[(input->at - ago) & (HISTORY - 1)] == wanted[found])
            found++;
    return found == count;
}

u8 input_motion(const struct input *input, u8 faces_right)
{
    u8 forward = faces_right ? PAD_RIGHT : PAD_LEFT;
    const u8 quarter[] = {PAD_DOWN, (u8)(PAD_DOWN | forward), forward};
    const u8 rising[] = {forward, PAD_DOWN, (u8)(PAD_DOWN | forward)};
    u8 now = (u8)(input->held & WAYS);
    /* both motions may match: the present direction tells which one was meant */
    if (now != forward && went_through(input, rising, sizeof rising))
        return MOTION_RISING;
    if (now != (PAD_DOWN | forward) && went_through(input, quarter, sizeof quarter))
        return MOTION_QUARTER;
    return MOTION_NONE;
}
