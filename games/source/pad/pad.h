/* Pad: a test card for consoles. Every frame it reads the pads, publishes them in RAM with a frame counter, and
   draws the same numbers as a barcode. This is what both consoles share; each directory has its own screen.h. */
#ifndef PAD_H
#define PAD_H

#include "console.h"

#define MAGIC 0x50414431u /* "PAD1" read as a big-endian number */

/* What the host finds at PUBLISHED_ADDRESS (screen.h), in the byte order of the console. */
typedef struct {
    u32 magic;     /* 0x00 MAGIC, as soon as the game runs */
    u32 frame;     /* 0x04 frames since power-on: one more each frame */
    u16 pad1;      /* 0x08 what was held when this frame began: PAD_... of console.h */
    u16 pad2;      /* 0x0A */
    u32 presses;   /* 0x0C how often a button of either pad went down: the score */
    u16 countdown; /* 0x10 the host may write n: the n-th frame from then on sets `finished` */
    u16 finished;  /* 0x12 the game is over; never cleared by the game */
    u16 mailbox;   /* 0x14 GBA only: the host writes the buttons of pad 2 here */
    u16 idle_line; /* 0x16 the display line on which the last frame was worked out and drawn */
} Published;

/* The barcode: white is 1. Each cell is one 8x8 tile. From top to bottom: a row that alternates from white;
   six rows of white, 16 bits (highest first), black; a row that alternates from black. */
#define BARCODE_COLUMN 1
#define BARCODE_ROW 3
#define BARCODE_BITS 16
#define BARCODE_WIDTH (1 + BARCODE_BITS + 1)
enum { WORD_FRAME_HIGH, WORD_FRAME_LOW, WORD_PAD1, WORD_PAD2, WORD_PRESSES, WORD_CHECK, BARCODE_WORDS };
#define BARCODE_HEIGHT (1 + BARCODE_WORDS + 1)

/* A button's name on the screen, lit while it is held. */
typedef struct {
    u16 button;
    u8 column, row; /* from the corner of the pad's panel */
    const char *name;
} ButtonLabel;

/* Draw what never changes, and start publishing. The picture must be set up. */
void pad_start(void);
/* Do one frame. Call it right after the vertical blank began. */
void pad_frame(u16 pad1, u16 pad2);

#endif
