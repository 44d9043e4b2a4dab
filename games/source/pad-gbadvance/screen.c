/* Setting up the picture on a Game Boy Advance. */
#include "screen.h"
#include "font.h"

#define INK 1
#define PAPER 2
#define MAP_ROWS 32
#define COLOURS_A_PALETTE 16

volatile u16 *screen_cursor;

static const u16 ink_and_paper[STYLES][2] = {
    [STYLE_TEXT] = {RGB(31, 31, 31), RGB(3, 4, 10)},
    [STYLE_DIM] = {RGB(13, 15, 21), RGB(3, 4, 10)},
    [STYLE_LIT] = {RGB(3, 4, 10), RGB(31, 26, 6)},
    [STYLE_BARCODE] = {RGB(31, 31, 31), RGB(0, 0, 0)},
};

/* A tile row of 8 pixels, 4 bits each, from 8 bits: the leftmost pixel is the lowest nibble here. */
static u32 row_of_pixels(u8 bits)
{
    u32 pixels = 0;
    for (u8 pixel = 0; pixel < 8; pixel++)
        pixels |= (u32)(bits & (0x80 >> pixel) ? INK : PAPER) << (4 * pixel);
    return pixels;
}

static void load_tile(u16 tile, const u8 *rows)
{
    volatile u16 *to = VIDEO_RAM + tile * 16; /* 16 halfwords a tile: video RAM takes no single bytes */
    for (u8 row = 0; row < 8; row++) {
        u32 pixels = row_of_pixels(rows[row]);
        *to++ = (u16)pixels;
        *to++ = (u16)(pixels >> 16);
    }
}

void screen_start(void)
{
    static const u8 solid[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    for (u16 glyph = 0; glyph < SOLID_TILE; glyph++)
        load_tile(glyph, font[glyph]);
    load_tile(SOLID_TILE, solid);
    for (u8 style = 0; style < STYLES; style++) {
        COLOURS[style * COLOURS_A_PALETTE + INK] = ink_and_paper[style][0];
        COLOURS[style * COLOURS_A_PALETTE + PAPER] = ink_and_paper[style][1];
    }
    screen_at(0, 0);
    for (u16 cell = 0; cell < MAP_WIDTH * MAP_ROWS; cell++)
        screen_put(CELL(GLYPH(' '), STYLE_TEXT));
    BACKGROUND_0_CONTROL = BACKGROUND_MAP(MAP_NUMBER);
    DISPLAY_CONTROL = DISPLAY_BACKGROUND_0;
}
