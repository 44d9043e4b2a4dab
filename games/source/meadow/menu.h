#ifndef MENU_H
#define MENU_H

#include "console.h"

void menu_open(void);
void menu_step(u16 pressed);

#endif
