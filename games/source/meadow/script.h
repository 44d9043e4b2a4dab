/* Scripts: what people say and do, one operation after the other. make_world.py compiles them. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "console.h"

void script_start(u16 script);
void script_stop(void);
void script_forget(void); /* and what was tried */
void script_step(u16 pressed);
void say(const char *text); /* a text that belongs to no script */

#endif
