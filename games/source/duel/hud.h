/* What is written over the fight: health, clock, rounds won, score, announcements, title and selection. */
#ifndef HUD_H
#define HUD_H

#include "console.h"

/* Everything anew, after the screen was cleared or another kind of screen was shown. */
void hud_reset(void);
void hud_draw(void);

#endif
