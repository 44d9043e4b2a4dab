/* The picture on a Game Boy Advance: one background of 8x8 tiles, 30 by 20 of them in sight. */
#ifndef SCREEN_H
#define SCREEN_H

#include "console.h"
#include "pad.h"

#define PUBLISHED_ADDRESS 0x02000000

/* ---- where things stand, in tiles ---- */
#define TITLE "MINIBRAINS PAD - GBA"
#define TITLE_ROW 1
#define NUMBERS_COLUMN 20
#define FRAME_ROW 3
#define PRESSES_ROW 6
#define END_ROW 9
#define PANEL_COLUMN 1
#define PANEL_1_ROW 12
#define PANEL_2_ROW 16
#define PANEL_1_TITLE "PAD 1"
#define PANEL_2_TITLE "PAD 2: WRITE TO THE MAILBOX"

static const ButtonLabel button_labels[] = {
    {PAD_UP, 0, 1, "UP"},      {PAD_DOWN, 4, 1, "DOWN"},       {PAD_LEFT, 10, 1, "LEFT"}, {PAD_RIGHT, 16, 1, "RIGHT"},
    {PAD_A, 0, 2, "A"},        {PAD_B, 3, 2, "B"},             {PAD_L, 6, 2, "L"},        {PAD_R, 9, 2, "R"},
    {PAD_SELECT, 12, 2, "SELECT"}, {PAD_START, 20, 2, "START"}, {0, 0, 0, NULL},
};

/* ---- tiles and colours ---- */
#define FIRST_CHARACTER ' '
#define GLYPH(character) ((u16)((character) - FIRST_CHARACTER))
#define SOLID_TILE 64 /* after the font */
enum { STYLE_TEXT, STYLE_DIM, STYLE_LIT, STYLE_BARCODE, STYLES }; /* a palette each */
#define CELL(tile, style) ((u16)((tile) | ((style) << 12)))
#define BARCODE_WHITE CELL(SOLID_TILE, STYLE_BARCODE)
#define BARCODE_BLACK CELL(GLYPH(' '), STYLE_BARCODE)

#define MAP_NUMBER 28
#define MAP_WIDTH 32

/* Where the next screen_put goes. */
extern volatile u16 *screen_cursor;

void screen_start(void);
static inline void screen_at(u8 column, u8 row) { screen_cursor = MAP_BLOCK(MAP_NUMBER) + row * MAP_WIDTH + column; }
static inline void screen_put(u16 cell) { *screen_cursor++ = cell; }
static inline u16 screen_line(void) { return DISPLAY_LINE; }

#endif
