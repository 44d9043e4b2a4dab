#ifndef CONSOLE_H
#define CONSOLE_H
#include <string.h>
#include <stddef.h>
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef signed char s8; typedef short s16; typedef int s32;
extern unsigned char ram[65536];
#define BYTE_AT(a) (*(u8*)(ram+((a)&0xFFFF)))
#define WORD_AT(a) (*(u16*)(ram+((a)&0xFFFF)))
#define LONG_AT(a) (*(u32*)(ram+((a)&0xFFFF)))
enum { PAD_UP = 1, PAD_DOWN = 2, PAD_LEFT = 4, PAD_RIGHT = 8, PAD_B = 16, PAD_C = 32, PAD_A = 64, PAD_START = 128, PAD_Z = 256, PAD_Y = 512, PAD_X = 1024, PAD_MODE = 2048, PAD_ALL = 4095 };
#endif
