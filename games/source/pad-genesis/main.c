/* Pad on a Genesis: two 6-button pads. */
#include "pad.h"
#include "screen.h"

int main(void)
{
    screen_start();
    pad_start();
    for (;;) {
        vsync();
        u16 pad1 = read_pad(PAD_PORT_1);
        pad_frame(pad1, read_pad(PAD_PORT_2));
    }
}
