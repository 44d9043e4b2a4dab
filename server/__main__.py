"""The entry point of `python -m server`, and of `minibrains` where it is installed."""

import atexit
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> int:
    """Run the command of this process and return the exit status."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt_once)
            # the last action in Python: later, Ctrl-C would end the process by a signal instead of
            # with its status
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        from server.cli import main as do_command

        return do_command()
    except KeyboardInterrupt:  # this early, nothing has begun yet
        return 130


def _interrupt_once(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt only once: holding the key down must not
    interrupt the shutdown as well.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
