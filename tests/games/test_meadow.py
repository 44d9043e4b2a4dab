"""Meadow: it publishes what its README says, its map is what the hero can walk on, and its main
quest can be completed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from games.source.meadow import FOLDER
from games.source.meadow.calibrate import RULES, play_game
from games.source.meadow.cartridge import DIALOGUE, MENU, TITLE, WALK, Cartridge
from games.source.meadow.make_published import read_table
from games.source.meadow.make_world import (
    QUEST_TYPES,
    WorldError,
    WorldMap,
    broken_text,
    source,
)
from minibrains.files import bundled_dir
from tests.support.played_world import PRESSED, PlayedWorld

SOURCE = bundled_dir("games") / "source/meadow"
WORLD = WorldMap(SOURCE / "worlds/meadow")


@pytest.fixture(scope="module")
def world() -> Iterator[PlayedWorld]:
    world = PlayedWorld("meadow")
    yield world
    world.close()


@pytest.fixture(scope="module")
def cartridge(world: PlayedWorld) -> Cartridge:
    return world.cartridge


# ---- what it publishes ----


def test_it_boots_to_its_title(cartridge: Cartridge) -> None:
    cartridge.emulator.set_state(cartridge.title)
    cartridge.step()
    assert cartridge.get("magic").to_bytes(4, "little") == b"MEAD"
    assert cartridge.get("mode") == TITLE
    frame = cartridge.get("frame")
    cartridge.step(frames=10)
    assert cartridge.get("frame") == frame + 10
    cartridge.press("START")
    assert cartridge.get("mode") == WALK
    assert (cartridge.get("hp"), cartridge.get("money"), cartridge.get("step")) == (20, 10, 0)


def test_data_and_truth_name_every_variable_of_the_table_in_the_readme() -> None:
    readme = (FOLDER / "README.md").read_text()
    known = json.loads((FOLDER / "data.json").read_text())["info"]
    truth = json.loads((FOLDER / "truth.json").read_text())["info"]
    assert not known.keys() & truth.keys()
    for variable in read_table((SOURCE / "published.txt").read_text()):
        names = truth if variable.readers == "truth" else known
        prefix = variable.name if not variable.length else f"{variable.name}_"
        assert [name for name in names if name.startswith(prefix)], variable.name
        assert f"`{variable.name}" in readme, f"the README does not speak of {variable.name}"


def test_what_the_host_writes_is_clamped(cartridge: Cartridge) -> None:
    cartridge.begin(seed=1)
    for name, most in (("text_speed", 1), ("hour", 23)):
        cartridge.set(name, 200)
        cartridge.step()
        assert cartridge.get(name) == most
    cartridge.set("start", 255)
    cartridge.step()
    assert (cartridge.get("start"), cartridge.get("clock") // 60) == (0, 23)


def test_the_same_seed_and_pad_give_the_same_game(cartridge: Cartridge) -> None:
    def game(seed: int) -> tuple[dict[str, int], bytes]:
        cartridge.begin(seed)
        rng = np.random.default_rng(5)
        for _ in range(300):
            cartridge.step(str(rng.choice(PRESSED[:5])), frames=8)
        now = cartridge.variables()
        del now["frame"]
        return now, cartridge.screen().tobytes()

    assert game(7) == game(7)
    assert game(7)[0]["random"] != game(8)[0]["random"]


def test_text_is_published_as_it_appears(cartridge: Cartridge) -> None:
    cartridge.begin(seed=1, text_speed=0)
    cartridge.set("x", 16)
    cartridge.set("y", 9)
    cartridge.step("RIGHT", frames=2)
    cartridge.press("A")
    assert cartridge.get("mode") == DIALOGUE
    cartridge.step(frames=3)
    whole = "Ivy: Up at last! Take this potion. Step on your bed whenever you need rest."
    assert whole.startswith(cartridge.text())
    assert 0 < len(cartridge.text()) < 10
    cartridge.step(frames=80)
    assert cartridge.text() == whole
    assert cartridge.get("item_potion") == 1
    for _ in range(4):
        cartridge.press("A")
    assert (cartridge.get("mode"), cartridge.text()) == (WALK, "")


def test_the_menu_uses_a_potion(cartridge: Cartridge) -> None:
    cartridge.begin(seed=1)
    cartridge.step(frames=2)
    cartridge.set("item_potion", 1)
    cartridge.set("hp", 3)
    cartridge.press("START")
    assert (cartridge.get("mode"), cartridge.get("choices")) == (MENU, 1)
    cartridge.press("A")
    assert (cartridge.get("hp"), cartridge.get("item_potion")) == (15, 0)


def test_the_menu_lists_the_quests_that_have_begun(cartridge: Cartridge) -> None:
    cartridge.begin(seed=1)
    cartridge.step(frames=2)
    cartridge.set("flags", flags("promised_salve", "promised_map"))
    cartridge.press("START")
    cartridge.press("RIGHT")
    assert (cartridge.get("mode"), cartridge.get("choices")) == (MENU, 3)
    assert cartridge.text() == "Elder Rowan wants to see you."
    cartridge.press("DOWN")
    cartridge.step()
    assert (cartridge.get("choice"), cartridge.text()) == (1, "Ask Ivy for a salve.")
    cartridge.press("START")
    assert (cartridge.get("mode"), cartridge.get("choices")) == (WALK, 0)


def test_the_status_line_does_not_touch_the_edge_of_the_screen(cartridge: Cartridge) -> None:
    cartridge.begin(seed=1)
    cartridge.set("money", 1234)
    cartridge.set("timer", 600)
    cartridge.step(frames=3)
    edge, line = cartridge.screen()[0], cartridge.screen()[1:7]
    assert len(np.unique(edge, axis=0)) == 1
    assert len(np.unique(line.reshape(-1, 3), axis=0)) > 2


# ---- side quests ----


def flags(*names: str) -> int:
    """Return the variable `flags` in which these are set."""
    return sum(1 << WORLD.flags.index(name) for name in names)


def talk_to(cartridge: Cartridge, name: str) -> str:
    """Stand to the left of a thing of this area and talk to it; the first page that it says."""
    things = WORLD.areas[cartridge.get("area")]["things"]
    x, y = next(thing["at"] for thing in things if thing["id"] == name)
    cartridge.set("x", x - 1)
    cartridge.set("y", y)
    cartridge.step("RIGHT", frames=2)
    cartridge.press("A")
    cartridge.step()
    assert cartridge.get("mode") == DIALOGUE
    text = cartridge.text()
    while cartridge.get("mode") == DIALOGUE:
        cartridge.press("A")
    return text


def test_each_side_quest_counts_its_steps(world: PlayedWorld, cartridge: Cartridge) -> None:
    assert {quest["type"] for quest in WORLD.quests[1:]} == set(QUEST_TYPES)
    cartridge.begin(seed=1)
    for name, quest in WORLD.settings["quests"].items():
        variable = f"side_{name}" if name in world.side_quests else "step"
        done = 0
        for number, step in enumerate(quest["steps"], start=1):
            done |= flags(step["flag"])
            cartridge.set("flags", done)
            cartridge.step()
            assert cartridge.get(variable) == number
        cartridge.set("flags", done & ~flags(quest["steps"][0]["flag"]))
        cartridge.step()
        assert cartridge.get(variable) == 0, "steps count in their order"


def test_the_race_is_won_only_while_the_time_lasts(
    world: PlayedWorld, cartridge: Cartridge
) -> None:
    world.to_area("river")
    began = flags("began_race")
    cartridge.set("flags", began)
    cartridge.set("timer", 30)
    cartridge.step(frames=10)
    assert cartridge.get("timer") == 20
    cartridge.step(frames=25)
    assert cartridge.get("timer") == 0
    assert talk_to(cartridge, "post").startswith("Too late.")
    assert cartridge.get("flags") == began
    cartridge.set("timer", 30)
    assert talk_to(cartridge, "post").startswith("You touch the post in time!")
    assert (cartridge.get("timer"), cartridge.get("side_race")) == (0, 2)


def test_the_map_is_drawn_when_every_area_was_entered(
    world: PlayedWorld, cartridge: Cartridge
) -> None:
    world.to_area("shop")
    cartridge.set("flags", flags("promised_map"))
    everywhere = (1 << len(WORLD.areas)) - 1
    cartridge.set("areas_seen", everywhere & ~2)
    assert "still white spots" in talk_to(cartridge, "mapmaker")
    assert cartridge.get("side_map") == 1
    cartridge.set("areas_seen", everywhere)
    assert "A shrine" in talk_to(cartridge, "mapmaker")
    assert cartridge.get("side_map") == 2


def test_who_falls_wakes_up_at_home_with_half_the_money(
    world: PlayedWorld, cartridge: Cartridge
) -> None:
    world.to_area("field")
    cartridge.set("hp", 1)
    cartridge.set("money", 31)
    for number in range(4):
        cartridge.set(f"creature_kind_{number:02}", 0)
    cartridge.set("x", 8)
    cartridge.set("y", 13)
    cartridge.step("RIGHT", frames=10)
    assert WORLD.area_names[cartridge.get("area")] == "home"
    assert (cartridge.get("hp"), cartridge.get("money"), cartridge.get("deaths")) == (20, 15, 1)


# ---- the map ----


@pytest.mark.parametrize("name", WORLD.area_names)
def test_the_collision_map_is_what_the_hero_can_walk_on(name: str, world: PlayedWorld) -> None:
    world.check_collision_map(name)


@pytest.mark.parametrize("name", WORLD.area_names)
def test_everybody_and_everything_is_where_it_is_published(name: str, world: PlayedWorld) -> None:
    world.check_things(name)


# ---- whole games ----


def test_random_play_keeps_every_variable_sane(world: PlayedWorld) -> None:
    world.cartridge.begin(seed=2, text_speed=0)
    assert {WALK, DIALOGUE, MENU} <= world.play_at_random(12_000, seed=11)


@pytest.mark.soak
def test_random_play_for_long_keeps_every_variable_sane(
    world: PlayedWorld, cartridge: Cartridge
) -> None:
    cartridge.begin(seed=3, text_speed=0)
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


# ---- players without a plan ----


@pytest.mark.parametrize(
    "name",
    [
        "wall at the right hand, random option",
        "nearest unseen tile, random option",
        "talk to everything once, first option",
    ],
)
def test_the_simple_players_find_their_way_out_of_the_house(
    name: str, cartridge: Cartridge
) -> None:
    assert play_game(cartridge, WORLD, RULES[name](1), seed=1, frames=1500).areas > 1
    assert play_game(cartridge, WORLD, RULES["nothing"](1), seed=1, frames=100).areas == 1


# ---- its sources ----


def test_a_text_is_broken_into_lines_and_pages() -> None:
    text = broken_text("one two three four five six seven " * 4, lambda character: 1)
    for page in text.split("\f"):
        lines = page.split("\n")
        assert len(lines) <= 3
        assert max(map(len, lines)) <= 28
    assert " ".join(text.split()) == " ".join(["one two three four five six seven"] * 4)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('to = "home"', 'to = "nowhere"', "there is no area 'nowhere'"),
        ('look = "child"', 'look = "giant"', "there is no look 'giant'"),
        ("at = [17, 9]", "at = [0, 0]", "child stands in a wall"),
        ("TT....,......", "TT...,......", "the map has 18 rows"),
        ('"say The spring', '"sing The spring', "is not a statement"),
        ('east = "field"', "", "the east edge is open"),
        ('name = "The stranger"', 'name = "The stranger in grey"', "is longer than 16"),
    ],
)
def test_a_mistake_in_a_world_is_told(
    before: str, after: str, sentence: str, tmp_path: Path
) -> None:
    folder = SOURCE / "worlds/meadow"
    (tmp_path / "areas").mkdir()
    changed: list[str] = []
    for path in (*folder.glob("*.toml"), *folder.glob("areas/*.toml")):
        text = path.read_text()
        if path.name in ("village.toml", "world.toml") and before in text:
            changed.append(path.name)
            text = text.replace(before, after, 1)
        (tmp_path / path.relative_to(folder)).write_text(text)
    assert len(changed) == 1
    with pytest.raises(WorldError, match=sentence):
        source(WorldMap(tmp_path))


def test_every_flag_that_a_rule_asks_for_can_be_set() -> None:
    text = "\n".join(path.read_text() for path in (SOURCE / "worlds/meadow/areas").glob("*.toml"))
    for flag in tomllib.loads((SOURCE / "worlds/meadow/world.toml").read_text())["flags"]:
        assert f'"set {flag}"' in text, flag
