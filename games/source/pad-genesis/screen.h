/* The picture on a Genesis: plane A in 8x8 tiles, 40 by 28 of them in sight. */
#ifndef SCREEN_H
#define SCREEN_H

#include "console.h"
#include "pad.h"

#define PUBLISHED_ADDRESS 0x00FF8000

/* ---- where things stand, in tiles ---- */
#define TITLE "MINIBRAINS PAD - GENESIS"
#define TITLE_ROW 1
#define NUMBERS_COLUMN 24
#define FRAME_ROW 3
#define PRESSES_ROW 6
#define END_ROW 9
#define PANEL_COLUMN 1
#define PANEL_1_ROW 14
#define PANEL_2_ROW 20
#define PANEL_1_TITLE "PAD 1"
#define PANEL_2_TITLE "PAD 2"

static const ButtonLabel button_labels[] = {
    {PAD_UP, 0, 2, "UP"}, {PAD_DOWN, 4, 2, "DOWN"}, {PAD_LEFT, 10, 2, "LEFT"}, {PAD_RIGHT, 16, 2, "RIGHT"},
    {PAD_START, 23, 2, "START"}, {PAD_MODE, 30, 2, "MODE"},
    {PAD_A, 0, 4, "A"}, {PAD_B, 3, 4, "B"}, {PAD_C, 6, 4, "C"},
    {PAD_X, 10, 4, "X"}, {PAD_Y, 13, 4, "Y"}, {PAD_Z, 16, 4, "Z"}, {0, 0, 0, NULL},
};

/* ---- tiles and colours ---- */
#define FIRST_CHARACTER ' '
#define GLYPH(character) ((u16)((character) - FIRST_CHARACTER))
#define SOLID_TILE 64 /* after the font */
enum { STYLE_TEXT, STYLE_DIM, STYLE_LIT, STYLE_BARCODE, STYLES }; /* a palette each */
#define CELL(tile, style) ((u16)((tile) | ((style) << 13)))
#define BARCODE_WHITE CELL(SOLID_TILE, STYLE_BARCODE)
#define BARCODE_BLACK CELL(GLYPH(' '), STYLE_BARCODE)

#define PLANE_A 0xC000u
#define PLANE_WIDTH 64

void screen_start(void);
/* Where the next screen_put goes. */
static inline void screen_at(u8 column, u8 row) { vdp_to_video_ram(PLANE_A + 2u * ((u32)row * PLANE_WIDTH + column)); }
static inline void screen_put(u16 cell) { VDP_DATA = cell; }
/* The VDP's own line counter: from 224 on it is in the blank, where it jumps back once, from 234 to 229. */
static inline u16 screen_line(void) { return vdp_line(); }

#endif
