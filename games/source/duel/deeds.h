/* What each deed means on the pad. */
#ifndef DEEDS_H
#define DEEDS_H

#include "situations.h"

/* Plan a deed in place of what was planned. */
void do_deed(struct mind *mind, const struct view *view, u8 deed);

#endif
