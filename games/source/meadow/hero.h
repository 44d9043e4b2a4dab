/* The hero: walks, is hurt, talks to what is in front. */
#ifndef HERO_H
#define HERO_H

#include "console.h"

#define STEP_FRAMES 8 /* frames of a step from one tile to the next: a pixel each */

void hero_stop(void);
void hero_step(u16 held, u16 pressed);
u8 hero_frames_left(void); /* of a step */
void hero_heal(u8 points);
u8 hero_hurt(u8 points);   /* 1 if that was too much, and the hero is home again */

#endif
