/* What the game is doing, which decides what the pad does. */
#ifndef MODES_H
#define MODES_H

#include "published.h"

enum { MODE_TITLE, MODE_WALK, MODE_DIALOGUE, MODE_MENU, MODE_BATTLE, MODE_CUTSCENE, MODES };

#endif
