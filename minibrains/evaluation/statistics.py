"""The two statistics that players are compared by."""

from __future__ import annotations

from math import comb, sqrt
from typing import Final

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""


def wilson(won: int, played: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval for a share of wins.

    It contains each p for which |won / played - p| <= z * sqrt(p * (1 - p) / played).

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22 (1927), 209-212.

    Args:
        won: The number of wins.
        played: The number of games.

    Returns:
        The lower and the upper bound, (0, 1) if no game was played.

    Example:
        >>> low, high = wilson(60, 100)
        >>> round(low, 3), round(high, 3)
        (0.502, 0.691)
    """
    if not played:
        return 0.0, 1.0
    share, square = won / played, _Z * _Z
    middle = share + square / (2 * played)
    half = _Z * sqrt(share * (1 - share) / played + square / (4 * played * played))
    whole = 1 + square / played
    # at 0 and 1 the bound is exact, and rounding must not move it
    low, high = (middle - half) / whole, (middle + half) / whole
    if won == 0:
        low = 0.0
    if won == played:
        high = 1.0
    return low, high


def sign_test(better: int, worse: int) -> float:
    """Return the p-value of the two-sided exact sign test:
    the probability of a split at least as uneven between equals.

    Pairs with the same outcome carry no information, and are left out.

    Args:
        better: The number of pairs that only the first player won.
        worse: The number of pairs that only the second player won.

    Returns:
        The p-value, 0 to 1; 1 if there are no such pairs.

    Example:
        >>> sign_test(3, 1)
        0.625
    """
    total = better + worse
    tail = sum(comb(total, count) for count in range(min(better, worse) + 1))
    if total:
        return min(1.0, tail / (1 << total - 1))
    return 1.0
