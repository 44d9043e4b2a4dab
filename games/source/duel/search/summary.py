"""The table of the best simple players by class and level, as the game's README has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from games.source.duel.counting import Row
from games.source.duel.search.finals import LIMITED
from games.source.duel.search.genomes import TURTLE

FINAL: Final = re.compile(r"(?P<kind>[a-z ]+), (?P<late>\d+) late, at (?P<level>\d+)")
"""The names of the rows of finals."""
LATE: Final = 12
"""The least delay in frames that counts as late."""
MANY_DRAWN: Final = 0.02
"""The share of draws from which they are shown."""


@dataclass(frozen=True)
class Line:
    """A line of the table: some classes, with a range of delays."""

    name: str
    kinds: tuple[str, ...]
    delays: range

    def best_at(self, level: int, rows: Iterable[Row]) -> Row | None:
        """Return the row with the greatest upper bound, or None if there is no row."""
        mine: list[Row] = []
        for row in rows:
            final = FINAL.fullmatch(row["what"])
            if final is None or "all" not in row or int(final["level"]) != level:
                continue
            if final["kind"] in self.kinds and int(final["late"]) in self.delays:
                mine.append(row)
        return max(mine, key=lambda row: float(row["high"]), default=None)


ANY, SOON, LATER = range(1000), range(LATE), range(LATE, 1000)
LINES: Final = (
    Line("a blind loop", ("blind loop",), ANY),
    Line("a loop that knows the side", ("side loop",), ANY),
    Line(f"one threshold, {LATE} frames late or more", ("one threshold",), LATER),
    Line(f"two thresholds or a table, {LATE} late or more", ("two thresholds", "table"), LATER),
    Line("one threshold, sooner", ("one threshold",), SOON),
    Line("two thresholds or a table, sooner", ("two thresholds", "table"), SOON),
    Line("a turtle", (TURTLE,), ANY),
)


def table_of_classes(rows: Sequence[Row]) -> list[str]:
    """Return the lines of two tables in Markdown: the best of each class at the levels that have
    limits, and at the others.
    """
    levels: set[int] = set()
    for row in rows:
        final = FINAL.fullmatch(row["what"])
        if final is not None and "all" in row:
            levels.add(int(final["level"]))
    lines: list[str] = []
    for part in (sorted(levels & set(LIMITED)), sorted(levels - set(LIMITED))):
        if part:
            lines += ["", *_table(part, rows)]
    return lines[1:]


def _table(levels: Sequence[int], rows: Sequence[Row]) -> list[str]:
    names = " | ".join(map(str, levels))
    lines = [f"| the best of ten at level | {names} |", "|---" * (len(levels) + 1) + "|"]
    for line in LINES:
        cells = " | ".join(_cell(line.best_at(level, rows)) for level in levels)
        lines.append(f"| {line.name} | {cells} |")
    return lines


def _cell(row: Row | None) -> str:
    if row is None:
        return "none found"
    share, low, high = (100 * float(value) for value in (row["share"], row["low"], row["high"]))
    drawn = ""
    if row["drawn"] > MANY_DRAWN * row["n"]:
        drawn = f", {row['drawn'] / row['n']:.0%} drawn"
    return f"{share:.1f} % ({low:.1f} to {high:.1f}){drawn}"
