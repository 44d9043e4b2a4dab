"""The two numbers that wins are judged by."""

from __future__ import annotations

from math import comb, sqrt
from typing import Final

_Z: Final = 1.959963984540054
"""The standard normal distribution has 95 % between -z and z."""


def wilson(won: int, played: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of `won` in `played`: lower and upper bound, 0 to 1; all of that if none was played.

    It is every p for which |won / played - p| <= z * sqrt(p * (1 - p) / played).
    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    if not played:
        return 0.0, 1.0
    share, square = won / played, _Z * _Z
    middle = share + square / (2 * played)
    half = _Z * sqrt(share * (1 - share) / played + square / (4 * played * played))
    whole = 1 + square / played
    # at the ends the bound is exact, and rounding should not move it
    low, high = (middle - half) / whole, (middle + half) / whole
    if won == 0:
        low = 0.0
    if won == played:
        high = 1.0
    return low, high


def sign_test(better: int, worse: int) -> float:
    """The two-sided exact sign test: how likely a split at least as uneven is if both sides are equally good, 0 to 1.

    `better` and `worse` count the pairs that differ; pairs that do not say nothing. With none of them it is 1.
    """
    total = better + worse
    tail = sum(comb(total, count) for count in range(min(better, worse) + 1))
    if total:
        return min(1.0, tail / (1 << total - 1))
    return 1.0
