"""Ctrl-C: once to end the run after the current tick, twice to end it now, once more if even that hangs.

SIGTERM is the same, and SIGHUP, which says that the terminal was closed.
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
"""Seconds after which a person is told why nothing happens."""
_GRACE: Final = 5.0
"""Seconds after the second signal in which more do nothing: the run is closed and its summary written."""


class Stoppable(Protocol):
    """An Engine, or a Pool of workers that have one each."""

    @property
    def stopping(self) -> bool: ...

    @stopping.setter
    def stopping(self, stopping: bool) -> None: ...


@contextmanager
def stop_on_interrupt(player: Stoppable) -> Iterator[None]:
    """End the run after the current tick at the first signal, raise KeyboardInterrupt at the second.

    More signals do nothing for five seconds: somebody may lean on the key, and a busy machine takes its time to write the
    summary. From then on a signal ends the process, without a summary. That holds for what the command does after the run,
    too.
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
            raise KeyboardInterrupt
        elif monotonic() - interrupted > _GRACE:
            os._exit(128 + signal.SIGINT)  # nothing may be waited for: something here never ends

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
    """Let what is written to a terminal go nowhere: it is closed, and writing to it fails."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in files:
        os.dup2(nowhere, number)
    os.close(nowhere)
