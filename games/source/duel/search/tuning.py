"""Tune the opponent's tactics against the players that beat it: `python -m games.source.duel.search.tuning --rounds 20`.

Each round searches for new simple players that beat the present table, on one level, and adds them to the pool; then it
changes the table by policy gradient over the whole pool. What was chosen is weighed by the health that the opponent gained
and lost within two seconds; a player counts the more, the further it is above what it may win. The best table of a
round is kept. The same seed, pool and table give the same result.

The pool stands in pool.jsonl and the table in tactics.c; both are written after each round.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from games.source.duel.native.players import Player, play, won
from games.source.duel.native.tactics import CIRCUMSTANCES, TABLE, Table, as_source, read_tactics, sample, write_tactics
from games.source.duel.search.evolution import CHECKS, SELECTION, Evolution, shuffled_settings
from games.source.duel.search.exploits import INTERVALS, LATENESS
from games.source.duel.search.finals import MOST
from games.source.duel.search.genomes import Space, kind_of

POOL = Path(__file__).resolve().parent / "pool.jsonl"
LEVELS_IN_TURN = (4, 8, 6, 10, 4, 6, 8, 10)
KINDS = ("blind loop", "side loop", "one threshold", "two thresholds", "table")
BUDGET = 3000
"""Matches of each search for a new player."""

FULL_WEIGHT, HALF_LIFE, FORGOTTEN = 20, 41.6, 110
"""Frames after a choice: up to this all counts in full, in so many it then counts half as much, after this it does not count."""
RATE = 2.0
"""Sixteenths of a doubling by which a logarithm changes for each point of advantage."""
MOST_CHANGE = 12.0
"""At one go."""
DOUBT = 8.0
"""Choices that a deed's advantage is mixed with, none of them better or worse than the others."""
SHRINKING = {"ALWAYS": 0.008, "else": 0.012}
"""Part of its distance from indifference that a logarithm loses at each step, so that some of everything is tried."""
LEAST, GREATEST = -48, 48
"""Of what stands under ALWAYS, in sixteenths; the greatest of a situation is GREATEST."""
MOST_ADDED = 60
PLAYERS_A_STEP, MATCHES_A_STEP = 96, 4
STEPS, CHECKED_EVERY = 120, 40
CHECKED_MATCHES = 24
AIM = 0.6
"""The part of its limit that a player should win at most: others of its class will win more."""

Logarithms = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Exploiter:
    """A player that has beaten the opponent at a level."""

    level: int
    player: Player

    @property
    def limit(self) -> float:
        """The share of matches that it should win at most."""
        kind = kind_of(self.player)
        limits = MOST["blind loop" if kind == "side loop" else kind]
        # a level without a limit of its own has that of the level below, less strict
        return AIM * limits.get(self.level, 0.75)


def read_pool() -> list[Exploiter]:
    """Return the players of pool.jsonl."""
    if not POOL.exists():
        return []
    kept = map(json.loads, POOL.read_text().splitlines())
    return [Exploiter(entry["level"], Player.from_json(entry["player"])) for entry in kept]


def write_pool(pool: Sequence[Exploiter]) -> None:
    """Write pool.jsonl."""
    lines = [json.dumps({"level": exploiter.level, "player": exploiter.player.as_json()}) for exploiter in pool]
    POOL.write_text("".join(f"{line}\n" for line in lines))


def weights() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return for each frame after a choice how much what happens on it counts."""
    frames = np.arange(FORGOTTEN)
    late = np.maximum(0, frames - FULL_WEIGHT)
    counted: np.ndarray[Any, np.dtype[np.float32]] = np.exp2(-late / HALF_LIFE).astype(np.float32)
    counted[:2] = 0.0
    return counted


class Tuner:
    """A table, and the pool that it is tuned against."""

    def __init__(self, pool: Sequence[Exploiter], rng: Random) -> None:
        """Begin with the table that is compiled in.

        Args:
            pool: Who plays.
            rng: Where chance comes from.
        """
        self.pool = list(pool)
        self.rng = rng
        self.table = read_tactics()
        self.exact: Logarithms = self.table["logarithms"].astype(float)
        """The table's logarithms before they are rounded: situation, circumstance, option."""
        self.shares = np.zeros(len(self.pool))
        """The part of its matches that each player of the pool has won lately."""
        self.weights = weights()

    # ---- how good it is ----

    def check(self) -> float:
        """Let the whole pool play; return what is to be made small: by how much the players are above their limits."""
        for place, exploiter in enumerate(self.pool):
            matches = list(islice(shuffled_settings(f"check {place}", exploiter.level), CHECKED_MATCHES))
            self.shares[place] = won(play([exploiter.player], matches)).mean()
        over = np.maximum(0.0, self.shares - self.limits())
        return float((over + 2 * over**2 + 0.1 * self.shares).sum())

    def limits(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return each player's limit."""
        return np.array([exploiter.limit for exploiter in self.pool])

    # ---- making it better ----

    def drawn_players(self) -> list[int]:
        """Draw players of the pool, the more readily the more they win."""
        over = np.maximum(0.0, self.shares - 0.8 * self.limits())
        return self.rng.choices(range(len(self.pool)), weights=list(0.012 + over), k=PLAYERS_A_STEP)

    def step(self) -> None:
        """Let some players play, and change the table by what came of each choice."""
        sums = np.zeros(self.exact.shape)
        counts = np.zeros(self.exact.shape)
        for place in self.drawn_players():
            exploiter = self.pool[place]
            matches = list(islice(shuffled_settings(f"{self.rng.random()}", exploiter.level), MATCHES_A_STEP))
            samples, results = sample(exploiter.player, matches, self.weights)
            self.shares[place] += 0.25 * (won(results).mean() - self.shares[place])
            situation, option = samples["situation"].astype(int), samples["option"].astype(int)
            advantage = samples["gained"] - means(situation, samples["gained"])
            for circumstance in range(len(CIRCUMSTANCES)):
                is_case = (samples["circumstances"] >> circumstance & 1).astype(bool)
                where = (situation[is_case], circumstance, option[is_case])
                np.add.at(sums, where, advantage[is_case])
                np.add.at(counts, where, 1.0)
        self.change(RATE * sums / (counts + DOUBT))

    def change(self, changes: Logarithms) -> None:
        """Add to the logarithms, draw them all towards indifference, and let the opponent play by them."""
        self.exact += np.clip(changes, -MOST_CHANGE, MOST_CHANGE)
        for situation, options in enumerate(self.table):
            count = int(options["count"])
            logarithms = self.exact[situation, :, :count]
            logarithms[0] -= SHRINKING["ALWAYS"] * (logarithms[0] - logarithms[0].mean())
            logarithms[0] += GREATEST - logarithms[0].max()
            np.clip(logarithms[0], LEAST, GREATEST, out=logarithms[0])
            logarithms[1:] *= 1 - SHRINKING["else"]
            np.clip(logarithms[1:], -MOST_ADDED, MOST_ADDED, out=logarithms[1:])
            self.exact[situation, :, count:] = 0
        self.play_by(self.exact)

    def play_by(self, logarithms: Logarithms) -> None:
        """Let the opponent play by these."""
        self.exact = logarithms
        self.table["logarithms"] = np.rint(logarithms)
        write_tactics(self.table)

    def tune(self) -> tuple[float, float]:
        """Take STEPS steps, and go back to the best table on the way. Return how good it was and is."""
        best, begun = self.exact.copy(), self.check()
        least = begun
        for step in range(1, STEPS + 1):
            self.step()
            if step % CHECKED_EVERY == 0 and (now := self.check()) < least:
                best, least = self.exact.copy(), now
        self.play_by(best)
        return begun, least

    # ---- the pool ----

    def search(self, level: int) -> list[Exploiter]:
        """Search for players that beat the opponent as it is, one of each kind; return those that win some matches."""
        found = []
        for kind in KINDS:
            late = self.rng.choice(LATENESS) if kind not in ("blind loop", "side loop") else 0
            space = Space(kind, late, self.rng.choice(INTERVALS))
            course = list(islice(shuffled_settings(f"course {self.rng.random()}", level), max(*CHECKS, SELECTION)))
            evolution = Evolution(space, course, Random(self.rng.random()))
            evolution.run(BUDGET)
            other_course = list(islice(shuffled_settings(f"other {self.rng.random()}", level), SELECTION))
            best = evolution.selected(other_course, 1)[0]
            share = won(best.results).mean()
            print(f"  {space} at {level}: {share:.2f}", flush=True)
            exploiter = Exploiter(level, best.player)
            if share > exploiter.limit / 2:
                found.append(exploiter)
        return found

    def extend(self, found: Sequence[Exploiter]) -> None:
        """Add players to the pool."""
        self.pool += found
        self.shares = np.append(self.shares, np.zeros(len(found)))


def means(
    situations: np.ndarray[Any, np.dtype[np.int_]], gained: np.ndarray[Any, np.dtype[np.float32]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return for each choice what choices in its situation gained on average."""
    counts = np.bincount(situations)
    sums = np.bincount(situations, gained)
    averages: np.ndarray[Any, np.dtype[np.float64]] = (sums / np.maximum(1, counts))[situations]
    return averages


def source_of(table: Table) -> str:
    """Return tactics.c with this table."""
    return as_source(table, "Made by `python -m games.source.duel.search.tuning`, which goes on from what stands here.")


def main() -> None:
    """Tune, and write after each round."""
    parser = argparse.ArgumentParser(description="Tune the opponent's tactics, a few minutes a round.")
    parser.add_argument("--rounds", type=int, default=8, help="searches and tunings (default: 8, each level in turn)")
    parser.add_argument("--seed", type=int, default=1, help="another seed searches and tunes otherwise (default: 1)")
    options = parser.parse_args()
    rng = Random(options.seed)
    tuner = Tuner(read_pool(), rng)
    for number in range(options.rounds):
        begin = time.monotonic()
        tuner.extend(tuner.search(LEVELS_IN_TURN[number % len(LEVELS_IN_TURN)]))
        begun, least = tuner.tune()
        write_pool(tuner.pool)
        TABLE.write_text(source_of(tuner.table))
        seconds = time.monotonic() - begin
        print(f"round {number}: {len(tuner.pool)} players, {begun:.2f} -> {least:.2f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
