"""Ctrl-C: once to end the run after the current tick, twice to end it now."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from server.engine.engine import Engine

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_interrupt(engine: Engine) -> Iterator[None]:
    """The first signal ends the run after the current tick, a second one raises KeyboardInterrupt, more do nothing."""

    def stop(number: int, frame: FrameType | None) -> None:
        if engine.stopping:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_IGN)
            raise KeyboardInterrupt
        engine.stopping = True

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
