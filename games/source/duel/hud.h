/* The text layer: health, clock, rounds won, score, announcements, title and selection. */
#ifndef HUD_H
#define HUD_H

#include "console.h"

/* Redraw everything on the next call of hud_draw, because the screen was cleared. */
void hud_reset(void);
void hud_draw(void);

#endif
