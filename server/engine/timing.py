"""How long ticks took: a histogram of fixed size, exact to one per cent."""

from __future__ import annotations

_FINE = 7
"""Bits kept of a duration: buckets are 1/128 of an octave wide."""


class TickTimes:
    """Durations of ticks in seconds. `add` allocates nothing that stays."""

    def __init__(self) -> None:
        self._counts = [0] * (64 << _FINE)
        self.longest = 0.0
        self.count = 0

    def add(self, seconds: float) -> None:
        nanoseconds = int(seconds * 1e9)
        shift = nanoseconds.bit_length() - _FINE - 1
        self._counts[(shift << _FINE) + (nanoseconds >> shift) if shift > 0 else nanoseconds] += 1
        if seconds > self.longest:
            self.longest = seconds
        self.count += 1

    def merge(self, other: TickTimes) -> None:
        """Add all that another one holds: as if every duration had been added here."""
        self._counts = [mine + theirs for mine, theirs in zip(self._counts, other._counts, strict=True)]
        self.longest = max(self.longest, other.longest)
        self.count += other.count

    def quantile(self, fraction: float) -> float | None:
        """Seconds below which `fraction` of the ticks stayed; None before the first tick."""
        left = fraction * self.count
        for bucket, count in enumerate(self._counts):
            left -= count
            if count and left <= 0:
                return min(_middle(bucket), self.longest)
        return None


def _middle(bucket: int) -> float:
    if bucket < 2 << _FINE:
        return bucket * 1e-9
    mantissa = (bucket & ((1 << _FINE) - 1)) | (1 << _FINE)
    return (mantissa + 0.5) * 2.0 ** ((bucket >> _FINE) - 1) * 1e-9
