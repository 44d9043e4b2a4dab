"""Histograms of durations: ticks at a resolution of 1 %, background calls in half octaves."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

_FINE = 7
"""Bits kept of a duration: buckets are 1/128 of an octave wide."""
_TOGETHER = 512
"""Number of durations sorted in a batch: enough to be cheap per tick, few enough not to delay the
tick that sorts them."""


class LatencyHistogram:
    """Durations of ticks in seconds, at a resolution of 1 %.

    Sorted in batches: `add` is called on every tick.
    """

    def __init__(self) -> None:
        self._new: list[float] = []
        self._counts = np.zeros(64 << _FINE, np.int64)
        self._longest = 0.0

    def add(self, seconds: float) -> None:
        """Add the duration of one tick."""
        new = self._new
        new.append(seconds)
        if len(new) == _TOGETHER:
            self._sort()

    def merge(self, other: LatencyHistogram) -> None:
        """Add every duration of another histogram."""
        self._counts = self._sort() + other._sort()
        self._longest = max(self._longest, other._longest)

    @property
    def count(self) -> int:
        """The number of durations."""
        return int(self._counts.sum()) + len(self._new)

    @property
    def longest(self) -> float:
        """The longest duration in seconds."""
        return max(self._longest, *self._new, 0.0)

    def quantile(self, fraction: float) -> float | None:
        """Return the quantile `fraction` (0 to 1) in seconds; None before the first tick."""
        remaining = fraction * self.count
        for bucket, count in enumerate(self._sort().tolist()):
            remaining -= count
            if count and remaining <= 0:
                return min(_middle(bucket), self.longest)
        return None

    def _sort(self) -> np.ndarray:
        """Return the buckets, after sorting in the durations that wait."""
        self._longest = self.longest
        nanoseconds = (np.array(self._new) * 1e9).astype(np.int64)
        shift = np.maximum(np.frexp(nanoseconds)[1] - _FINE - 1, 0)
        np.add.at(self._counts, (shift << _FINE) + (nanoseconds >> shift), 1)
        self._new.clear()
        return self._counts


class OctaveHistogram:
    """Durations of background calls, in half octaves from a microsecond on.

    One thread may add while another one counts.
    """

    def __init__(self) -> None:
        self._counts = [0] * 64

    def add(self, seconds: float) -> None:
        """Add the duration of one call."""
        self._counts[min(int(2 * log2(max(seconds * 1e6, 1.0))), 63)] += 1

    def counts(self) -> tuple[int, ...]:
        """Return the number of calls in each bucket."""
        return tuple(self._counts)


def buckets(counts: Sequence[int]) -> list[tuple[float, int]]:
    """Return the buckets of `OctaveHistogram.counts` as pairs: the upper bound in milliseconds,
    and the number of calls.

    From the first bucket that is not empty to the last.
    """
    filled = [step for step, count in enumerate(counts) if count]
    if not filled:
        return []
    return [
        (float(f"{2 ** ((step + 1) / 2) / 1e3:.4g}"), counts[step])
        for step in range(filled[0], filled[-1] + 1)
    ]


def upper_quantile(counts: Sequence[int], fraction: float) -> float | None:
    """Return the milliseconds within which a share of the calls was done, as the upper bound of a
    bucket; None if there was no call.

    Args:
        counts: The result of `OctaveHistogram.counts`.
        fraction: The share, 0 to 1.
    """
    remaining = fraction * sum(counts)
    for milliseconds, count in buckets(counts):
        remaining -= count
        if remaining <= 0:
            return milliseconds
    return None


def _middle(bucket: int) -> float:
    if bucket < 2 << _FINE:
        return bucket * 1e-9
    mantissa = (bucket & ((1 << _FINE) - 1)) | (1 << _FINE)
    return (mantissa + 0.5) * 2.0 ** ((bucket >> _FINE) - 1) * 1e-9
