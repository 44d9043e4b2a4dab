/* The input parser: turns held buttons into buffered presses and motions. The pads of players, of a
   host and of the computer opponent all go through it. */
#ifndef INPUT_H
#define INPUT_H

#include "console.h"

#define HISTORY 32      /* frames of directions kept for motions; a power of two */
#define PRESS_LASTS 5   /* frames a press stays in the input buffer */

struct input {
    u16 held;
    u16 pressed;  /* attack buttons in the input buffer */
    u8 age;       /* frames since they were pressed */
    u8 at;        /* index of the newest entry of `ways` */
    u8 ways[HISTORY];
};

enum { MOTION_NONE, MOTION_QUARTER, MOTION_RISING };

#define PAD_PUNCHES (PAD_X | PAD_Y | PAD_Z)
#define PAD_KICKS (PAD_A | PAD_B | PAD_C)
#define PAD_ATTACKS (PAD_PUNCHES | PAD_KICKS)

void input_clear(struct input *input);
void input_take(struct input *input, u16 pad);
/* The motion that the latest directions complete, for a fighter facing right or left. */
u8 input_motion(const struct input *input, u8 faces_right);

#endif
