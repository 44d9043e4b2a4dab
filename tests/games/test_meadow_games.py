"""Whole games of Meadow and North: the teacher completes all quests from wherever it begins, and
random presses leave no state stuck.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from games.source.meadow.cartridge import BATTLE, DIALOGUE, MENU, WALK
from tests.support.played_world import PlayedWorld

pytestmark = pytest.mark.soak

SEEDS = 100
GAMES_OF_A_STATE = 5


@pytest.fixture(scope="module", params=["meadow", "north"])
def world(request: pytest.FixtureRequest) -> Iterator[PlayedWorld]:
    world = PlayedWorld(request.param)
    yield world
    world.close()


def check_completed(world: PlayedWorld, now: dict[str, int], game: str) -> None:
    """All quests were completed."""
    assert (now["won"], now["lost"], now["step"]) == (1, 0, 6), game
    for name, steps in world.side_quests.items():
        assert now[f"side_{name}"] == steps, f"{game}: {name}"


def test_the_teacher_completes_all_quests_from_the_title(world: PlayedWorld) -> None:
    for seed in range(1, SEEDS + 1):
        now = world.complete(seed, side_quests=True)
        check_completed(world, now, f"seed {seed}")


def test_the_teacher_completes_the_main_quest_alone_from_the_title(world: PlayedWorld) -> None:
    for seed in range(1, SEEDS + 1):
        now = world.complete(seed, side_quests=False)
        assert (now["won"], now["lost"], now["step"]) == (1, 0, 6), f"seed {seed}"


def test_the_teacher_completes_all_quests_from_every_state(world: PlayedWorld) -> None:
    for state in world.states:
        for game in range(GAMES_OF_A_STATE):
            world.load(state)
            world.cartridge.set("random", 1 + game)
            now = world.go_on(side_quests=True)
            check_completed(world, now, f"{state}, {game}")


def test_random_presses_from_every_state_keep_every_variable_sane(world: PlayedWorld) -> None:
    modes: set[int] = set()
    for state in world.states:
        world.load(state)
        modes |= world.play_at_random(20_000, seed=13)
        world.check_not_stuck()
    assert {WALK, DIALOGUE, MENU, BATTLE} <= modes
