"""Statistics of matches: rows with a share of wins and its confidence interval,
and their limits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from games.source.duel.matches import FRAMES_A_SECOND, Result

Row = dict[str, Any]

SECONDS = (40, 150)
"""The bounds of a usual length of a match, in seconds."""
KINDS = 3
"""The number of different moves that both sides must land in a varied match."""
ENOUGH = 300
"""The number of different matches that is enough for a verdict, however many more were wanted:
a player that always does the same has fewer to offer."""


def wilson(won: int, played: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the lower and upper bound of the Wilson score interval of a share.

    Args:
        won: The number of matches won.
        played: The number of matches played; with 0, the interval is from 0 to 1.
        z: The quantile of the normal distribution; the default is for a 95 % interval.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
        1927.
    """
    if not played:
        return 0.0, 1.0
    share = won / played
    middle = (share + z * z / (2 * played)) / (1 + z * z / played)
    half = (
        z
        * math.sqrt(share * (1 - share) / played + z * z / (4 * played * played))
        / (1 + z * z / played)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Limit:
    """Bounds for the whole confidence interval of a share; with `most` 0, no match may be won.

    A row with fewer different matches than wanted does not meet its limit, unless it has ENOUGH.
    """

    least: float = 0.0
    most: float = 1.0

    def met(self, row: Row) -> bool:
        """Return True if a row meets the limit."""
        if row["n"] < min(row["wanted"], ENOUGH):
            return False
        if self.most == 0:
            return bool(row["won"] == 0)
        return bool(row["low"] >= self.least and row["high"] <= self.most)

    def __str__(self) -> str:
        if self.least and self.most < 1:
            return f"{self.least:.0%} to {self.most:.0%}"
        if self.least:
            return f"at least {self.least:.0%}"
        if self.most == 0:
            return "none"
        return f"at most {self.most:.0%}"


def outcome_of(row: Row, limit: Limit | None) -> dict[str, Any]:
    """Return `limit`, the text of a limit, and `met`; without a limit these are "" and None."""
    if limit is None:
        return {"limit": "", "met": None}
    return {"limit": str(limit), "met": limit.met(row)}


def different(results: Iterable[Result]) -> list[Result]:
    """Return one result for each trajectory: the last, at the position of the first."""
    by_trajectory: dict[str, Result] = {}
    for result in results:
        by_trajectory[result.trajectory] = result
    return list(by_trajectory.values())


def row_of(what: str, results: Iterable[Result], wanted: int = 0) -> Row:
    """Return a row of the table.

    Args:
        what: The name of the row.
        results: The results of all matches played, at least one.
        wanted: The number of different matches that count, from the first on; 0 for all.
    """
    every = list(results)
    distinct = different(every)
    counted = distinct[: wanted or None]

    # sums over the matches that count
    total: Counter[str] = Counter()
    damage: Counter[str] = Counter()
    seconds: list[float] = []
    kinds: tuple[list[int], list[int]] = ([], [])
    for result in counted:
        duration = result.frames / FRAMES_A_SECOND
        seconds.append(duration)
        total["won"] += result.won
        total["drawn"] += result.drawn
        total["long_enough"] += duration >= SECONDS[0]
        total["short_enough"] += duration <= SECONDS[1]
        total["timed_out"] += result.time_outs > 0
        total["rounds"] += result.rounds
        total["rounds_timed_out"] += result.time_outs
        total["varied"] += min(result.kinds) >= KINDS
        damage += Counter(result.damage)
        for side in (0, 1):
            kinds[side].append(result.kinds[side])

    # the cost of all matches that were played
    frames = 0
    processor_s = 0.0
    for result in every:
        frames += result.frames
        processor_s += result.seconds

    played, won = len(counted), total["won"]
    low, high = wilson(won, played)
    return {
        "what": what, "n": played, "wanted": wanted, "won": won,
        "share": won / played, "low": low, "high": high,
        "drawn": total["drawn"], "repeated": len(every) - len(distinct),
        "median_s": round(median(seconds), 1),
        "long_enough": total["long_enough"], "short_enough": total["short_enough"],
        "timed_out": total["timed_out"],
        "rounds": total["rounds"], "rounds_timed_out": total["rounds_timed_out"],
        "varied": total["varied"],
        "damage": dict(damage),
        "kinds": [median(kinds[0]), median(kinds[1])],
        "frames": frames,
        "processor_s": round(processor_s, 2),
    }  # fmt: skip
