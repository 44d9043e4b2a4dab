/* A maze in the place of a written map, another for each seed. */
#ifndef MAZE_H
#define MAZE_H

#include "world.h"

#ifdef MAZE_DOORS
void maze_draw(void); /* from the random numbers */
#else
static inline void maze_draw(void) {}
#endif

#endif
