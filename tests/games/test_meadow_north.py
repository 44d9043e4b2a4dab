"""Meadow: North, another world of the same engine: its map is what the hero can walk on, its quests
can be completed, and the first world's codebook still tells walls from free ground indoors.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator

import pytest

from games.source.meadow import FOLDERS
from games.source.meadow.cartridge import DIALOGUE, MENU, WALK
from games.source.meadow.make_world import QUEST_TYPES, WORLDS, WorldMap
from games.source.meadow.splits import SplitRule
from tests.support.played_world import PlayedWorld

FOLDER = FOLDERS["north"]
WORLD = WorldMap(WORLDS / "north")
MEADOW = WorldMap(WORLDS / "meadow")


@pytest.fixture(scope="module")
def world() -> Iterator[PlayedWorld]:
    world = PlayedWorld("north")
    yield world
    world.close()


@pytest.mark.parametrize("name", WORLD.area_names)
def test_the_collision_map_is_what_the_hero_can_walk_on(name: str, world: PlayedWorld) -> None:
    world.check_collision_map(name)


@pytest.mark.parametrize("name", WORLD.area_names)
def test_everybody_and_everything_is_where_it_is_published(name: str, world: PlayedWorld) -> None:
    world.check_things(name)


def test_random_play_keeps_every_variable_sane(world: PlayedWorld) -> None:
    world.cartridge.begin(seed=2, text_speed=0)
    assert {WALK, DIALOGUE, MENU} <= world.play_at_random(12_000, seed=11)


@pytest.mark.soak
def test_random_play_for_long_keeps_every_variable_sane(world: PlayedWorld) -> None:
    world.cartridge.begin(seed=3, text_speed=0)
    assert {WALK, DIALOGUE, MENU} <= world.play_at_random(1_000_000, seed=12)
    world.check_not_stuck()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "side_quests"), [(1, False), (5, True)])
def test_the_teacher_completes_the_quests_from_the_title(
    seed: int, side_quests: bool, world: PlayedWorld
) -> None:
    now = world.complete(seed, side_quests)
    assert (now["won"], now["lost"], now["step"]) == (1, 0, 6)
    for name, steps in world.side_quests.items():
        assert now[f"side_{name}"] == (steps if side_quests else 0)


def test_it_is_another_world() -> None:
    assert not {*WORLD.area_names} & {*MEADOW.area_names}
    assert not {area["map"] for area in WORLD.areas} & {area["map"] for area in MEADOW.areas}
    assert {quest["type"] for quest in WORLD.quests[1:]} == {*QUEST_TYPES}
    assert not {*WORLD.style.people.values()} <= {*MEADOW.style.people.values()}
    assert WORLD.style.palettes != MEADOW.style.palettes


def test_every_state_is_in_the_part_that_the_rule_says() -> None:
    splits = json.loads((FOLDER / "splits.json").read_text())
    rule = SplitRule(WORLDS / "north")
    listed = {*splits["training"], *splits["validation"], *splits["held_back"]}
    assert listed == {path.stem for path in FOLDER.glob("*.state")}
    for part in ("training", "validation", "held_back"):
        assert splits[part]
        for name in splits[part]:
            if name != "Title":
                *_, step, area = name.split(".")
                assert rule.part_of(area.lower(), int(step.removeprefix("Step"))) == part, name


def test_every_flag_that_a_rule_asks_for_can_be_set() -> None:
    text = "\n".join(path.read_text() for path in (WORLDS / "north/areas").glob("*.toml"))
    for flag in tomllib.loads((WORLDS / "north/world.toml").read_text())["flags"]:
        assert f'"set {flag}"' in text, flag
