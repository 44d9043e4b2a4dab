"""Ctrl-C: once to end the run after the current tick, twice to end it now."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType
from typing import Final, Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE: Final = 2.0
"""Seconds after which a person is told why nothing happens."""


class Stoppable(Protocol):
    """An Engine, or a Pool of workers that have one each."""

    @property
    def stopping(self) -> bool: ...

    @stopping.setter
    def stopping(self, stopping: bool) -> None: ...


@contextmanager
def stop_on_interrupt(player: Stoppable) -> Iterator[None]:
    """The first signal ends the run after the current tick, a second one raises KeyboardInterrupt, more do nothing."""
    sentence = "the run has not ended yet; Ctrl-C again ends it at once"
    hint = Timer(_PATIENCE, print, [sentence], {"file": sys.stderr, "flush": True})
    hint.daemon = True

    def stop(number: int, frame: FrameType | None) -> None:
        if player.stopping:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_IGN)
            raise KeyboardInterrupt
        player.stopping = True
        hint.start()

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        hint.cancel()
        for each, handler in before.items():
            signal.signal(each, handler)
