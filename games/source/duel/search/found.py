"""Players that people have found, by hand or by searches of their own, played again.

    python -m games.source.duel.search.found --workers 2

plays all players of found.jsonl at the levels that have limits, and prints the best of each class.
No search begins from them. A table whose `height_edge` is below 0 also knows its own status, which
needs a patch of the native build:

    git apply games/source/duel/search/own_status.patch
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from games.source.duel.command_line import positive, start_processes
from games.source.duel.counting import wilson
from games.source.duel.matches import settings
from games.source.duel.native.compiled import library
from games.source.duel.native.players import Player, play, won
from games.source.duel.search.finals import LIMITED, LIMITED_FROM, limit_of
from games.source.duel.search.genomes import kind_of
from minibrains import GameError

FOUND = Path(__file__).with_name("found.jsonl")
PATCHED = "is_high = player->height_edge < 0"
"""A line of native/players.c with the patch."""
SELECTION, MATCHES = 200, 1000
"""The number of matches in which the best player is selected, and in which it is measured."""


@dataclass(frozen=True)
class Task:
    """Some matches of a player."""

    player: Player
    level: int
    name: str
    matches: int


def wins_of(task: Task) -> int:
    """Return the number of matches that the player wins."""
    drawn = list(islice(settings(task.name, task.level), task.matches))
    return int(won(play([task.player], drawn)).sum())


def class_of(player: Player) -> str:
    """Return the class of a player, and whether it sees late enough for the limit of the class."""
    kind = kind_of(player)
    if player.height_edge < 0:
        kind += " with its own status"
    return f"{kind}, {'late' if player.late >= LIMITED_FROM['table'] else 'sooner'}"


def found() -> list[Player]:
    """Return the players of the file that this native build can play."""
    patched = PATCHED in (Path(__file__).parents[1] / "native/players.c").read_text()
    players: list[Player] = []
    for line in FOUND.read_text().splitlines():
        player = Player.from_json(json.loads(line)["player"])
        if patched or player.height_edge >= 0:
            players.append(player)
    return players


def best_of(players: list[Player], level: int, pool: Executor) -> dict[str, Player]:
    """Return the player of each class that wins most often at a level."""
    tasks = [Task(player, level, "found selection", SELECTION) for player in players]
    most: dict[str, int] = {}
    best: dict[str, Player] = {}
    for player, wins in zip(players, pool.map(wins_of, tasks), strict=True):
        name = class_of(player)
        if wins > most.get(name, -1):
            most[name] = wins
            best[name] = player
    return best


def main() -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=positive, default=1)
    options = parser.parse_args()
    try:
        library()  # compile before there are several processes
    except GameError as error:
        parser.exit(2, f"{error}\n")

    players = found()
    print(f"{len(players)} players")
    with start_processes(options.workers) as pool:
        for level in LIMITED:
            best = best_of(players, level, pool)
            tasks = [Task(player, level, "found fresh", MATCHES) for player in best.values()]
            for (name, player), wins in zip(best.items(), pool.map(wins_of, tasks), strict=True):
                low, high = wilson(wins, MATCHES)
                limit = limit_of(kind_of(player), player.late, level)
                allowed = f"; limit: {limit}" if limit else ""
                print(
                    f"level {level}: {name}: {wins / MATCHES:.1%}, {low:.1%} to {high:.1%}{allowed}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
