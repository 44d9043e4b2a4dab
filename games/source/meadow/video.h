/* The picture: a layer of text in front, sprites, the map of the area behind. */
#ifndef VIDEO_H
#define VIDEO_H

#include "console.h"

#define STATUS_ROWS 2 /* the map begins below them */

#define LOW_CHARACTERS "$/0123456789HP" /* those of the upper status line */

/* The text layer's tiles, in the order of gen_art.py. */
enum {
    CLEAR, FIRST_LETTER, WINDOW = FIRST_LETTER + 95, /* north west, north, north east, west, east, south west, … */
    BAR = WINDOW + 8, LOW_LETTER = BAR + 9, LETTERS_END = LOW_LETTER + sizeof LOW_CHARACTERS - 1,
};
#define LETTER(character) ((u8)((character) - ' ' + FIRST_LETTER))

void video_start(void);
void video_frame(void);
void video_draw_area(void);
void video_draw_backdrop(u16 cell);
void video_fade_in(void);
void video_letter(u8 column, u8 row, u16 tile);
void video_clear_text(u8 first_row, u8 rows);
void video_draw_logo(u8 column, u8 row);

/* Sprites of this frame; the first are in front. A small one is 8 by 16 pixels, its feet at the bottom of a tile. */
void video_no_sprites(void);
void video_small_sprite(s16 x, s16 y, u16 tile, u8 mirrored);
void video_portrait(s16 x, s16 y, u8 number);

#endif
