"""How matches are counted: rows with a share and its bounds, and the limits that they have to keep."""

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
"""Between which a match is neither short nor long."""
KINDS = 3
"""So many kinds of move make a match varied."""


def wilson(won: int, played: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence."""
    if not played:
        return 0.0, 1.0
    share = won / played
    middle = (share + z * z / (2 * played)) / (1 + z * z / played)
    half = z * math.sqrt(share * (1 - share) / played + z * z / (4 * played * played)) / (1 + z * z / played)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Limit:
    """What the whole interval of a share has to lie within. `most` 0: nothing may be won at all.
    It is not met by fewer different matches than were wanted."""

    least: float = 0.0
    most: float = 1.0

    def met(self, row: Row) -> bool:
        if row["n"] < row["wanted"]:
            return False
        if self.most == 0:
            return bool(row["won"] == 0)
        return bool(row["low"] >= self.least and row["high"] <= self.most)

    def __str__(self) -> str:
        if self.least and self.most < 1:
            return f"{self.least:.0%} to {self.most:.0%}"
        return f"at least {self.least:.0%}" if self.least else "none" if self.most == 0 else f"at most {self.most:.0%}"


def different(results: Iterable[Result]) -> list[Result]:
    """Of matches that went alike, one counts."""
    return list({result.trajectory: result for result in results}.values())


def row_of(what: str, results: Iterable[Result], wanted: int = 0) -> Row:
    """A row of the table: of the matches that differ the first that were wanted, or all."""
    every = list(results)
    distinct = different(every)
    counted = distinct[: wanted or None]
    played, won = len(counted), sum(result.won for result in counted)
    low, high = wilson(won, played)
    seconds = [result.frames / FRAMES_A_SECOND for result in counted]
    return {
        "what": what, "n": played, "wanted": wanted, "won": won, "by_clock": sum(result.won_by_clock for result in counted),
        "share": won / played, "low": low, "high": high,
        "drawn": sum(result.drawn for result in counted), "repeated": len(every) - len(distinct),
        "median_s": round(median(seconds), 1),
        "long_enough": sum(s >= SECONDS[0] for s in seconds), "short_enough": sum(s <= SECONDS[1] for s in seconds),
        "timed_out": sum(result.time_outs > 0 for result in counted),
        "rounds": sum(result.rounds for result in counted), "rounds_timed_out": sum(result.time_outs for result in counted),
        "varied": sum(min(result.kinds) >= KINDS for result in counted),
        "damage": dict(sum((Counter(result.damage) for result in counted), Counter())),
        "kinds": [median(result.kinds[side] for result in counted) for side in (0, 1)],
        "frames": sum(result.frames for result in every),
        "processor_s": round(sum(result.seconds for result in every), 2),
    }  # fmt: skip
