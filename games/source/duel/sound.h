/* What is heard: short effects on the PSG. The rules know nothing of them. */
#ifndef SOUND_H
#define SOUND_H

#include "console.h"

/* Silence the sound chips, and make their silence cheap to emulate. */
void sound_init(void);
/* Sound the game as it is now. Once in each of the console's frames; unless it is `audible`, everything is silent. */
void sound_step(u8 audible);

#endif
