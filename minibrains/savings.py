"""The work that caches saved, reported to a listener in the same thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Savings = dict[str, float]
"""A description of what was found in a cache -> the seconds that it once took to make."""

_listening: Final[ContextVar[Savings | None]] = ContextVar("listening", default=None)


@contextmanager
def collect_savings(savings: Savings) -> Iterator[None]:
    """Collect everything that caches save within the `with` block in `savings`."""
    token = _listening.set(savings)
    try:
        yield
    finally:
        _listening.reset(token)


def tell_saving(what: str, seconds: float) -> None:
    """Report that something was found in a cache. Does nothing without a listener."""
    savings = _listening.get()
    if savings is not None:
        savings[what] = seconds


def tell_savings(savings: Savings) -> None:
    """Report the savings of another thread or process again in this one."""
    for what, seconds in savings.items():
        tell_saving(what, seconds)
