/* Short sound effects on the PSG. The rules do not depend on them. */
#ifndef SOUND_H
#define SOUND_H

#include "console.h"

/* Silence the sound chips, in a state that is cheap to emulate. */
void sound_init(void);
/* Play the sounds of the present frame. Call once per console frame. Unless `audible`, everything is silent. */
void sound_step(u8 audible);

#endif
