/* Which of its options an opponent chooses, and what it learns from what comes of it. */
#ifndef CHOOSING_H
#define CHOOSING_H

#include "situations.h"

/* What is the case, beside the situation; a bit for each circumstance. */
u16 circumstances_of(const struct mind *mind, const struct view *view);
/* Draw an option by the tables and by what each has brought in this match. */
u8 choose_option(struct mind *mind, u8 situation);
/* Draw any of the options. */
u8 any_option(struct mind *mind, u8 situation);
/* Remember a choice. Who is behind loses patience with deeds that only wait. */
void note_choice(struct mind *mind, u8 situation, u8 option, u8 is_behind);
/* Put health gained, or lost if negative, down to what was being done on frame `then`. `rate` is in sixteenths of worth per point. */
void learn(struct mind *mind, s16 gained, u16 then, u8 rate);

#endif
