"""How long ticks took: a histogram of fixed size, exact to one per cent."""

from __future__ import annotations

_FINE = 7
"""Bits kept of a duration: buckets are 1/128 of an octave wide."""
_TOGETHER = 64
"""Durations that are sorted at once: enough to cost a tick little, too few for one tick to feel it."""


class TickTimes:
    """Durations of ticks in seconds. They are sorted into the histogram many at a time: `add` is on the way of every tick."""

    def __init__(self) -> None:
        self._new: list[float] = []
        self._counts = [0] * (64 << _FINE)
        self._longest = 0.0

    def add(self, seconds: float) -> None:
        new = self._new
        new.append(seconds)
        if len(new) == _TOGETHER:
            self._sort()

    def merge(self, other: TickTimes) -> None:
        """Add all that another one holds: as if every duration had been added here."""
        self._counts = [mine + theirs for mine, theirs in zip(self._sort(), other._sort(), strict=True)]
        self._longest = max(self._longest, other._longest)

    @property
    def count(self) -> int:
        return sum(self._counts) + len(self._new)

    @property
    def longest(self) -> float:
        return max(self._longest, *self._new, 0.0)

    def quantile(self, fraction: float) -> float | None:
        """Seconds below which `fraction` of the ticks stayed; None before the first tick."""
        left = fraction * self.count
        for bucket, count in enumerate(self._sort()):
            left -= count
            if count and left <= 0:
                return min(_middle(bucket), self.longest)
        return None

    def _sort(self) -> list[int]:
        """The histogram with everything in it."""
        self._longest = self.longest
        for seconds in self._new:
            nanoseconds = int(seconds * 1e9)
            shift = nanoseconds.bit_length() - _FINE - 1
            self._counts[(shift << _FINE) + (nanoseconds >> shift) if shift > 0 else nanoseconds] += 1
        self._new.clear()
        return self._counts


def _middle(bucket: int) -> float:
    if bucket < 2 << _FINE:
        return bucket * 1e-9
    mantissa = (bucket & ((1 << _FINE) - 1)) | (1 << _FINE)
    return (mantissa + 0.5) * 2.0 ** ((bucket >> _FINE) - 1) * 1e-9
