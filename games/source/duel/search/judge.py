"""The judge of a finished opponent: a second search, which is never used for tuning.

    python -m games.source.duel.search.judge --draw 1 --workers 2

It is another algorithm, simulated annealing, over players in another encoding (cards.py), with
delays, intervals and matches of its own, all drawn from the number --draw. Each use is logged in
judge.jsonl, once before it starts, and again with its result. A draw that has failed a ROM cannot
be used again: its players join the exploit search, and another draw judges.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice, product
from random import Random
from typing import Any

from games.source.duel import FOLDER, LEVELS
from games.source.duel.command_line import (
    STOPPED,
    end_processes,
    level_numbers,
    positive,
    start_processes,
)
from games.source.duel.counting import Row, outcome_of
from games.source.duel.matches import Setting
from games.source.duel.native.compiled import library
from games.source.duel.native.players import play
from games.source.duel.search.cards import Card, player_of, sizes
from games.source.duel.search.evolution import (
    Candidate,
    Score,
    distinct,
    score_of,
    shuffled_settings,
)
from games.source.duel.search.exploits import finalists_of, visit, visits
from games.source.duel.search.finals import (
    BEST,
    LIMITED,
    Finalist,
    Groups,
    add_finalists,
    finals,
    limit_of,
    play_final,
    table_of_finals,
)
from games.source.duel.search.genomes import Space
from games.source.duel.search.judge_log import read_log, write_log
from minibrains import GameError

SEARCHED = list(range(LIMITED[0], LEVELS + 1))
"""The levels that are searched, unless --levels says otherwise. Players found at any of them are
tried at those that have limits, which are judged."""
BUDGET = 30_000
"""The number of matches of all annealings of one space at one level."""
RESTARTS = 2
"""The number of annealings that share the budget."""
HOTTEST, COLDEST = 0.02, 0.002
"""The temperatures at the start and at the end, in units of the score."""
DRAWN = 500
"""The number of random cards, of which an annealing starts from the best."""
FEWEST, MOST_MATCHES = 12, 48
"""The numbers of matches in which a card is compared with its neighbour, at the start and at the
end."""
FINALISTS, SELECTION = 16, 96
"""The number of cards that are selected as the most robust, and the number of matches that rank
them."""
MATCHES = 1000
"""The number of held-out matches of each of the ten best."""


@dataclass(frozen=True)
class Draw:
    """The search spaces of one judge, with two delays and three intervals,
    drawn from its number.
    """

    number: int

    def spaces(self) -> Iterator[Space]:
        """Yield the spaces that this judge searches at each level."""
        rng = Random(f"judge {self.number}")
        delays = (rng.randint(2, 10), rng.randint(12, 17))
        intervals = (0, *rng.sample((5, 8, 9, 10, 15, 20, 24), 2))
        for interval in intervals:
            yield Space("blind loop", 0, interval)
            for late in delays:
                for kind in ("side loop", "one threshold", "two thresholds", "table"):
                    yield Space(kind, late, interval)
                yield Space("two thresholds", late, interval, is_turtle=True)


# ---- annealing ----


@dataclass(frozen=True)
class Task:
    """One space at one level."""

    draw: int
    level: int
    space: Space
    budget: int


def anneal(task: Task) -> list[Finalist]:
    """Search a space, and return its best players,
    ranked in other matches than those of the search.
    """
    name = f"judge {task.draw}: {task.space}"
    rng = Random(f"{name} at {task.level}")
    matches = shuffled_settings(name, task.level)
    score = score_of(task.space.player_class)

    held_out: dict[Card, int] = {}
    for _ in range(RESTARTS):
        for card, outlasted in annealing(task, rng, matches, score):
            held_out[card] = max(outlasted, held_out.get(card, 0))

    longest = sorted(held_out, key=lambda card: held_out[card], reverse=True)[:FINALISTS]
    players = [player_of(task.space, card) for card in longest]
    candidates: list[Candidate] = []
    for player, row in zip(players, play(players, list(islice(matches, SELECTION))), strict=True):
        candidates.append(Candidate(player, row, score(row)))
    best = distinct(candidates)[:BEST]
    return [Finalist.of(candidate) for candidate in best]


def annealing(
    task: Task, rng: Random, matches: Iterator[Setting], score: Score
) -> Iterator[tuple[Card, int]]:
    """Yield every card that was accepted, with the number of matches of
    comparisons that it survived.

    Source: S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, Optimization by simulated annealing,
        1983.
    """
    space, limits = task.space, sizes(task.space)
    budget = task.budget // RESTARTS
    card, played = best_drawn(space, rng, matches, score)
    outlasted = 0

    while played < budget:
        temperature = HOTTEST * (COLDEST / HOTTEST) ** (played / budget)
        count = round(FEWEST * (MOST_MATCHES / FEWEST) ** (played / budget))

        other = changed(rng, card, limits)
        players = [player_of(space, card), player_of(space, other)]
        now, then = play(players, list(islice(matches, count)))
        played += now.size + then.size

        gain = score(then) - score(now)
        if gain >= 0 or rng.random() < math.exp(gain / temperature):
            yield card, outlasted
            card, outlasted = other, 0
        else:
            outlasted += count
    yield card, outlasted


def best_drawn(
    space: Space, rng: Random, matches: Iterator[Setting], score: Score
) -> tuple[Card, int]:
    """Return the best of DRAWN random cards, and the number of matches that this took."""
    limits = sizes(space)
    cards: list[Card] = []
    for _ in range(DRAWN):
        cards.append(tuple(map(rng.randrange, limits)))
    players = [player_of(space, card) for card in cards]
    results = play(players, list(islice(matches, FEWEST)))
    best = max(range(DRAWN), key=lambda number: score(results[number]))
    return cards[best], results.size


def changed(rng: Random, card: Card, limits: Card) -> Card:
    """Return a neighbour of a card: one or two numbers are changed, by 1 or to any value.

    Args:
        rng: The random generator.
        card: The card.
        limits: The number of values that each of its numbers can have.
    """
    numbers = list(card)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(numbers))
        if rng.random() < 0.5:
            numbers[place] = (numbers[place] + rng.choice((-1, 1))) % limits[place]
        else:
            numbers[place] = rng.randrange(limits[place])
    return tuple(numbers)


# ---- the verdict ----


def verdict(draw: Draw, levels: Sequence[int], pool: Executor) -> Iterator[Row]:
    """Search at some levels, and yield the final row of each class, delay and level that has
    limits, with its limit and whether it is met.
    """
    tasks: list[Task] = []
    for level, space in product(levels, draw.spaces()):
        tasks.append(Task(draw.number, level, space, BUDGET))
    groups: Groups = {}
    for task, found in zip(tasks, pool.map(anneal, tasks), strict=True):
        add_finalists(groups, task.level, found)
        print(f"{task.space} at {task.level}: {found[0].score:.2f}", file=sys.stderr, flush=True)

    coming = [one for one in visits(groups) if one.group[0] in LIMITED]
    for visited, row in zip(coming, pool.map(visit, coming), strict=True):
        add_finalists(groups, visited.group[0], finalists_of(row))
        print(f"{visited.what}: {row['players'][0]['score']:.2f}", file=sys.stderr, flush=True)

    judged = {group: finalists for group, finalists in groups.items() if group[0] in LIMITED}
    every = list(finals(judged, MATCHES, f"judge {draw.number} fresh"))
    for final, row in zip(every, pool.map(play_final, every), strict=True):
        limit = limit_of(final.player_class, final.late, final.level)
        yield {**row, **outcome_of(row, limit)}


def entry_of(row: Row) -> dict[str, Any]:
    """Return the entry of a row in the log.

    If its limit is not met, it has all of the final's players.
    """
    entry: dict[str, Any] = {}
    for name in (
        "what",
        "n",
        "won",
        "low",
        "high",
        "limit",
        "met",
        "dealt_a_round",
        "on_rom",
        "player",
    ):
        entry[name] = row[name]
    if row["met"] is False:
        entry["players"] = [one["player"] for one in row["all"]]
    return entry


def main() -> int:
    """Judge the ROM, and return the exit code.

    Returns:
        0 if all limits are met, 1 if one is not, 2 if this draw was used up or the game does not
        compile, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draw",
        type=int,
        required=True,
        help="the number of the judge, from which its search is drawn",
    )
    parser.add_argument("--workers", type=positive, default=1)
    parser.add_argument(
        "--levels",
        type=level_numbers,
        default=SEARCHED,
        help="levels to search, such as 4,6 (default: all from the first that has limits)",
    )
    options = parser.parse_args()
    log = read_log()
    for entry in log:
        if entry["draw"] == options.draw and entry.get("met") is False:
            failed = entry["rom_sha1"][:8]
            print(
                (
                    f"draw {options.draw} has failed ROM {failed} and cannot be used again; "
                    "choose another --draw"
                ),
                file=sys.stderr,
            )
            return 2

    try:
        library()  # compile before there are several processes
    except GameError as error:
        parser.exit(2, f"{error}\n")

    about = {
        "draw": options.draw,
        "levels": options.levels,
        "rom_sha1": (FOLDER / "rom.sha").read_text().strip(),
    }
    write_log({**about, "begins": True})
    with start_processes(options.workers) as pool:
        try:
            rows = list(verdict(Draw(options.draw), options.levels, pool))
        except KeyboardInterrupt:
            end_processes()
            print("stopped before the verdict; the log has this use", file=sys.stderr)
            return STOPPED

    met = all(row["met"] is not False for row in rows)
    write_log({**about, "met": met, "rows": [entry_of(row) for row in rows]})
    print("\n".join(table_of_finals(rows)))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
