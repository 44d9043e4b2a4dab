/* How an opponent chooses among its options, and how it learns from the results. */
#ifndef CHOOSING_H
#define CHOOSING_H

#include "situations.h"

/* The circumstances that hold besides the situation; a bit for each. */
u16 circumstances_of(const struct mind *mind, const struct view *view);
/* Draw an option by weight: the table's, and the worth learned in this match. */
u8 choose_option(struct mind *mind, u8 situation);
/* Draw an option uniformly. */
u8 any_option(struct mind *mind, u8 situation);
/* Record a choice. Its worth sinks a little if it is an attack, and if it does not lead closer after a long time without damage. */
void note_choice(struct mind *mind, u8 situation, u8 option);
/* Credit a change of health on frame `then` to the choices before it. `rate` is in sixteenths of worth per point. */
void learn(struct mind *mind, s16 gained, u16 then, u8 rate);

#endif
