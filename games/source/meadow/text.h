/* Windows with text: a dialogue below, a choice at its side. What they show is published. */
#ifndef TEXT_H
#define TEXT_H

#include "console.h"

#define TEXT_COLUMNS 28
#define TEXT_ROWS 3
#define OPTION_COLUMNS 12
#define MOST_OPTIONS 4

void text_print(u8 column, u8 row, const char *text);
void text_number(u8 column, u8 row, u16 number, u8 digits);
void text_window(u8 column, u8 row, u8 columns, u8 rows);

/* A dialogue: pages of text, letter by letter. */
void dialogue_open(const char *text);
u8 dialogue_is_told(void);        /* the last page is there as a whole */
u8 dialogue_step(u16 pressed);    /* 1 when the last page was dismissed */
void dialogue_close(void);

/* A choice among up to MOST_OPTIONS. */
void choice_open(const char *const *options, u8 count);
u8 choice_step(u16 pressed);      /* 1 when one was chosen: game.choice */
void choice_close(void);

#endif
