/* Battles: the hero and a creature strike by turns. */
#ifndef BATTLE_H
#define BATTLE_H

#include "console.h"

void battle_with(u8 place);        /* a creature of the area; it is gone if it loses */
void battle_in_script(u8 creature); /* the script goes on if the hero wins, and ends if not */
void battle_step(u16 pressed);
void battle_draw(void);

#endif
