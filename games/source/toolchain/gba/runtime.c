/* What the compiler calls by itself; the rest comes from libgcc. */
#include "console.h"

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
