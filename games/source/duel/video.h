/* All access to the video chip: tiles, colours, planes, sprites. */
#ifndef VIDEO_H
#define VIDEO_H

#include "console.h"

#define TEXT_COLUMNS 40
#define TEXT_ROWS 28

void video_init(void);
/* Load a stage: its tiles and colours, then each half of its map, with the display off, each in a frame of its own. */
void video_load_stage(u8 stage);
void video_load_half_a_map(u8 stage, u8 lower);
/* Load the colours of a side's character; `alike` gives it another suit, if both are the same character. */
void video_load_colours(u8 side, u8 character, u8 alike);
/* Draw stage, fighters, projectiles and sparks. Call during the vertical blank. */
void video_draw_fight(void);
void video_hide_sprites(void);
/* Switch the display on or off; off is faster to emulate. */
void video_show(u8 on);
/* 320 pixels per line, or 256 while nothing is shown, so that an emulator copies fewer. */
void video_widen(u8 wide);

void video_clear_text(void);
void video_text(u8 column, u8 row, const char *text);
void video_text_centred(u8 row, const char *text);
void video_tile(u8 column, u8 row, u16 tile);
/* Load the logo's tiles into video RAM, or clear them; then draw it. */
void video_load_logo(u8 wanted);
void video_logo(u8 column, u8 row);

#define FLIPPED 0x800 /* a tile mirrored left to right, for video_tile */

#endif
