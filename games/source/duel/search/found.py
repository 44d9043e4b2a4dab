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
from collections.abc import Collection, Iterator
from concurrent.futures import Executor
from itertools import repeat
from pathlib import Path

from games.source.duel.command_line import positive, start_processes
from games.source.duel.counting import wilson
from games.source.duel.native.compiled import library
from games.source.duel.native.players import Player, win_share
from games.source.duel.search.finals import LIMITED, LIMITED_FROM, limit_of
from games.source.duel.search.genomes import kind_of
from minibrains import GameError

FOUND = Path(__file__).with_name("found.jsonl")
PATCHED = "is_high = player->height_edge < 0"
"""A line of native/players.c with the patch."""
SELECTION, MATCHES = 200, 1000
"""The number of matches in which the best player is selected, and in which it is measured."""


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


def shares_of(
    players: Collection[Player], level: int, matches: int, name: str, pool: Executor
) -> Iterator[float]:
    """Yield the share of matches that each player wins; see `win_share`."""
    return pool.map(win_share, players, repeat(level), repeat(matches), repeat(name))


def best_of(players: Collection[Player], level: int, pool: Executor) -> dict[str, Player]:
    """Return the player of each class that wins most often at a level."""
    shares = shares_of(players, level, SELECTION, "found selection", pool)
    most: dict[str, float] = {}
    best: dict[str, Player] = {}
    for player, share in zip(players, shares, strict=True):
        name = class_of(player)
        if share > most.get(name, -1.0):
            most[name] = share
            best[name] = player
    return best


def line_of(level: int, name: str, player: Player, share: float) -> str:
    """Return the line of the table for the best player of a class."""
    low, high = wilson(round(share * MATCHES), MATCHES)
    line = f"level {level}: {name}: {share:.1%}, {low:.1%} to {high:.1%}"
    limit = limit_of(kind_of(player), player.late, level)
    if limit is None:
        return line
    return f"{line}; limit: {limit}"


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
            shares = shares_of(best.values(), level, MATCHES, "found fresh", pool)
            for (name, player), share in zip(best.items(), shares, strict=True):
                print(line_of(level, name, player, share), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
