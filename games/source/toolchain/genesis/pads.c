/* Reading a 6-button pad: TH is toggled, and each phase shows other buttons (0 is pressed). */
#include "console.h"

#define TH_HIGH 0x40
#define TH_LOW 0x00

static inline u8 phase(volatile u8 *port, u8 th)
{
    *port = th;
    __asm__ volatile("nop\n\tnop\n\tnop\n\tnop"); /* the lines take a moment to settle */
    return *port;
}

u16 read_pad(u32 address)
{
    volatile u8 *port = (volatile u8 *)address;
    u8 first = phase(port, TH_HIGH);  /* C B right left down up */
    u8 second = phase(port, TH_LOW);  /* start A 0 0 down up */
    phase(port, TH_HIGH);
    phase(port, TH_LOW);
    phase(port, TH_HIGH);
    u8 third = phase(port, TH_LOW);   /* a 6-button pad shows 0000 here */
    u8 fourth = phase(port, TH_HIGH); /* mode X Y Z */
    phase(port, TH_LOW);
    phase(port, TH_HIGH);

    u16 pressed = (u16)(~first & 0x3F) | (u16)((~second & 0x30) << 2);
    if ((third & 0x0F) == 0)
        pressed |= (u16)((~fourth & 0x0F) << 8);
    return pressed;
}
