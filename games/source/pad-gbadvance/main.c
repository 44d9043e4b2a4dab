/* Pad on a Game Boy Advance: one pad of its own; the second is what the host writes to the mailbox. */
#include "pad.h"
#include "screen.h"

int main(void)
{
    WAIT_CONTROL = WAIT_3_1_PREFETCH;
    screen_start();
    pad_start();
    vsync_start();
    for (;;) {
        vsync();
        pad_frame(read_pad(), ((volatile Published *)PUBLISHED_ADDRESS)->mailbox & PAD_ALL);
    }
}
