"""How long ticks took, in a histogram of fixed size exact to one per cent; and thoughts, in half octaves to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

_FINE = 7
"""Bits kept of a duration: buckets are 1/128 of an octave wide."""
_TOGETHER = 512
"""Durations that are sorted at once: enough to cost a tick little, too few for one tick to feel it."""


class TickTimes:
    """Durations of ticks in seconds. They are sorted into the histogram many at a time: `add` is on the way of every tick."""

    def __init__(self) -> None:
        self._new: list[float] = []
        self._counts = np.zeros(64 << _FINE, np.int64)
        self._longest = 0.0

    def add(self, seconds: float) -> None:
        new = self._new
        new.append(seconds)
        if len(new) == _TOGETHER:
            self._sort()

    def merge(self, other: TickTimes) -> None:
        """Add all that another one holds: as if every duration had been added here."""
        self._counts = self._sort() + other._sort()
        self._longest = max(self._longest, other._longest)

    @property
    def count(self) -> int:
        return int(self._counts.sum()) + len(self._new)

    @property
    def longest(self) -> float:
        return max(self._longest, *self._new, 0.0)

    def quantile(self, fraction: float) -> float | None:
        """Seconds below which `fraction` of the ticks stayed; None before the first tick."""
        left = fraction * self.count
        for bucket, count in enumerate(self._sort().tolist()):
            left -= count
            if count and left <= 0:
                return min(_middle(bucket), self.longest)
        return None

    def _sort(self) -> np.ndarray:
        """The histogram with everything in it."""
        self._longest = self.longest
        nanoseconds = (np.array(self._new) * 1e9).astype(np.int64)
        shift = np.maximum(np.frexp(nanoseconds)[1] - _FINE - 1, 0)
        np.add.at(self._counts, (shift << _FINE) + (nanoseconds >> shift), 1)
        self._new.clear()
        return self._counts


class ThinkTimes:
    """Durations of thoughts: so many in each half octave from a microsecond on. One thread may add while another one counts."""

    def __init__(self) -> None:
        self._counts = [0] * 64

    def add(self, seconds: float) -> None:
        self._counts[min(int(2 * log2(max(seconds * 1e6, 1.0))), 63)] += 1

    def counts(self) -> tuple[int, ...]:
        return tuple(self._counts)


def by_duration(counts: Sequence[int]) -> list[tuple[float, int]]:
    """Of `ThinkTimes.counts`: pairs of milliseconds and how many took less than that, and no less than the pair before says.

    From the first half octave in which there are any to the last.
    """
    filled = [step for step, count in enumerate(counts) if count]
    if not filled:
        return []
    return [(float(f"{2 ** ((step + 1) / 2) / 1e3:.4g}"), counts[step]) for step in range(filled[0], filled[-1] + 1)]


def _middle(bucket: int) -> float:
    if bucket < 2 << _FINE:
        return bucket * 1e-9
    mantissa = (bucket & ((1 << _FINE) - 1)) | (1 << _FINE)
    return (mantissa + 0.5) * 2.0 ** ((bucket >> _FINE) - 1) * 1e-9
