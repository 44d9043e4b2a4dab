/* The buttons of a 6-button pad, a bit each. */
#ifndef PAD_BITS_H
#define PAD_BITS_H

enum {
    PAD_UP = 1, PAD_DOWN = 2, PAD_LEFT = 4, PAD_RIGHT = 8,
    PAD_B = 16, PAD_C = 32, PAD_A = 64, PAD_START = 128,
    PAD_Z = 256, PAD_Y = 512, PAD_X = 1024, PAD_MODE = 2048,
    PAD_ALL = 4095,
};

#endif
