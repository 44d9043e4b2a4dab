/* Creatures of an area: they roam, come closer to the hero, and begin a battle when they reach him. */
#ifndef CREATURE_H
#define CREATURE_H

#include "console.h"

void creatures_enter(void);
void creatures_step(void);
u8 creature_at(u8 x, u8 y);      /* its place in the area, or NOBODY */
void creature_remove(u8 place);
void creatures_spare_hero(void); /* for a moment, after a battle */
u8 creature_frames_left(u8 place);
u8 creature_facing(u8 place);

#endif
