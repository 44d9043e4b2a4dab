/* What a player learns from: its decisions, with what each has brought. */
#ifndef LESSON_H
#define LESSON_H

#include "game.h"

/* A decision and its return. */
struct lesson {
    u8 cell, action;
    float gained; /* damage dealt minus damage taken, weighted by delay */
};

/* The decisions of one match. */
struct decision {
    u8 cell, action;
    u32 frame;
};

/* Write a lesson for each decision of pad 1 in the match that blows.c has recorded. Return their number, at
   most `room`. */
u32 write_lessons(const struct decision *decided, u32 decisions, const float *weights, u32 frames, struct lesson *lessons, u32 room);

#endif
