#ifndef STATUS_H
#define STATUS_H

void status_draw(void);
void status_forget(void); /* draw it all again */

#endif
