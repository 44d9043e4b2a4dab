"""The best players that a search has found: their fresh matches, here and on the ROM,
and the limits that they have to keep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from games.source.duel import fighters
from games.source.duel.counting import Limit, Row, row_of
from games.source.duel.matches import BITS, Result, Setting, goes_alike, settings
from games.source.duel.native.players import Player, Results, play, record, won
from games.source.duel.search.evolution import TURTLE_DEALS, Candidate, dealt_a_round
from games.source.duel.search.genomes import TURTLE

BEST = 10
"""So many of the best of each class play the fresh matches."""
SPARE = 20
"""One more match is played for so many fresh ones, because some may go alike."""
ON_ROM = 30
"""Matches of the very best that are played on the ROM as well."""
MOST_OF_LOOPS = {4: 0.2, 6: 0.1, 8: 0.05, 10: 0.05}
MOST = {
    "blind loop": MOST_OF_LOOPS,
    "side loop": MOST_OF_LOOPS,
    "one threshold": {4: 0.35, 6: 0.2, 8: 0.15, 10: 0.1},
    "two thresholds": {6: 0.45, 8: 0.35, 10: 0.25},
    "table": {6: 0.45, 8: 0.35, 10: 0.25},
    TURTLE: {4: 0.1, 6: 0.05, 8: 0.05, 10: 0.05},
}
"""The share of matches that the best of a class may win at a level."""
LIMITED_FROM = {"one threshold": 12, "two thresholds": 12, "table": 12}
"""The least delay in frames of the players that the limit is for. For classes that are not named
here it is for all."""


class Run(Protocol):
    """The processes that play, and the rows that are kept: see calibrate.py."""

    rows: dict[str, Row]

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of `play` in the order of the items."""
        ...

    def keep(self, key: str, row: Row) -> Row:
        """Remember a row by a key, and return it."""
        ...


# ---- rows ----


def counted(results: Results) -> list[Result]:
    """Return native results as the calibration counts them."""
    return [_counted(result) for result in results]


def _counted(result: Any) -> Result:
    mine, theirs = map(int, result["landed"])
    return Result(
        won=bool(won(result)),
        drawn=bool(result["victories"][0] == result["victories"][1]),
        frames=int(result["frames"]),
        rounds=int(result["rounds"]),
        time_outs=int(result["time_outs"]),
        kinds=(mine.bit_count(), theirs.bit_count()),
        trajectory=str(result["trace"]),
        won_by_clock=bool(won(result) and result["clock_victories"]),
    )


def row_of_player(what: str, player: Player, results: Results, wanted: int = 0) -> Row:
    """Return a row of the calibration, with the player, how it won and what damage it deals."""
    row = row_of(what, counted(results), wanted)
    row["dealt_a_round"] = round(dealt_a_round(results), 1)
    row["player"] = player.as_json()
    return row


# ---- the ten best ----


@dataclass(frozen=True)
class Finalist:
    """A player that a search has found."""

    player: Player
    score: float
    """In matches other than those it was found with."""
    dealt_a_round: float

    def as_json(self) -> dict[str, Any]:
        """Return a dict for `from_json`."""
        return {
            "player": self.player.as_json(),
            "score": self.score,
            "dealt_a_round": self.dealt_a_round,
        }

    @classmethod
    def of(cls, candidate: Candidate) -> Finalist:
        """Return a player that was selected."""
        return cls(candidate.player, candidate.score, dealt_a_round(candidate.results))

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Finalist:
        """Return the player that was written by `as_json`."""
        return cls(Player.from_json(kept["player"]), kept["score"], kept["dealt_a_round"])


@dataclass(frozen=True)
class Final:
    """The ten best of a class that see equally late, and their fresh matches."""

    player_class: str
    late: int
    level: int
    players: tuple[Player, ...]
    matches: int
    seeds: str
    """The text that the seeds of the fresh matches are drawn from, beside the class, delay and
    level."""

    @property
    def what(self) -> str:
        """The name of the row."""
        return f"{self.player_class}, {self.late} late, at {self.level}"

    def fresh(self) -> list[Setting]:
        """Return the matches, with a few more to make up for those that go alike."""
        spare = self.matches // SPARE
        drawn = settings(f"{self.seeds} {self.player_class} {self.late}", self.level)
        return list(islice(drawn, self.matches + spare))


class Recorded:
    """A player that holds again what was held: the bits of a pad for each frame."""

    sees = False

    def __init__(self, pads: Sequence[int]) -> None:
        self.pads = pads

    def reset(self, seed: int) -> None:
        self.coming = iter(self.pads)

    def pad(self, variables: fighters.Variables) -> fighters.Pad:
        held = next(self.coming, 0)
        return tuple(name for name, bit in BITS.items() if bit & held)


def plays_alike(player: Player, match: Setting) -> bool:
    """Let a player play a match here, and hold the same on the ROM.

    Return True if both come to the same.
    """
    pads, result = record(player, match)
    (here,) = counted(np.array([result]))
    return goes_alike(match, Recorded(pads), here)


def play_final(final: Final) -> Row:
    """Let each of the players play the fresh matches.

    Returns:
        The row of the best, with the rows of all in `all`. `on_rom` has two numbers: the matches
        that go on the ROM as here, and those that were compared.
    """
    fresh = final.fresh()
    begin = time.process_time()
    rows: list[Row] = []
    for player, results in zip(final.players, play(final.players, fresh), strict=True):
        rows.append(row_of_player(final.what, player, results, final.matches))
    best = max(rows, key=upper_bound)
    best_player = Player.from_json(best["player"])
    compared = [plays_alike(best_player, match) for match in fresh[:ON_ROM]]
    seconds = round(time.process_time() - begin, 2)
    return {**best, "all": rows, "on_rom": [sum(compared), len(compared)], "processor_s": seconds}


def upper_bound(row: Row) -> float:
    """Return the upper bound of a row's share."""
    return float(row["high"])


Group = tuple[int, int, str]
"""A level, how late the players are, and their class."""


def finals(found: Mapping[Group, Sequence[Finalist]], matches: int, seeds: str) -> Iterator[Final]:
    """Yield the ten best of each group. A player that deals a turtle's damage is a turtle as well.

    Args:
        found: The finalists of each group.
        matches: The number of fresh matches that they play.
        seeds: The text that the seeds of the matches are drawn from.
    """
    turtles: dict[Group, list[Finalist]] = {}
    for (level, late, _), finalists in found.items():
        slow = [finalist for finalist in finalists if finalist.dealt_a_round <= TURTLE_DEALS]
        turtles.setdefault((level, late, TURTLE), []).extend(slow)
    for (level, late, player_class), finalists in {**found, **turtles}.items():
        ranked = sorted(finalists, key=lambda finalist: finalist.score, reverse=True)
        distinct = dict.fromkeys([finalist.player for finalist in ranked])
        players = tuple(distinct)
        if players:
            yield Final(player_class, late, level, players[:BEST], matches, seeds)


def limit_of(player_class: str, late: int, level: int) -> Limit | None:
    """Return the limit of a class at a level, or None if it has none."""
    most = MOST.get(player_class, {}).get(level)
    if most is None or late < LIMITED_FROM.get(player_class, 0):
        return None
    return Limit(most=most)


# ---- the table ----


def table_of_finals(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of the judged rows, without those of the searches."""
    lines = [
        (
            "| the best of ten | holds | n | won | by the clock | 95 % | limit | met | "
            "damage a round | on the ROM |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "all" not in row:
            continue
        verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
        interval = row["player"]["interval"]
        holds = f"an action every {interval}" if interval else "a pad"
        same, compared = row["on_rom"]
        lines.append(
            f"| {row['what']} | {holds} | {row['n']} | {row['won']} | {row['by_clock']} | "
            f"{row['low']:.3f}–{row['high']:.3f} "
            f"| {row['limit']} | {verdict} | {row['dealt_a_round']:g} | "
            f"{same} of {compared} alike |"
        )
    return lines
