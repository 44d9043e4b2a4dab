"""`python -m server`, and `minibrains` where it is installed."""

import atexit
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> int:
    """Do the command of this process and return the exit status."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt_once)
            # the last thing done in Python: from then on Ctrl-C would end the process by a signal, and not with its status
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        from server.cli import main as do_command

        return do_command()
    except KeyboardInterrupt:  # so early that nothing has begun
        return 130


def _interrupt_once(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt, and never again: a person who leans on the key shall not interrupt the way out of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
