/* Setting up the picture on a Genesis. */
#include "screen.h"
#include "font.h"

#define INK 1
#define PAPER 2
#define PLANE_B 0xE000u
#define WINDOW_PLANE 0xF000u
#define SPRITES 0xD800u
#define SCROLL 0xDC00u
#define VIDEO_RAM_WORDS 0x8000u
#define BYTES_A_PALETTE 32

static const u16 ink_and_paper[STYLES][2] = {
    [STYLE_TEXT] = {RGB(7, 7, 7), RGB(0, 1, 2)},
    [STYLE_DIM] = {RGB(3, 3, 5), RGB(0, 1, 2)},
    [STYLE_LIT] = {RGB(0, 1, 2), RGB(7, 6, 1)},
    [STYLE_BARCODE] = {RGB(7, 7, 7), RGB(0, 0, 0)},
};

static void set_registers(void)
{
    vdp_register(0, 0x04);                      /* full palette, no line interrupt */
    vdp_register(1, 0x64);                      /* picture on, vertical blank interrupt, no DMA, 28 rows */
    vdp_register(2, PLANE_A >> 10);
    vdp_register(3, WINDOW_PLANE >> 10);
    vdp_register(4, PLANE_B >> 13);
    vdp_register(5, SPRITES >> 9);
    vdp_register(7, STYLE_TEXT * 16 + PAPER);   /* the colour around and behind everything */
    vdp_register(10, 0xFF);
    vdp_register(11, 0x00);                     /* whole planes scroll */
    vdp_register(12, 0x81);                     /* 40 columns */
    vdp_register(13, SCROLL >> 10);
    vdp_register(15, 2);                        /* a word on after each write */
    vdp_register(16, 0x01);                     /* planes of 64 by 32 */
    vdp_register(17, 0);                        /* no window */
    vdp_register(18, 0);
}

/* Eight pixels of 4 bits each from 8 bits: the leftmost pixel is the highest nibble here. */
static u32 row_of_pixels(u8 bits)
{
    u32 pixels = 0;
    for (u8 pixel = 0; pixel < 8; pixel++)
        pixels = pixels << 4 | (bits & (0x80 >> pixel) ? INK : PAPER);
    return pixels;
}

static void load_tile(const u8 *rows)
{
    for (u8 row = 0; row < 8; row++)
        VDP_DATA_LONG = row_of_pixels(rows[row]);
}

void screen_start(void)
{
    static const u8 solid[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    set_registers();
    vdp_to_video_ram(0); /* all of it: planes, scroll values and sprites are 0 as well, which is nothing to see */
    for (u32 word = 0; word < VIDEO_RAM_WORDS; word++)
        VDP_DATA = 0;
    vdp_to_scroll(0);
    VDP_DATA_LONG = 0;
    vdp_to_video_ram(0);
    for (u16 glyph = 0; glyph < SOLID_TILE; glyph++)
        load_tile(font[glyph]);
    load_tile(solid);
    for (u8 style = 0; style < STYLES; style++) {
        vdp_to_colours((u16)(style * BYTES_A_PALETTE + 2 * INK));
        VDP_DATA = ink_and_paper[style][0];
        VDP_DATA = ink_and_paper[style][1];
    }
}
