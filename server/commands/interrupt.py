"""Ctrl-C: once to end the run after the current tick, twice to end it now, once more if even that hangs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from types import FrameType
from typing import Final, Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE: Final = 2.0
"""Seconds after which a person is told why nothing happens."""
_GRACE: Final = 2.0
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

    More signals do nothing for two seconds: somebody may lean on the key, and the summary is being written.
    From then on a signal ends the process, without a summary.
    """
    sentence = "the run has not ended yet; Ctrl-C again ends it at once"
    hint = Timer(_PATIENCE, print, [sentence], {"file": sys.stderr, "flush": True})
    hint.daemon = True
    interrupted: float | None = None

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if not player.stopping:
            player.stopping = True
            hint.start()
        elif interrupted is None:
            interrupted = monotonic()
            raise KeyboardInterrupt
        elif monotonic() - interrupted > _GRACE:
            os._exit(128 + signal.SIGINT)  # nothing may be waited for: something here never ends

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        hint.cancel()
        for each, handler in before.items():
            signal.signal(each, handler)
