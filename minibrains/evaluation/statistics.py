"""The statistics that players are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import fmean
from typing import Final

_Z: Final = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

_RESAMPLES: Final = 2000
"""The number of samples that a bootstrap draws."""


def wilson(won: float, played: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval for a share of wins.

    It contains each p for which |won / played - p| <= z * sqrt(p * (1 - p) / played).

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22 (1927), 209-212.

    Args:
        won: The number of wins; a fraction counts as a part of one.
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


def mean_interval(values: Sequence[float], most: float | None) -> tuple[float, float]:
    """Return a 95 % confidence interval for the mean of values from 0 on.

    If they have an upper bound, it is Wilson's, for the share of that bound: values in between vary
    less than those that are only nothing or all with the same mean, so it is too wide rather than
    too narrow. Otherwise it is that of the percentile bootstrap, which is too narrow for less than
    about twenty values, and a point if they are all equal.

    Source: B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7
    (1979), 1-26.

    Args:
        values: The values.
        most: The largest that there can be; None if there is no such bound.

    Returns:
        The lower and the upper bound.

    Raises:
        ValueError: There are no values.

    Example:
        >>> low, high = mean_interval([0, 0, 0, 0], most=6)
        >>> round(low, 3), round(high, 3)
        (0.0, 2.939)
    """
    import numpy as np

    if not values:
        raise ValueError("there are no values; expected at least one")
    if most is not None:
        low, high = wilson(fmean(values) / most * len(values), len(values))
        return low * most, high * most
    drawn = np.random.default_rng(0).choice(values, (_RESAMPLES, len(values)))
    low, high = np.percentile(drawn.mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


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
    return min(1.0, 2 * one_sided_sign_test(min(better, worse), max(better, worse)))


def one_sided_sign_test(better: int, worse: int) -> float:
    """Return the p-value of the one-sided exact sign test:
    the probability, between equals, that the first player is better in so few pairs, or fewer.

    Args:
        better: The number of pairs that only the first player won.
        worse: The number of pairs that only the second player won.

    Returns:
        The p-value, 0 to 1; small if the first player is worse.

    Example:
        >>> one_sided_sign_test(1, 3)
        0.3125
    """
    total = better + worse
    tail = sum(comb(total, count) for count in range(better + 1))
    return tail / (1 << total)


def paired_difference(both: int, better: int, worse: int, neither: int) -> tuple[float, float]:
    """Return a 95 % confidence interval for the difference of two shares of wins in pairs of games.

    Source: R. G. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17 (1998), 2635-2650, method 10.

    Args:
        both: The number of pairs that both players won.
        better: The number of pairs that only the first player won.
        worse: The number of pairs that only the second player won.
        neither: The number of pairs that neither won.

    Returns:
        The lower and the upper bound of the first player's share minus that of the second, within
        -1 and 1; (-1, 1) if there are no pairs.

    Example:
        >>> low, high = paired_difference(36, 12, 2, 0)
        >>> round(low, 4), round(high, 4)
        (0.0569, 0.3404)
    """
    pairs = both + better + worse + neither
    if not pairs:
        return -1.0, 1.0
    first, second = both + better, both + worse
    low, high = wilson(first, pairs)
    their_low, their_high = wilson(second, pairs)
    below, above = first / pairs - low, high - first / pairs
    their_below, their_above = second / pairs - their_low, their_high - second / pairs

    # how closely wins go together, after a correction for continuity
    spread = first * (pairs - first) * second * (pairs - second)
    together: float = both * neither - better * worse
    if together > 0:
        together = max(together - pairs / 2, 0)
    correlation = 0.0
    if spread:
        correlation = together / sqrt(spread)

    difference = (better - worse) / pairs
    down = below**2 - 2 * correlation * below * their_above + their_above**2
    up = above**2 - 2 * correlation * above * their_below + their_below**2
    return difference - sqrt(max(down, 0.0)), difference + sqrt(max(up, 0.0))
