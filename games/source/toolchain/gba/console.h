/* The Game Boy Advance as our games see it: types, video, buttons, the frame's end. */
#ifndef CONSOLE_H
#define CONSOLE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;

#define NULL ((void *)0)

#define WORD_AT(address) (*(volatile u16 *)(address))

/* ---- video ---- */
#define DISPLAY_CONTROL WORD_AT(0x04000000)
#define DISPLAY_STATUS WORD_AT(0x04000004)
#define DISPLAY_LINE WORD_AT(0x04000006)
#define BACKGROUND_0_CONTROL WORD_AT(0x04000008)
#define BACKGROUND_1_CONTROL WORD_AT(0x0400000A)
#define BLEND_CONTROL WORD_AT(0x04000050)
#define BLEND_BRIGHTNESS WORD_AT(0x04000054) /* 0 to 16 */
#define DISPLAY_BACKGROUND_0 0x0100
#define DISPLAY_BACKGROUND_1 0x0200
#define DISPLAY_SPRITES 0x1000
#define DISPLAY_SPRITES_IN_A_ROW 0x0040 /* the tiles of a sprite follow each other in video RAM */
#define DISPLAY_STATUS_VBLANK_IRQ 0x0008
#define BACKGROUND_MAP(block) ((block) << 8) /* which 2 KiB of video RAM hold the map */
#define BACKGROUND_TILES(block) ((block) << 2) /* which 16 KiB of video RAM hold the tiles */
#define BEHIND(priority) (priority) /* 0 is in front */

#define VIDEO_RAM ((volatile u16 *)0x06000000)
#define MAP_BLOCK(block) ((volatile u16 *)(0x06000000 + (block) * 0x800))
#define TILE_BLOCK(block) ((volatile u32 *)(0x06000000 + (block) * 0x4000))
#define SPRITE_TILE_BLOCK ((volatile u32 *)0x06010000)
#define COLOURS ((volatile u16 *)0x05000000)
#define SPRITE_COLOURS ((volatile u16 *)0x05000200)
#define SPRITE_TABLE ((volatile u16 *)0x07000000) /* four halfwords a sprite, the last of them unused */
#define MOST_SPRITES 128

/* A colour of 5 bits a channel, as palette RAM wants it. */
#define RGB(red, green, blue) ((u16)((red) | ((green) << 5) | ((blue) << 10)))

/* ---- interrupts and cartridge speed ---- */
#define INTERRUPT_ENABLE WORD_AT(0x04000200)
#define INTERRUPT_MASTER WORD_AT(0x04000208)
#define INTERRUPT_VBLANK 0x0001
#define WAIT_CONTROL WORD_AT(0x04000204)
#define WAIT_3_1_PREFETCH 0x4317 /* what every cartridge of the time could do; power-on is slower */

/* ---- buttons ---- */
enum {
    PAD_A = 1, PAD_B = 2, PAD_SELECT = 4, PAD_START = 8,
    PAD_RIGHT = 16, PAD_LEFT = 32, PAD_UP = 64, PAD_DOWN = 128,
    PAD_R = 256, PAD_L = 512,
    PAD_ALL = 1023,
};
/* What is held now; the register has 0 for a pressed button. */
static inline u16 read_pad(void) { return (u16)(~WORD_AT(0x04000130) & PAD_ALL); }

/* ---- the frame ---- */
/* Have the vertical blank interrupt, which vsync() waits for. */
static inline void vsync_start(void)
{
    DISPLAY_STATUS = DISPLAY_STATUS_VBLANK_IRQ;
    INTERRUPT_ENABLE = INTERRUPT_VBLANK;
    INTERRUPT_MASTER = 1;
}
/* Sleep until the next vertical blank (BIOS VBlankIntrWait): four times faster to emulate than polling the line. */
static inline void vsync(void) { __asm__ volatile("swi 5" ::: "r0", "r1", "r2", "r3", "memory"); }

/* ---- runtime.c ---- */
void *memcpy(void *to, const void *from, u32 bytes);
void *memset(void *to, int value, u32 bytes);

#endif
