"""Held-out matches of the best players that a search has found, natively and on the ROM,
and their limits.
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
from games.source.duel.search.evolution import TURTLE_DEALS, Candidate, dealt_a_round, strength
from games.source.duel.search.genomes import TURTLE, kind_of

BEST = 10
"""The number of players of each class that play the held-out matches."""
SPARE = 20
"""There is one spare match for this many, because some may be repetitions."""
WITHOUT_LIMITS = 0.3
"""The factor of the number of held-out matches at levels that have no limits."""
ON_ROM = 30
"""The number of matches of the best player that are played on the ROM as well."""
MOST_OF_LOOPS = {4: 0.2, 6: 0.1, 8: 0.05, 10: 0.05}
MOST_OF_TABLES = {4: 0.7, 6: 0.45, 8: 0.35, 10: 0.25}
"""At level 4, 15 points below the least share of the scripted teacher (`OF_THE_TEACHER` in
calibrate.py)."""
MOST = {
    "blind loop": MOST_OF_LOOPS,
    "side loop": MOST_OF_LOOPS,
    "one threshold": {4: 0.35, 6: 0.2, 8: 0.15, 10: 0.1},
    "two thresholds": MOST_OF_TABLES,
    "table": MOST_OF_TABLES,
    TURTLE: {4: 0.1, 6: 0.05, 8: 0.05, 10: 0.05},
}
"""The greatest share of matches that the best player of a class may win at a level."""
LIMITED = tuple(MOST[TURTLE])
"""The levels that have limits."""
LIMITED_FROM = {"one threshold": 12, "two thresholds": 12, "table": 12}
"""The least delay in frames of players that have a limit; 0 for the other classes."""


class Run(Protocol):
    """The worker processes, and the finished rows: see calibrate.py."""

    rows: dict[str, Row]

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of `play` in the order of the items."""
        ...

    def keep(self, key: str, row: Row) -> Row:
        """Save a row under a key, and return it."""
        ...


# ---- rows ----


def counted(results: Results) -> list[Result]:
    """Return native results in the form that the calibration counts."""
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
    )


def row_of_player(what: str, player: Player, results: Results, wanted: int = 0) -> Row:
    """Return a row of the calibration, with the player and its damage per round."""
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
    """The score in other matches than those of the search."""
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
        """Return a selected player as a finalist, whose score is its strength."""
        return cls(candidate.player, strength(candidate.results), dealt_a_round(candidate.results))

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Finalist:
        """Return the player that was written by `as_json`."""
        return cls(Player.from_json(kept["player"]), kept["score"], kept["dealt_a_round"])


@dataclass(frozen=True)
class Final:
    """The ten best players of a class and delay at a level, and their held-out matches."""

    player_class: str
    late: int
    level: int
    players: tuple[Player, ...]
    matches: int
    seeds: str
    """The text from which the seeds are derived, together with class, delay and level."""

    @property
    def what(self) -> str:
        """The name of the row."""
        return f"{self.player_class}, {self.late} late, at {self.level}"

    def fresh(self) -> list[Setting]:
        """Return the held-out matches, with a few spare ones in place of repetitions."""
        spare = self.matches // SPARE
        drawn = settings(f"{self.seeds} {self.player_class} {self.late}", self.level)
        return list(islice(drawn, self.matches + spare))


class Recorded:
    """A player that replays a pad, given as bits for each frame."""

    sees = False

    def __init__(self, pads: Sequence[int]) -> None:
        self.pads = pads

    def reset(self, seed: int) -> None:
        self.coming = iter(self.pads)

    def pad(self, variables: fighters.Variables) -> fighters.Pad:
        held = next(self.coming, 0)
        return tuple(name for name, bit in BITS.items() if bit & held)


def plays_alike(player: Player, match: Setting) -> bool:
    """Play a match natively, replay the pad on the ROM,
    and return True if the results are equal.
    """
    pads, result = record(player, match)
    (here,) = counted(np.array([result]))
    return goes_alike(match, Recorded(pads), here)


def play_final(final: Final) -> Row:
    """Play the held-out matches with each of the players.

    Returns:
        The row of the best, by upper bound, with the rows of all in `all`. `on_rom` has the number
        of matches that are equal on the ROM, and the number of those compared.
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
"""A level, a delay in frames, and a class of players."""
Groups = dict[Group, list[Finalist]]
"""The finalists of each level, delay and class."""


def add_finalists(groups: Groups, level: int, finalists: Iterable[Finalist]) -> None:
    """Add players found at a level to the groups of their own classes,
    whatever space they were found in.

    A player that deals no more damage than a turtle also joins the group of the turtles.
    """
    for finalist in finalists:
        player = finalist.player
        groups.setdefault((level, player.late, kind_of(player)), []).append(finalist)
        if finalist.dealt_a_round <= TURTLE_DEALS:
            groups.setdefault((level, player.late, TURTLE), []).append(finalist)


def ten_best(finalists: Iterable[Finalist]) -> tuple[Player, ...]:
    """Return the different players with the best scores, the best first, at most BEST."""
    ranked = sorted(finalists, key=lambda finalist: finalist.score, reverse=True)
    distinct = dict.fromkeys([finalist.player for finalist in ranked])
    return tuple(distinct)[:BEST]


def finals(found: Mapping[Group, Sequence[Finalist]], matches: int, seeds: str) -> Iterator[Final]:
    """Yield the final of each group.

    Args:
        found: The finalists of each group.
        matches: The number of held-out matches at levels that have limits.
        seeds: The text from which the seeds of these matches are derived.
    """
    for (level, late, player_class), finalists in found.items():
        played = matches if level in LIMITED else round(WITHOUT_LIMITS * matches)
        yield Final(player_class, late, level, ten_best(finalists), played, seeds)


def limit_of(player_class: str, late: int, level: int) -> Limit | None:
    """Return the limit of a class with a delay at a level, or None if it has none."""
    most = MOST.get(player_class, {}).get(level)
    if most is None or late < LIMITED_FROM.get(player_class, 0):
        return None
    return Limit(most=most)


# ---- the table ----


def table_of_finals(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of the finals' rows, in Markdown."""
    lines = [
        "| the best of ten | holds | n | won | 95 % | limit | met | damage a round | on the ROM |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "all" not in row:
            continue
        verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
        interval = row["player"]["interval"]
        holds = f"an action every {interval}" if interval else "a pad"
        same, compared = row["on_rom"]
        lines.append(
            f"| {row['what']} | {holds} | {row['n']} | {row['won']} | "
            f"{row['low']:.3f}–{row['high']:.3f} "
            f"| {row['limit']} | {verdict} | {row['dealt_a_round']:g} | "
            f"{same} of {compared} equal |"
        )
    return lines
