"""What a cache answered in the place of work, told to whoever listens in the same thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Savings = dict[str, float]
"""What was found in a cache, for people, and the seconds that it once took to make."""

_listening: Final[ContextVar[Savings | None]] = ContextVar("listening", default=None)


@contextmanager
def listen(savings: Savings) -> Iterator[None]:
    """Put everything that caches answer from here on into `savings`."""
    token = _listening.set(savings)
    try:
        yield
    finally:
        _listening.reset(token)


def tell_saving(what: str, seconds: float) -> None:
    """Say that something was found in a cache; without a listener nobody hears of it."""
    savings = _listening.get()
    if savings is not None:
        savings[what] = seconds


def tell_savings(savings: Savings) -> None:
    """Say again what was said in another thread or process."""
    for what, seconds in savings.items():
        tell_saving(what, seconds)
