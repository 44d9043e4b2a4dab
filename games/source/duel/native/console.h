/* The console interface of the native build: types, pads, and work RAM as an array. Nothing is drawn, and
   there is no vertical blank to wait for. It replaces toolchain/genesis/console.h. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <string.h>

#include "../../toolchain/genesis/pad_bits.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef signed char s8;
typedef short s16;
typedef int s32;

/* The part of work RAM that published.h uses, in the console's big-endian byte order. */
#define RAM_ADDRESS 0xFF8000
#define RAM_BYTES 0x2000

struct __attribute__((packed, scalar_storage_order("big-endian"))) big_word {
    u16 value;
};

struct __attribute__((packed, scalar_storage_order("big-endian"))) big_long {
    u32 value;
};

extern u8 work_ram[RAM_BYTES];

#define BYTE_AT(address) (work_ram[(address) - RAM_ADDRESS])
#define WORD_AT(address) (((struct big_word *)&BYTE_AT(address))->value)
#define LONG_AT(address) (((struct big_long *)&BYTE_AT(address))->value)

/* Variables that are not part of a game's state: the opponent's tables, which are writable here, and the
   chance that it tries any option. */
#define OUTSIDE_GAME_STATE __attribute__((section("outside_game_state")))
#define TACTICS OUTSIDE_GAME_STATE
extern u16 explores;
#define EXPLORES explores

#endif
