"""Measure how far players come who know nothing of a world's quests.

    python -m games.source.meadow.calibrate

prints the table of the README. Each game lasts 36 000 frames, ten minutes at 60 frames a second,
and has a seed of its own. A search draws blind loops, plays each for 3 600 frames, and measures
those that came farthest like the other players. `--only` selects rows by a part of their names,
`--world` another world than the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from games.source.meadow import FOLDERS
from games.source.meadow.cartridge import Cartridge
from games.source.meadow.make_world import WORLDS, WorldMap
from games.source.meadow.players import (
    BlindLoop,
    Explorer,
    Nothing,
    Player,
    Random,
    Talker,
    WallFollower,
)
from minibrains.evaluation.statistics import wilson

FRAMES = 36_000
SEARCH_FRAMES = 3_600
BEST_LOOPS = 3
BLIND_LOOP = "blind loop"
FIRST_SEED = 1000


class Outcome(NamedTuple):
    """The progress of a game; of two, the greater one has come farther."""

    step: int
    """Steps of the main quest, 0 to 6."""
    areas: int
    """Areas that were entered."""
    sides: int
    """Side quests that were completed."""
    deaths: int


RULES: Mapping[str, Callable[[int], Player]] = {
    "nothing": lambda seed: Nothing(),
    "random buttons": Random,
    "wall at the right hand, first option": lambda seed: WallFollower(seed, "first", 1),
    "wall at the right hand, random option": lambda seed: WallFollower(seed, "random", 1),
    "wall at the left hand, random option": lambda seed: WallFollower(seed, "random", -1),
    "nearest unseen tile, random option": lambda seed: Explorer(seed, "random"),
    "talk to everything once, first option": lambda seed: Talker(seed, "first", 1, "nearest"),
    "talk to everything once, last option": lambda seed: Talker(seed, "last", 1, "nearest"),
    "talk to everything once, random option": lambda seed: Talker(seed, "random", 1, "nearest"),
    "talk to everything 3 times, in any order, random option": lambda seed: Talker(
        seed, "random", 3, "random"
    ),
}
"""The players by name, made from a seed."""


def play_game(
    cartridge: Cartridge, world: WorldMap, player: Player, seed: int, frames: int
) -> Outcome:
    """Play a game of a world from its beginning, or until it is won or lost."""
    cartridge.begin(seed)
    begun = cartridge.get("frame")
    while cartridge.get("frame") - begun < frames:
        player.play(cartridge)
        if cartridge.get("won") or cartridge.get("lost"):
            break
    sides = 0
    _, *side_quests = world.settings["quests"].items()
    for name, quest in side_quests:
        sides += cartridge.get(f"side_{name}") == len(quest["steps"])
    areas = cartridge.get("areas_seen").bit_count()
    return Outcome(cartridge.get("step"), areas, sides, cartridge.get("deaths"))


def best_loops(cartridge: Cartridge, world: WorldMap, count: int) -> list[int]:
    """Draw blind loops, and return the seeds of those that came farthest."""
    found: list[tuple[Outcome, int]] = []
    for seed in range(count):
        outcome = play_game(cartridge, world, BlindLoop(seed), 1, SEARCH_FRAMES)
        found.append((outcome, seed))
    return [seed for _, seed in sorted(found)[-BEST_LOOPS:]]


def row(name: str, world: WorldMap, outcomes: Sequence[Outcome]) -> str:
    """Return a row of the README's table."""
    games, all_areas = len(outcomes), len(world.areas)
    most = max(outcome.step for outcome in outcomes)
    count = sum(outcome.step == most for outcome in outcomes)
    complete = sum(outcome.step == len(world.quests[0]["steps"]) for outcome in outcomes)
    _, high = wilson(complete, games)
    areas = [outcome.areas for outcome in outcomes]
    mean_share, most_share = sum(areas) / games / all_areas, max(areas) / all_areas
    sides = max(outcome.sides for outcome in outcomes)
    deaths = sum(outcome.deaths for outcome in outcomes) / games
    return (
        f"| {name} | {complete} of {games} (at most {high:.1%}) | {most}, in {count} | {sides} "
        f"| {mean_share:.0%}, {most_share:.0%} | {deaths:.1f} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=300, help="games a row")
    parser.add_argument("--loops", type=int, default=2000, help="blind loops that are drawn")
    parser.add_argument("--only", default="", help="a part of the names of the rows")
    parser.add_argument("--world", default="meadow", choices=FOLDERS)
    options = parser.parse_args(arguments)
    world = WorldMap(WORLDS / options.world)
    cartridge = Cartridge(FOLDERS[options.world])
    players = dict(RULES)
    if options.only in BLIND_LOOP:
        for seed in best_loops(cartridge, world, options.loops):
            players[f"{BLIND_LOOP} {seed}"] = partial(_loop, seed)
    for name, make in players.items():
        if options.only not in name:
            continue
        outcomes: list[Outcome] = []
        for seed in range(FIRST_SEED, FIRST_SEED + options.games):
            outcomes.append(play_game(cartridge, world, make(seed), seed, FRAMES))
        print(row(name, world, outcomes), flush=True)


def _loop(loop: int, _seed: int) -> BlindLoop:
    return BlindLoop(loop)


if __name__ == "__main__":
    main()
