/* What the compiler calls by itself on a plain 68000. Debian's libgcc is built for a 68020: it must not be linked. */
#include "console.h"

u32 __mulsi3(u32 a, u32 b);
u32 __udivsi3(u32 n, u32 d);
u32 __umodsi3(u32 n, u32 d);
s32 __divsi3(s32 n, s32 d);
s32 __modsi3(s32 n, s32 d);

/* In C the compiler may see through the two halves and call __mulsi3 from within itself. */
static inline u32 multiply_words(u16 a, u16 b)
{
    u32 product = a;
    __asm__("mulu.w %1,%0" : "+d"(product) : "d"(b));
    return product;
}

u32 __mulsi3(u32 a, u32 b)
{
    u32 cross = multiply_words((u16)(a >> 16), (u16)b) + multiply_words((u16)a, (u16)(b >> 16));
    return multiply_words((u16)a, (u16)b) + (cross << 16);
}

static u32 divide(u32 n, u32 d, u32 *remainder)
{
    u32 quotient = 0, rest = 0;
    for (int bit = 31; bit >= 0; bit--) {
        rest = (rest << 1) | ((n >> bit) & 1);
        quotient <<= 1;
        if (rest >= d) {
            rest -= d;
            quotient |= 1;
        }
    }
    *remainder = rest;
    return quotient;
}

static u32 absolute(s32 value) { return value < 0 ? -(u32)value : (u32)value; }

u32 __udivsi3(u32 n, u32 d)
{
    u32 rest;
    return divide(n, d, &rest);
}

u32 __umodsi3(u32 n, u32 d)
{
    u32 rest;
    divide(n, d, &rest);
    return rest;
}

s32 __divsi3(s32 n, s32 d)
{
    u32 quotient = __udivsi3(absolute(n), absolute(d));
    return (n < 0) != (d < 0) ? -(s32)quotient : (s32)quotient;
}

s32 __modsi3(s32 n, s32 d)
{
    u32 rest = __umodsi3(absolute(n), absolute(d));
    return n < 0 ? -(s32)rest : (s32)rest;
}

void *memcpy(void *to, const void *from, u32 bytes)
{
    u8 *target = to;
    const u8 *source = from;
    while (bytes--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, u32 bytes)
{
    u8 *target = to;
    while (bytes--)
        *target++ = (u8)value;
    return to;
}

int memcmp(const void *left, const void *right, u32 bytes)
{
    const u8 *a = left, *b = right;
    for (; bytes--; a++, b++)
        if (*a != *b)
            return *a < *b ? -1 : 1;
    return 0;
}
