"""Tune the opponent against players that beat it:
`python -m games.source.duel.search.tuning --rounds 20`.

Each round searches at some levels for new simple players that beat the present table, and adds them
to a pool, at all levels that have limits. Then it improves the table by policy gradient, in matches
against the pool and, for each level, against the level below; now and then the opponent chooses at
random, so that every option is tried. The return of a choice is the damage dealt minus the damage
taken within two seconds. Players are drawn the more often, the further they are above their limits.
After each burst of steps, the average of its tables replaces the one before if its loss is no
greater. With --fighter, only the adjustments for one fighter are tuned, in matches against it;
with --instant, only those for the levels from 8 on, in matches at these levels. The same seed,
pool, table and number of workers give the same result.

The pool is in pool.jsonl, the table in tactics.c; both are written after each round.

Source: R. J. Williams, Simple statistical gradient-following algorithms for connectionist
reinforcement learning, 1992.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from games.source.duel import LEVELS
from games.source.duel.command_line import positive, start_processes
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
from games.source.duel.search.evolution import (
    TURTLE_DEALS,
    Effort,
    dealt_a_round,
    shuffled_settings,
)
from games.source.duel.search.exploits import best_of, immigrants
from games.source.duel.search.finals import LIMITED, LIMITED_FROM, MOST
from games.source.duel.search.genomes import TURTLE, Space, kind_of
from games.source.duel.search.policy_gradient import fading_weights

POOL = Path(__file__).resolve().parent / "pool.jsonl"
LEVELS_IN_TURN = (6, 8, 10, 4, 5, 6, 8, 10, 4, 7, 6, 8, 10, 4, 9)
EFFORT = Effort(2000, 8_000, learned=8)
"""The effort of each search for new players."""
SEARCHES = 2
"""The number of searches of each process in a round."""
KINDS = (
    "side loop",
    "one threshold",
    "two thresholds",
    TURTLE,
    "table",
    "table",
)
DELAYS = (0, 4, 8, 12, 12, 12)
HOLDING = (0, 0, 0, 0, 6, 30)
"""The spaces that the searches draw from: classes of players, delays, and intervals between
decisions. Those that have beaten the opponent most often are there several times."""

FULL_WEIGHT, HALF_LIFE, FORGOTTEN = 20, 41.6, 110
"""In frames after a choice: the weight is 1 up to FULL_WEIGHT, then halves every HALF_LIFE, and is
0 from FORGOTTEN on."""
EXPLORES = 10
"""The chance, out of 256, that the opponent chooses at random."""
RATE = 0.15
"""The learning rate: sixteenths of a doubling per point of advantage."""
MOST_CHANGE = 12.0
"""The greatest change of a logarithm in one step."""
DOUBT = 8.0
"""The number of neutral choices with which the advantage of a deed is averaged."""
SHRINKING = {"ALWAYS": 0.006, "else": 0.01}
"""The fraction of its distance from indifference by which a logarithm shrinks at each step. So
deeds that are nearly as good as the best are chosen nearly as often: a mixed strategy is hard to
exploit, and can still adapt during a match."""
LEAST, GREATEST = -48, 48
"""Bounds of the logarithms under ALWAYS, in sixteenths; the greatest in each situation is set to
GREATEST."""
MOST_ADDED = 60
PLAYERS_A_STEP, MATCHES_A_STEP = 128, 4
BURSTS, STEPS, SKIPPED_STEPS = 5, 40, 10
CHECKED_MATCHES = 16
REMEMBERED = 0.1
"""The share of the pool, over all levels, with which a search starts."""
MOST_IN_POOL = 800
AIM = 0.6
"""The fraction of its limit that a player of the pool may win, since others of its class will win
more."""
UNLIMITED = 0.95
"""The limit of a player that sees too soon to have one."""
RIVALS_LIMIT = 0.42
"""The greatest share of matches that the level below should win."""

INSTANT_FROM = 8
"""The lowest level whose opponent sees soon enough for the adjustments under INSTANT."""
INSTANT = CIRCUMSTANCES.index("INSTANT")
FIRST_FIGHTER = CIRCUMSTANCES.index("AS_KAZE")
FIGHTERS = [name.removeprefix("AS_").lower() for name in CIRCUMSTANCES[FIRST_FIGHTER:]]

Logarithms = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Exploiter:
    """A player that has beaten the opponent at a level; or a rival,
    a computer opponent of another level.
    """

    level: int
    player: Player
    rival: int = 0
    """The level of the rival; 0 for a player."""
    is_turtle: bool = False
    """True if it deals a turtle's damage."""

    @property
    def limit(self) -> float:
        """The greatest share of matches that it should win; 1 below the levels that have limits."""
        if self.rival:
            return RIVALS_LIMIT
        kind = TURTLE if self.is_turtle else kind_of(self.player)
        levels = [level for level in MOST[kind] if level <= self.level]
        if not levels:
            return 1.0
        limit = MOST[kind][max(levels)]
        if self.player.late < LIMITED_FROM.get(kind, 0):
            limit = (limit + UNLIMITED) / 2
        return AIM * limit

    def matches(self, name: str, count: int, fighter: int | None = None) -> list[Setting]:
        """Return some matches against the opponent's level.

        Args:
            name: The text from which the seeds are derived.
            count: The number of matches.
            fighter: The number of the opponent's fighter in all of them; None: all fighters in
                turn.
        """
        drawn = shuffled_settings(name, self.level)
        wanted = (setting for setting in drawn if fighter in (None, setting.enemy))
        return [replace(setting, agent_level=self.rival) for setting in islice(wanted, count)]


RIVALS = [Exploiter(level, NOBODY, level - 1) for level in range(2, LEVELS + 1)]
"""The level below each level, as its rival."""
DRAWN_RIVALS = 4.0
"""The factor by which a rival is drawn more often than a simple player, because there are few
rivals."""


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
    counted = fading_weights(FULL_WEIGHT, HALF_LIFE, FORGOTTEN)
    counted[:2] = 0.0
    return counted


# ---- the work of a process ----


@dataclass(frozen=True)
class Bout:
    """Matches of one player of the pool."""

    place: int
    """The position of the player in the pool."""
    exploiter: Exploiter
    name: str
    """The text from which the seeds are derived."""
    count: int
    fighter: int | None
    """The number of the opponent's fighter in all matches; None: all fighters in turn."""


@dataclass(frozen=True)
class Batch:
    """The matches of one process, and the opponent's table."""

    table: Table
    bouts: Sequence[Bout]


def shares_of(batch: Batch) -> list[float]:
    """Return the share of its matches that each player wins."""
    write_tactics(batch.table)
    shares = []
    for bout in batch.bouts:
        results = play(
            [bout.exploiter.player], bout.exploiter.matches(bout.name, bout.count, bout.fighter)
        )
        shares.append(float(won(results).mean()))
    return shares


def advantages_of(batch: Batch) -> tuple[Logarithms, Logarithms, list[float]]:
    """Play, and sum up the advantages of the opponent's choices.

    Returns:
        The sums of advantages over the mean return of the situation, f64 [situations,
        circumstances, options]; the numbers of choices, likewise; and the share of its matches that
        each player wins.
    """
    write_tactics(batch.table)
    shape = batch.table["logarithms"].shape
    sums, counts = np.zeros(shape), np.zeros(shape)
    shares = []
    for bout in batch.bouts:
        matches = bout.exploiter.matches(bout.name, bout.count, bout.fighter)
        samples, results = sample(bout.exploiter.player, matches, weights(), EXPLORES)
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
    """A search for players of one space that beat the opponent with this table."""

    table: Table
    level: int
    space: Space
    name: str
    """The text from which the seeds are derived."""
    known: Sequence[Player]
    """Players of any class to start from, besides random ones."""


def attacked(attack: Attack) -> tuple[float, Exploiter]:
    """Return the share of matches that the best player found wins, and that player."""
    write_tactics(attack.table)
    starters = immigrants(attack.space, {}, attack.known)
    (best, *_), _ = best_of(attack.space, attack.level, attack.name, EFFORT, starters)
    is_turtle = dealt_a_round(best.results) <= TURTLE_DEALS
    exploiter = Exploiter(attack.level, best.player, is_turtle=is_turtle)
    return float(won(best.results).mean()), exploiter


# ---- the tuner ----


class Tuner:
    """A table, and the players against which it is tuned: the rivals first, then the pool."""

    def __init__(
        self,
        pool: Sequence[Exploiter],
        rng: Random,
        processes: Executor,
        workers: int,
        fighter: int | None = None,
        instant: bool = False,
    ) -> None:
        """Start from the table that is compiled in.

        Args:
            pool: The players.
            rng: The random generator.
            processes: The worker processes.
            workers: The number of processes.
            fighter: The number of the fighter whose adjustments are tuned, in matches against
                it; None: of all fighters.
            instant: True to tune only the adjustments under INSTANT, at the levels that have them.
        """
        self.lowest = INSTANT_FROM if instant else 1
        """The lowest level that is tuned."""
        self.others = [exploiter for exploiter in pool if exploiter.level < self.lowest]
        """Players of lower levels, which are left alone."""
        rivals = [rival for rival in RIVALS if rival.level >= self.lowest]
        self.rivals = len(rivals)
        """The number of rivals, which come first in the pool."""
        self.pool = rivals + [exploiter for exploiter in pool if exploiter.level >= self.lowest]
        self.only: int | None = None
        """The circumstance whose adjustments are tuned; None: all."""
        if instant:
            self.only = INSTANT
        elif fighter is not None:
            self.only = FIRST_FIGHTER + fighter
        self.rng = rng
        self.processes = processes
        self.workers = workers
        self.fighter = fighter
        self.table = read_tactics()
        self.exact: Logarithms = self.table["logarithms"].astype(float)
        """The table's logarithms before rounding, f64 [situations, circumstances, options]."""
        self.shares = np.zeros(len(self.pool))
        """The moving average of the share of its matches that each player wins, f64 [players]."""

    def batches(self, bouts: Sequence[Bout]) -> list[Batch]:
        """Divide the bouts among the processes."""
        batches: list[Batch] = []
        for first in range(self.workers):
            batches.append(Batch(self.table, bouts[first :: self.workers]))
        return batches

    # ---- evaluation ----

    def check(self) -> float:
        """Play the whole pool, and return the loss.

        It is the sum over all players of x + 2 x² + 0.1 s, where s is the share of matches that the
        player wins, and x its excess over the limit, or 0.
        """
        bouts: list[Bout] = []
        for place, player in enumerate(self.pool):
            bouts.append(Bout(place, player, f"check {place}", CHECKED_MATCHES, self.fighter))
        batches = self.batches(bouts)
        for batch, shares in zip(batches, self.processes.map(shares_of, batches), strict=True):
            self.shares[[bout.place for bout in batch.bouts]] = shares
        over = np.maximum(0.0, self.shares - self.limits())
        return float((over + 2 * over**2 + 0.1 * self.shares).sum())

    def limits(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the limits of all players, f64 [players]."""
        return np.array([exploiter.limit for exploiter in self.pool])

    # ---- policy gradient ----

    def drawn_players(self) -> list[int]:
        """Draw the positions of PLAYERS_A_STEP players,
        most often of those furthest above their limits.
        """
        readiness = 0.003 + np.maximum(0.0, self.shares - 0.8 * self.limits())
        readiness[: self.rivals] *= DRAWN_RIVALS
        return self.rng.choices(range(len(self.pool)), weights=list(readiness), k=PLAYERS_A_STEP)

    def step(self) -> None:
        """Take one step of the policy gradient, in matches against players drawn from the pool."""
        sums = np.zeros(self.exact.shape)
        counts = np.zeros(self.exact.shape)
        bouts: list[Bout] = []
        for place in self.drawn_players():
            bouts.append(
                Bout(place, self.pool[place], f"{self.rng.random()}", MATCHES_A_STEP, self.fighter)
            )
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
        """Add changes to the logarithms, and shrink them."""
        before = self.exact.copy()
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
        if self.only is not None:
            tuned = self.exact[:, self.only]
            self.exact = before
            self.exact[:, self.only] = tuned
        self.play_by(self.exact)

    def play_by(self, logarithms: Logarithms) -> None:
        """Set the logarithms, which are rounded for the opponent's table."""
        self.exact = logarithms
        self.table["logarithms"] = np.rint(logarithms)

    def tune(self) -> tuple[float, float]:
        """Take BURSTS bursts of steps, and return the loss, as returned by `check`, at the start
        and at the end.
        """
        begun = least = self.check()
        for _ in range(BURSTS):
            least = self.burst(least)
        return begun, least

    def burst(self, least: float) -> float:
        """Take STEPS steps, then average the tables after SKIPPED_STEPS, unless that has a greater
        loss than `least`, the one of the table at the start. Return the loss of the table kept.
        """
        before = self.exact.copy()
        total = np.zeros(self.exact.shape)
        for step in range(STEPS):
            self.step()
            if step >= SKIPPED_STEPS:
                total += self.exact
        self.play_by(total / (STEPS - SKIPPED_STEPS))
        ended = self.check()
        if ended > least:
            self.play_by(before)
            return least
        return ended

    # ---- the pool ----

    def attack_on(self, level: int) -> Attack:
        """Draw a search for players that beat the present opponent at a level."""
        kind = self.rng.choice(KINDS)
        late, interval = self.rng.choice(DELAYS), self.rng.choice(HOLDING)
        if kind == TURTLE:
            space = Space("two thresholds", late, interval, is_turtle=True)
        else:
            space = Space(kind, late, interval)
        known: list[Player] = []
        for exploiter in self.pool:
            if not exploiter.rival and self.rng.random() < REMEMBERED:
                known.append(exploiter.player)
        return Attack(self.table, level, space, f"{self.rng.random()} ", known)

    def search(self, levels: Sequence[int]) -> list[Exploiter]:
        """Search at some levels, and return the new players that win more
        than half of their limits, at all levels that have limits.
        """
        attacks = [self.attack_on(level) for level in levels]
        found: list[Exploiter] = []
        for attack, (share, exploiter) in zip(
            attacks, self.processes.map(attacked, attacks), strict=True
        ):
            print(f"  {attack.space} at {attack.level}: {share:.2f}", flush=True)
            if share <= exploiter.limit / 2:
                continue
            for level in sorted({attack.level, *LIMITED}):
                if level < self.lowest:
                    continue
                at_level = replace(exploiter, level=level)
                if at_level not in [*self.pool, *found]:
                    found.append(at_level)
        return found

    def extend(self, found: Sequence[Exploiter]) -> None:
        """Add players to the pool; if it gets too large,
        drop those that win least relative to their limits.
        """
        excess = self.shares / self.limits()
        excess[: self.rivals] = np.inf
        kept = np.sort(np.argsort(-excess, kind="stable")[: MOST_IN_POOL - len(found)])
        self.pool = [self.pool[place] for place in kept] + list(found)
        self.shares = np.append(self.shares[kept], np.zeros(len(found)))


def means(
    situations: np.ndarray[Any, np.dtype[np.int_]], gained: np.ndarray[Any, np.dtype[np.float32]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return for each choice the mean return of all choices in its situation, f64 [choices]."""
    counts = np.bincount(situations)
    sums = np.bincount(situations, gained)
    averages: np.ndarray[Any, np.dtype[np.float64]] = (sums / np.maximum(1, counts))[situations]
    return averages


def source_of(table: Table) -> str:
    """Return the text of tactics.c with this table."""
    return as_source(
        table,
        "Made by `python -m games.source.duel.search.tuning`, which continues from this table.",
    )


def main() -> None:
    """Tune, and write after each round."""
    parser = argparse.ArgumentParser(
        description="Tune the opponent's tactics, a few minutes a round."
    )
    parser.add_argument(
        "--rounds", type=positive, default=8, help="rounds of search and tuning (default: 8)"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument(
        "--workers",
        type=positive,
        default=2,
        help="processes; each searches a level per round (default: 2)",
    )
    parser.add_argument(
        "--fighter",
        choices=FIGHTERS,
        help="tune only the adjustments for this fighter, in matches against it",
    )
    parser.add_argument(
        "--instant",
        action="store_true",
        help=f"tune only the adjustments for the levels from {INSTANT_FROM} on, at these levels",
    )
    options = parser.parse_args()
    fighter = FIGHTERS.index(options.fighter) if options.fighter else None
    with start_processes(options.workers) as processes:
        tuner = Tuner(
            read_pool(), Random(options.seed), processes, options.workers, fighter, options.instant
        )
        levels = cycle([level for level in LEVELS_IN_TURN if level >= tuner.lowest])
        for number in range(options.rounds):
            begin = time.monotonic()
            tuner.check()  # measure the shares by which `extend` drops players
            tuner.extend(tuner.search(list(islice(levels, SEARCHES * options.workers))))
            begun, ended = tuner.tune()
            write_pool([*tuner.others, *tuner.pool[tuner.rivals :]])
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
