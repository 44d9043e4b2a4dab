/* The input parser: held buttons in, presses and motions out. Pads of people, of a host and of the
   computer opponent all go through it. */
#ifndef INPUT_H
#define INPUT_H

#include "console.h"

#define HISTORY 32      /* frames of directions kept for motions; a power of two */
#define PRESS_LASTS 5   /* frames a press waits for its fighter to be free */

struct input {
    u16 held;
    u16 pressed;  /* attack buttons whose press has not been used yet */
    u8 age;       /* frames since the latest of them */
    u8 at;        /* newest place in `ways` */
    u8 ways[HISTORY];
};

enum { MOTION_NONE, MOTION_QUARTER, MOTION_RISING };

#define PAD_PUNCHES (PAD_X | PAD_Y | PAD_Z)
#define PAD_KICKS (PAD_A | PAD_B | PAD_C)
#define PAD_ATTACKS (PAD_PUNCHES | PAD_KICKS)

void input_clear(struct input *input);
void input_take(struct input *input, u16 pad);
/* The motion that the latest directions make for a fighter who faces right or left. */
u8 input_motion(const struct input *input, u8 faces_right);

#endif
