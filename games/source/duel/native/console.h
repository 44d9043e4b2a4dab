/* What the game sees of a console, on the computer that it is compiled for: types, pads, and work RAM as an array.
   There is nothing to draw with and no frame to wait for. It takes the place of toolchain/genesis/console.h. */
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

/* The part of work RAM that published.h uses. Its bytes are the console's, which stores the high byte first. */
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

/* The opponent's tables can be written, and are no part of a game's state. */
#define TACTICS __attribute__((section("outside_game_state")))

#endif
