#ifndef ACTORS_H
#define ACTORS_H

void actors_draw(void);

#endif
