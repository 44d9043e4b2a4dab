"""Ctrl-C: once to end the run after the current tick, twice to end it now,
three times if even that hangs.

SIGTERM has the same effect, and so has SIGHUP, which means that the terminal was closed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from types import FrameType
from typing import Final, Protocol

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HINT_DELAY: Final = 2.0
"""Seconds after which a message explains why nothing happens."""
_GRACE: Final = 5.0
"""Seconds after the second signal in which further ones are ignored, while the run is closed and
its summary written."""


class Stoppable(Protocol):
    """Something that plays and can be stopped: an Engine,
    or a Pool of workers with an engine each.
    """

    @property
    def stopping(self) -> bool:
        """True once it is to stop after the current tick."""

    @stopping.setter
    def stopping(self, stopping: bool) -> None: ...

    @property
    def writing_results(self) -> bool:
        """True while it writes down what was played, which nothing should interrupt."""


@contextmanager
def stop_on_interrupt(player: Stoppable) -> Iterator[None]:
    """End the run after the current tick at the first signal,
    raise KeyboardInterrupt at the second, unless the results are being written.

    Further signals are ignored for five seconds, because the key may be held down, and a busy
    machine takes a while to write the summary. After that, a signal ends the process without a
    summary, even if the run is over and the command goes on.
    """
    sentence = "the run has not ended yet; Ctrl-C again ends it at once"
    hint = Timer(_HINT_DELAY, print, [sentence], {"file": sys.stderr, "flush": True})
    hint.daemon = True
    interrupted: float | None = None
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if number == signal.SIGHUP:
            _write_to_nowhere(terminals)
        if not player.stopping:
            player.stopping = True
            hint.start()
        elif interrupted is None:
            interrupted = monotonic()
            if not player.writing_results:
                raise KeyboardInterrupt
        elif monotonic() - interrupted > _GRACE:
            # nothing may be waited for, because something here never ends
            os._exit(128 + signal.SIGINT)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]  # nohup: a closed terminal does not end it
    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        hint.cancel()
        if player.stopping:
            interrupted = interrupted or monotonic()
        else:
            for each, handler in before.items():
                signal.signal(each, handler)


def _write_to_nowhere(files: Iterable[int]) -> None:
    """Discard the output to a terminal that was closed, because writing to it fails."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in files:
        os.dup2(nowhere, number)
    os.close(nowhere)
