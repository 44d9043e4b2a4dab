/* The deeds, which are the opponent's responses, as inputs on its pad. */
#ifndef DEEDS_H
#define DEEDS_H

#include "situations.h"

/* Replace the plan by the steps of a deed. */
void do_deed(struct mind *mind, const struct view *view, u8 deed);

#endif
