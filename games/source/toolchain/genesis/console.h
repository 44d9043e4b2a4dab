/* The Genesis as our games see it: types, VDP, pads, the frame's end. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "pad_bits.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef signed char s8;
typedef short s16;
typedef int s32;

#define NULL ((void *)0)

/* A byte, word or long at a fixed address. Words and longs must be at even addresses: a 68000 traps otherwise. */
#define BYTE_AT(address) (*(volatile u8 *)(address))
#define WORD_AT(address) (*(volatile u16 *)(address))
#define LONG_AT(address) (*(volatile u32 *)(address))

/* ---- video display processor ---- */
#define VDP_DATA WORD_AT(0xC00000)
#define VDP_DATA_LONG LONG_AT(0xC00000)
#define VDP_CONTROL WORD_AT(0xC00004)
#define VDP_CONTROL_LONG LONG_AT(0xC00004)

/* A colour of 3 bits a channel, as colour RAM wants it. */
#define RGB(red, green, blue) ((u16)(((blue) << 9) | ((green) << 5) | ((red) << 1)))

static inline void vdp_register(u8 number, u8 value) { VDP_CONTROL = (u16)(0x8000 | (number << 8) | value); }
/* After these, what is written to VDP_DATA goes to that place and on. */
static inline void vdp_to_video_ram(u32 address) { VDP_CONTROL_LONG = 0x40000000u | ((address & 0x3FFF) << 16) | (address >> 14); }
static inline void vdp_to_colours(u16 address) { VDP_CONTROL_LONG = 0xC0000000u | ((u32)address << 16); }
static inline void vdp_to_scroll(u16 address) { VDP_CONTROL_LONG = 0x40000010u | ((u32)address << 16); }

/* The line that is being shown; from 224 on it is the blank, in which a few numbers come twice. */
static inline u8 vdp_line(void) { return BYTE_AT(0xC00008); }

/* ---- pads ---- */
#define PAD_PORT_1 0xA10003
#define PAD_PORT_2 0xA10005

/* What is held on a pad now; X, Y, Z and MODE are 0 on a 3-button pad. Once a frame at most: a 6-button
   pad counts the reads and forgets its count after 1.5 ms. */
u16 read_pad(u32 port);

/* ---- the frame ---- */
void vsync(void); /* crt0.S */

/* ---- runtime.c ---- */
void *memcpy(void *to, const void *from, u32 bytes);
void *memset(void *to, int value, u32 bytes);
int memcmp(const void *left, const void *right, u32 bytes);

#endif
