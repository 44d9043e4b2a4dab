"""Tune the opponent's tactics against the players that beat it:
`python -m games.source.duel.search.tuning --rounds 20`.

Each round searches for new simple players that beat the present table, on some levels, and adds
them to the pool; then it changes the table by policy gradient over the pool and over the opponent
of the level below. A choice is weighed by the health that the opponent gained and lost within two
seconds; a player counts the more, the further it is above the share that it may win. The average
table of a round is kept if it is better. The same seed, pool, table and number of workers give the
same result.

The pool stands in pool.jsonl and the table in tactics.c; both are written after each round.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from games.source.duel import LEVELS
from games.source.duel.matches import Setting
from games.source.duel.native.players import NOBODY, Player, play, won
from games.source.duel.native.tactics import (
    CIRCUMSTANCES,
    TABLE,
    Table,
    as_source,
    read_tactics,
    sample,
    write_tactics,
)
from games.source.duel.search.evolution import TURTLE_DEALS, shuffled_settings
from games.source.duel.search.exploits import INTERVALS, Task, search
from games.source.duel.search.finals import LIMITED_FROM, MOST
from games.source.duel.search.genomes import TURTLE, kind_of

POOL = Path(__file__).resolve().parent / "pool.jsonl"
LEVELS_IN_TURN = (6, 8, 10, 4, 8, 6, 10, 5, 8, 4, 6, 9, 10, 7, 2)
BUDGET = 5000
"""The number of matches of each search for a new player, as exploits.py counts them."""

FULL_WEIGHT, HALF_LIFE, FORGOTTEN = 20, 41.6, 110
"""In frames after a choice: its weight is 1 up to FULL_WEIGHT, then halves every HALF_LIFE, and is
0 from FORGOTTEN on."""
RATE = 0.8
"""Sixteenths of a doubling by which a logarithm changes for each point of advantage."""
MOST_CHANGE = 12.0
"""The greatest change of a logarithm in one step."""
DOUBT = 8.0
"""The number of neutral choices that a deed's advantage is averaged with."""
SHRINKING = {"ALWAYS": 0.01, "else": 0.016}
"""The part of its distance from indifference that a logarithm loses at each step. A deed that is
nearly as good as the best is then chosen nearly as often: a mixed strategy is hard to exploit, and
can still adapt to what a match teaches."""
LEAST, GREATEST = -48, 48
"""Bounds of the logarithms under ALWAYS, in sixteenths; the greatest of a situation is GREATEST."""
MOST_ADDED = 60
PLAYERS_A_STEP, MATCHES_A_STEP = 96, 4
STEPS, SKIPPED_STEPS = 240, 60
CHECKED_MATCHES = 24
REMEMBERED = 0.3
"""The part of the pool that a search begins with."""
MOST_IN_POOL = 500
AIM = 0.6
"""The part of its limit that a player should win at most: others of its class will win more."""
UNLIMITED = 0.75
"""The limit of a player that has none, neither at its level nor below."""
RIVALS_LIMIT = 0.42
"""The share that the level below should win at most."""

Logarithms = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Exploiter:
    """A player that has beaten the opponent at a level,
    or the computer opponent of another level.
    """

    level: int
    player: Player
    rival: int = 0
    """The level of that computer opponent; 0 for a player."""
    is_turtle: bool = False
    """True if it deals a turtle's damage."""

    @property
    def limit(self) -> float:
        """The share of matches that it should win at most."""
        if self.rival:
            return RIVALS_LIMIT
        kind = TURTLE if self.is_turtle else kind_of(self.player)
        levels = [level for level in MOST[kind] if level <= self.level]
        limit = UNLIMITED
        if levels:
            limit = MOST[kind][max(levels)]
        if self.player.late < LIMITED_FROM.get(kind, 0):
            limit = (limit + UNLIMITED) / 2
        return AIM * limit

    def matches(self, name: str, count: int) -> list[Setting]:
        """Return some matches, drawn from a name."""
        drawn = islice(shuffled_settings(name, self.level), count)
        return [replace(setting, agent_level=self.rival) for setting in drawn]


RIVALS = [Exploiter(level, NOBODY, level - 1) for level in range(2, LEVELS + 1)]
"""Each level has to win against the one below it."""
DRAWN_RIVALS = 4.0
"""By so much a rival is drawn more readily than a simple player: it is one of few."""


def read_pool() -> list[Exploiter]:
    """Return the players of pool.jsonl."""
    if not POOL.exists():
        return []
    pool: list[Exploiter] = []
    for line in POOL.read_text().splitlines():
        entry = json.loads(line)
        player = Player.from_json(entry["player"])
        pool.append(Exploiter(entry["level"], player, is_turtle=entry["is_turtle"]))
    return pool


def write_pool(pool: Sequence[Exploiter]) -> None:
    """Write pool.jsonl."""
    lines: list[str] = []
    for kept in pool:
        row = {"level": kept.level, "is_turtle": kept.is_turtle, "player": kept.player.as_json()}
        lines.append(f"{json.dumps(row)}\n")
    POOL.write_text("".join(lines))


def weights() -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the weight of each frame after a choice, f32 [FORGOTTEN]."""
    frames = np.arange(FORGOTTEN)
    late = np.maximum(0, frames - FULL_WEIGHT)
    counted: np.ndarray[Any, np.dtype[np.float32]] = np.exp2(-late / HALF_LIFE).astype(np.float32)
    counted[:2] = 0.0
    return counted


# ---- what a process does ----


@dataclass(frozen=True)
class Bout:
    """Some matches of one player of the pool."""

    place: int
    """The position of the player in the pool."""
    exploiter: Exploiter
    name: str
    """The text that the matches are drawn from."""
    count: int


@dataclass(frozen=True)
class Batch:
    """The matches of one process, and the table that the opponent plays by."""

    table: Table
    bouts: Sequence[Bout]


def shares_of(batch: Batch) -> list[float]:
    """Return the share of its matches that each player wins."""
    write_tactics(batch.table)
    shares = []
    for bout in batch.bouts:
        results = play([bout.exploiter.player], bout.exploiter.matches(bout.name, bout.count))
        shares.append(float(won(results).mean()))
    return shares


def advantages_of(batch: Batch) -> tuple[Logarithms, Logarithms, list[float]]:
    """Play, and sum up the outcomes of the opponent's choices.

    Returns:
        For each situation, circumstance and option the health by which it was better than the
        average choice there, summed, and the number of times that it was chosen; and the share of
        its matches that each player wins.
    """
    write_tactics(batch.table)
    shape = batch.table["logarithms"].shape
    sums, counts = np.zeros(shape), np.zeros(shape)
    shares = []
    for bout in batch.bouts:
        matches = bout.exploiter.matches(bout.name, bout.count)
        samples, results = sample(bout.exploiter.player, matches, weights())
        shares.append(float(won(results).mean()))
        situation, option = samples["situation"].astype(int), samples["option"].astype(int)
        advantage = samples["gained"] - means(situation, samples["gained"])
        for circumstance in range(len(CIRCUMSTANCES)):
            is_case = (samples["circumstances"] >> circumstance & 1).astype(bool)
            where = (situation[is_case], circumstance, option[is_case])
            np.add.at(sums, where, advantage[is_case])
            np.add.at(counts, where, 1.0)
    return sums, counts, shares


@dataclass(frozen=True)
class Attack:
    """A search for players that beat the opponent as it is."""

    table: Table
    task: Task
    known: Sequence[Player]


def attacked(attack: Attack) -> list[tuple[str, float, Exploiter]]:
    """Return for the best player of each space its name,
    and the share of its matches that it wins, and the player.
    """
    write_tactics(attack.table)
    level = attack.task.level
    found = []
    for space, row in search(attack.task, attack.known):
        is_turtle = row["dealt_a_round"] <= TURTLE_DEALS
        exploiter = Exploiter(level, Player.from_json(row["player"]), is_turtle=is_turtle)
        found.append((f"{space} at {level}", row["share"], exploiter))
    return found


# ---- the tuner ----


class Tuner:
    """A table, and those that it is tuned against: the rivals first, then the pool."""

    def __init__(
        self, pool: Sequence[Exploiter], rng: Random, processes: Executor, workers: int
    ) -> None:
        """Begin with the table that is compiled in.

        Args:
            pool: The players.
            rng: The source of chance.
            processes: The processes that play.
            workers: The number of processes.
        """
        self.pool = [*RIVALS, *pool]
        self.rng = rng
        self.processes = processes
        self.workers = workers
        self.table = read_tactics()
        self.exact: Logarithms = self.table["logarithms"].astype(float)
        """The table's logarithms before they are rounded: situation, circumstance, option."""
        self.shares = np.zeros(len(self.pool))
        """The share of its matches that each player of the pool has won lately."""

    def batches(self, bouts: Sequence[Bout]) -> list[Batch]:
        """Divide the bouts among the processes."""
        batches: list[Batch] = []
        for first in range(self.workers):
            batches.append(Batch(self.table, bouts[first :: self.workers]))
        return batches

    # ---- how good it is ----

    def check(self) -> float:
        """Let the whole pool play; return the loss: the excess of the players over their limits,
        and a little of their shares.
        """
        bouts: list[Bout] = []
        for place, player in enumerate(self.pool):
            bouts.append(Bout(place, player, f"check {place}", CHECKED_MATCHES))
        batches = self.batches(bouts)
        for batch, shares in zip(batches, self.processes.map(shares_of, batches), strict=True):
            self.shares[[bout.place for bout in batch.bouts]] = shares
        over = np.maximum(0.0, self.shares - self.limits())
        return float((over + 2 * over**2 + 0.1 * self.shares).sum())

    def limits(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the limits of all players, f64 [players]."""
        return np.array([exploiter.limit for exploiter in self.pool])

    # ---- making it better ----

    def drawn_players(self) -> list[int]:
        """Draw the positions of PLAYERS_A_STEP players of the pool,
        those that win much the most often.
        """
        readiness = 0.012 + np.maximum(0.0, self.shares - 0.8 * self.limits())
        readiness[: len(RIVALS)] *= DRAWN_RIVALS
        return self.rng.choices(range(len(self.pool)), weights=list(readiness), k=PLAYERS_A_STEP)

    def step(self) -> None:
        """Let some players play, and change the table by the outcomes of the choices."""
        sums = np.zeros(self.exact.shape)
        counts = np.zeros(self.exact.shape)
        bouts: list[Bout] = []
        for place in self.drawn_players():
            bouts.append(Bout(place, self.pool[place], f"{self.rng.random()}", MATCHES_A_STEP))
        batches = self.batches(bouts)
        for batch, (summed, counted, shares) in zip(
            batches, self.processes.map(advantages_of, batches), strict=True
        ):
            sums += summed
            counts += counted
            for bout, share in zip(batch.bouts, shares, strict=True):
                self.shares[bout.place] += 0.25 * (share - self.shares[bout.place])
        self.change(RATE * sums / (counts + DOUBT))

    def change(self, changes: Logarithms) -> None:
        """Add to the logarithms, and draw them all towards indifference."""
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
        """Let the opponent play by these logarithms, which are rounded for its table."""
        self.exact = logarithms
        self.table["logarithms"] = np.rint(logarithms)

    def tune(self) -> tuple[float, float]:
        """Take STEPS steps, and settle on the average of all but the first if it is better.

        Returns:
            The loss, as `check` returns it, of the table as it was, and of the average.
        """
        before, begun = self.exact.copy(), self.check()
        total = np.zeros(self.exact.shape)
        for step in range(STEPS):
            self.step()
            if step >= SKIPPED_STEPS:
                total += self.exact
        self.play_by(total / (STEPS - SKIPPED_STEPS))
        ended = self.check()
        if ended > begun:
            self.play_by(before)
        return begun, ended

    # ---- the pool ----

    def attack_on(self, level: int) -> Attack:
        """Draw a search for players that beat the opponent of a level as it is."""
        task = Task(level, self.rng.choice(INTERVALS), BUDGET, name=f"{self.rng.random()} ")
        known: list[Player] = []
        for exploiter in self.pool:
            if exploiter.level == level and not exploiter.rival and self.rng.random() < REMEMBERED:
                known.append(exploiter.player)
        return Attack(self.table, task, known)

    def search(self, levels: Sequence[int]) -> list[Exploiter]:
        """Search at some levels; return the players that win some matches."""
        attacks = [self.attack_on(level) for level in levels]
        found: list[Exploiter] = []
        for what, share, exploiter in chain.from_iterable(self.processes.map(attacked, attacks)):
            print(f"  {what}: {share:.2f}", flush=True)
            if share > exploiter.limit / 2 and exploiter not in [*self.pool, *found]:
                found.append(exploiter)
        return found

    def extend(self, found: Sequence[Exploiter]) -> None:
        """Add players to the pool, and give up those that win least for their limit
        if it becomes too large.
        """
        excess = self.shares / self.limits()
        excess[: len(RIVALS)] = np.inf
        kept = np.sort(np.argsort(-excess, kind="stable")[: MOST_IN_POOL - len(found)])
        self.pool = [self.pool[place] for place in kept] + list(found)
        self.shares = np.append(self.shares[kept], np.zeros(len(found)))


def means(
    situations: np.ndarray[Any, np.dtype[np.int_]], gained: np.ndarray[Any, np.dtype[np.float32]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return for each choice the average gain of all choices in its situation, f64 [choices]."""
    counts = np.bincount(situations)
    sums = np.bincount(situations, gained)
    averages: np.ndarray[Any, np.dtype[np.float64]] = (sums / np.maximum(1, counts))[situations]
    return averages


def source_of(table: Table) -> str:
    """Return tactics.c with this table."""
    return as_source(
        table,
        "Made by `python -m games.source.duel.search.tuning`, which goes on from what stands here.",
    )


def main() -> None:
    """Tune, and write after each round."""
    parser = argparse.ArgumentParser(
        description="Tune the opponent's tactics, a few minutes a round."
    )
    parser.add_argument("--rounds", type=int, default=8, help="searches and tunings (default: 8)")
    parser.add_argument(
        "--seed", type=int, default=1, help="another seed searches and tunes otherwise (default: 1)"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2,
        help="processes; more of them search more levels a round (default: 2)",
    )
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as processes:
        tuner = Tuner(read_pool(), Random(options.seed), processes, options.workers)
        levels = cycle(LEVELS_IN_TURN)
        for number in range(options.rounds):
            begin = time.monotonic()
            tuner.check()  # who wins least for its limit leaves the pool
            tuner.extend(tuner.search(list(islice(levels, options.workers))))
            begun, ended = tuner.tune()
            write_pool(tuner.pool[len(RIVALS) :])
            TABLE.write_text(source_of(tuner.table))
            seconds = time.monotonic() - begin
            print(
                (
                    f"round {number}: {len(tuner.pool)} players, {begun:.2f} -> {ended:.2f}, "
                    f"{seconds:.0f} s"
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
