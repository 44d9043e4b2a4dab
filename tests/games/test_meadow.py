"""Meadow: it publishes what its README says, its map is what the hero can walk on, and its main
quest can be completed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.source.meadow import FOLDER
from games.source.meadow.calibrate import RULES, play_game
from games.source.meadow.cartridge import (
    BATTLE,
    COLUMNS,
    CUTSCENE,
    DIALOGUE,
    DIRECTIONS,
    MENU,
    ROWS,
    TITLE,
    WALK,
    Cartridge,
)
from games.source.meadow.make_published import read_table
from games.source.meadow.make_world import (
    QUEST_TYPES,
    SIDES,
    WorldError,
    WorldMap,
    broken_text,
    read_map,
    source,
)
from minibrains import Episode
from minibrains.files import bundled_dir
from nodes.exploring.walking import WalkScript, WalkTo

SOURCE = bundled_dir("games") / "source/meadow"
WORLD = WorldMap(SOURCE / "worlds/meadow")
SIDE_QUESTS: dict[str, int] = {}
"""The steps of each side quest."""
for _name, _quest in list(WORLD.settings["quests"].items())[1:]:
    SIDE_QUESTS[_name] = len(_quest["steps"])
PRESSED = ("UP", "DOWN", "LEFT", "RIGHT", "A", "B", "START", "SELECT")
MOVES = {"DOWN": (0, 1), "UP": (0, -1), "LEFT": (-1, 0), "RIGHT": (1, 0)}
NOWHERE = 255


@pytest.fixture(scope="module")
def cartridge() -> Iterator[Cartridge]:
    cartridge = Cartridge()
    yield cartridge
    del cartridge.emulator, cartridge.data


def walker(side_quests: bool) -> WalkTo:
    brain = WalkScript.load(bundled_dir("models") / "walk_script/meadow.safetensors")
    node = WalkTo(brain=brain, side_quests=side_quests)
    node.reset(Episode(0, 0))
    return node


def complete(cartridge: Cartridge, seed: int, side_quests: bool) -> dict[str, int]:
    """Let the teacher play from the title; the variables at the end."""
    cartridge.emulator.set_state(cartridge.title)
    cartridge.step()
    cartridge.set("seed", seed)
    node = walker(side_quests)
    for _ in range(60_000):
        now = cartridge.variables()
        if now["won"] or now["lost"]:
            return now
        cartridge.step(*node.tick(now))
    raise AssertionError(f"seed {seed}: the main quest was not completed: {now['step']} steps")


def to_area(cartridge: Cartridge, name: str) -> None:
    """Bring the hero into an area through doors and over edges, with every flag set and everything
    carried.
    """
    ways: dict[str, list[str]] = {"home": []}
    queue = ["home"]
    for here in queue:
        area = WORLD.areas[WORLD.area_names.index(here)]
        beyond = [door["to"] for door in area.get("doors", [])]
        beyond += [area[side] for side in SIDES if side in area]
        for there in beyond:
            if there not in ways:
                ways[there] = [*ways[here], there]
                queue.append(there)
    cartridge.begin(seed=1)
    for there in ways[name]:
        for item in WORLD.items:
            cartridge.set(f"item_{item}", 1)
        cartridge.set("flags", (1 << len(WORLD.flags)) - 1)
        cross(cartridge, there)


def cross(cartridge: Cartridge, there: str) -> None:
    """Stand where a step leads into the next area, and take it."""
    number = cartridge.get("area")
    x, y, direction = way_to(WORLD.areas[number], there)
    cartridge.set("x", x)
    cartridge.set("y", y)
    for _ in range(40):
        if cartridge.get("area") != number:
            break
        cartridge.step(direction)
    cartridge.step(frames=10)
    assert WORLD.area_names[cartridge.get("area")] == there


def way_to(area: dict[str, Any], there: str) -> tuple[int, int, str]:
    """Return a free tile and the direction of a step from it that leads to another area."""
    rows = read_map("", area, WORLD.terrain)
    free: set[tuple[int, int]] = set()
    for y, row in enumerate(rows):
        for x, character in enumerate(row):
            if not WORLD.terrain[character].get("solid"):
                free.add((x, y))
    targets = {tuple(door["at"]) for door in area.get("doors", []) if door["to"] == there}
    for side, facing in SIDES.items():
        if area.get(side) == there:
            dx, dy = MOVES[facing.upper()]
            targets |= {(x + dx, y + dy) for x, y in free} - {
                (x, y) for x in range(COLUMNS) for y in range(ROWS)
            }
    for x, y in sorted(free - targets):
        for direction, (dx, dy) in MOVES.items():
            if (x + dx, y + dy) in targets:
                return x, y, direction
    raise AssertionError(f"no way leads to {there}")


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


def test_each_side_quest_counts_its_steps(cartridge: Cartridge) -> None:
    assert {quest["type"] for quest in WORLD.quests[1:]} == set(QUEST_TYPES)
    cartridge.begin(seed=1)
    for name, quest in WORLD.settings["quests"].items():
        variable = f"side_{name}" if name in SIDE_QUESTS else "step"
        done = 0
        for number, step in enumerate(quest["steps"], start=1):
            done |= flags(step["flag"])
            cartridge.set("flags", done)
            cartridge.step()
            assert cartridge.get(variable) == number
        cartridge.set("flags", done & ~flags(quest["steps"][0]["flag"]))
        cartridge.step()
        assert cartridge.get(variable) == 0, "steps count in their order"


def test_the_race_is_won_only_while_the_time_lasts(cartridge: Cartridge) -> None:
    to_area(cartridge, "river")
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


def test_the_map_is_drawn_when_every_area_was_entered(cartridge: Cartridge) -> None:
    to_area(cartridge, "shop")
    cartridge.set("flags", flags("promised_map"))
    everywhere = (1 << len(WORLD.areas)) - 1
    cartridge.set("areas_seen", everywhere & ~2)
    assert "still white spots" in talk_to(cartridge, "mapmaker")
    assert cartridge.get("side_map") == 1
    cartridge.set("areas_seen", everywhere)
    assert "A shrine" in talk_to(cartridge, "mapmaker")
    assert cartridge.get("side_map") == 2


def test_who_falls_wakes_up_at_home_with_half_the_money(cartridge: Cartridge) -> None:
    to_area(cartridge, "field")
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
def test_the_collision_map_is_what_the_hero_can_walk_on(name: str, cartridge: Cartridge) -> None:
    to_area(cartridge, name)
    for number in range(4):
        cartridge.set(f"creature_kind_{number:02}", 0)
    cartridge.step(frames=70)
    area = cartridge.get("area")
    walls = cartridge.walls()
    beyond = [cartridge.get(f"edge_area_{number:02}") for number in range(len(DIRECTIONS))]
    start = cartridge.emulator.get_state()
    tried = 0
    for y in range(ROWS):
        for x in range(COLUMNS):
            if walls[y] >> x & 1:
                continue
            for number, (direction, (dx, dy)) in enumerate(MOVES.items()):
                cartridge.emulator.set_state(start)
                cartridge.hold(direction)
                cartridge.set("x", x)
                cartridge.set("y", y)
                cartridge.emulator.step()
                there = (x + dx, y + dy)
                if 0 <= there[0] < COLUMNS and 0 <= there[1] < ROWS:
                    is_free = not walls[there[1]] >> there[0] & 1
                    assert cartridge.get("area") == area
                    moved = (cartridge.get("x"), cartridge.get("y")) == there
                    assert moved == is_free, f"{name}: from {x}, {y} to the {direction}"
                else:
                    expected = area if beyond[number] == NOWHERE else beyond[number]
                    assert cartridge.get("area") == expected
                tried += 1
    cartridge.hold()
    assert tried > 100


@pytest.mark.parametrize("name", WORLD.area_names)
def test_everybody_and_everything_is_where_it_is_published(name: str, cartridge: Cartridge) -> None:
    to_area(cartridge, name)
    cartridge.set("flags", 0)
    for item in WORLD.items:
        cartridge.set(f"item_{item}", 0)
    # coming back finds everything as at the beginning of a game
    cartridge.set("mode", WALK)
    walls = cartridge.walls()
    for slot in range(8):
        if cartridge.get(f"thing_id_{slot:02}"):
            x, y = cartridge.get(f"thing_x_{slot:02}"), cartridge.get(f"thing_y_{slot:02}")
            number = cartridge.get(f"thing_id_{slot:02}") - 1
            thing = next(
                thing
                for thing in WORLD.areas[cartridge.get("area")]["things"]
                if thing["id"] == WORLD.things[number]
            )
            assert [x, y] == thing["at"]
            assert walls[y] >> x & 1


# ---- whole games ----


def check_sane(now: dict[str, int]) -> None:
    """Every variable of a game in play has a value that the README names."""
    assert now["mode"] <= CUTSCENE
    assert now["area"] < len(WORLD.area_names)
    assert now["x"] < COLUMNS
    assert now["y"] < ROWS
    assert now["facing"] < len(DIRECTIONS)
    assert 0 < now["hp"] <= now["max_hp"] == 20
    assert now["clock"] < 24 * 60
    assert 1 <= now["day"] <= 60
    assert now["step"] <= 6
    for name, steps in SIDE_QUESTS.items():
        assert now[f"side_{name}"] <= steps
    assert now["timer"] <= 480
    assert now["choices"] <= max(len(WORLD.items), len(WORLD.quests))
    assert now["choice"] < max(1, now["choices"])
    assert now["enemy"] <= len(WORLD.creatures)
    assert (now["enemy"] > 0) == (now["mode"] == BATTLE)
    assert not now["flags"] >> len(WORLD.flags)
    assert not now[f"wall_{now['y']:02}"] >> now["x"] & 1


def play_at_random(cartridge: Cartridge, frames: int, seed: int) -> set[int]:
    """Press at random, and check all variables every second; return the modes that were seen."""
    rng = np.random.default_rng(seed)
    modes = set()
    for second in range(frames // 60):
        for _ in range(10):
            pad = [name for name in PRESSED if rng.random() < 0.25]
            cartridge.step(*pad, frames=6)
        now = cartridge.variables()
        if now["mode"] == TITLE:
            assert second > 10, "it does not leave the title"
            cartridge.press("START")
            continue
        check_sane(now)
        modes.add(now["mode"])
    return modes


def test_random_play_keeps_every_variable_sane(cartridge: Cartridge) -> None:
    cartridge.begin(seed=2, text_speed=0)
    assert {WALK, DIALOGUE, MENU} <= play_at_random(cartridge, 12_000, seed=11)


@pytest.mark.soak
def test_random_play_for_long_keeps_every_variable_sane(cartridge: Cartridge) -> None:
    cartridge.begin(seed=3, text_speed=0)
    assert {WALK, DIALOGUE, MENU, BATTLE} <= play_at_random(cartridge, 1_000_000, seed=12)
    frame, place = cartridge.get("frame"), (cartridge.get("x"), cartridge.get("y"))
    for button in ("B", "A", "DOWN", "RIGHT", "UP", "LEFT") * 60:
        cartridge.step(button, frames=9)
        cartridge.step()
    assert cartridge.get("frame") == frame + 360 * 10
    assert (cartridge.get("x"), cartridge.get("y")) != place, "it is stuck"


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "side_quests"), [(1, False), (5, True)])
def test_the_teacher_completes_the_quests_from_the_title(
    seed: int, side_quests: bool, cartridge: Cartridge
) -> None:
    now = complete(cartridge, seed, side_quests)
    assert (now["won"], now["lost"], now["step"]) == (1, 0, 6)
    for name, steps in SIDE_QUESTS.items():
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
    assert play_game(cartridge, RULES[name](1), seed=1, frames=1500).areas > 1
    assert play_game(cartridge, RULES["nothing"](1), seed=1, frames=100).areas == 1


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
        ('"say The spring', '"sing The spring', "is no statement"),
        ('east = "field"', "", "the east edge is open"),
    ],
)
def test_a_mistake_in_a_world_is_told(
    before: str, after: str, sentence: str, tmp_path: Path
) -> None:
    folder = SOURCE / "worlds/meadow"
    (tmp_path / "areas").mkdir()
    for path in (*folder.glob("*.toml"), *folder.glob("areas/*.toml")):
        text = path.read_text()
        if path.name == "village.toml":
            assert before in text
            text = text.replace(before, after, 1)
        (tmp_path / path.relative_to(folder)).write_text(text)
    with pytest.raises(WorldError, match=sentence):
        source(WorldMap(tmp_path))


def test_every_flag_that_a_rule_asks_for_can_be_set() -> None:
    text = "\n".join(path.read_text() for path in (SOURCE / "worlds/meadow/areas").glob("*.toml"))
    for flag in tomllib.loads((SOURCE / "worlds/meadow/world.toml").read_text())["flags"]:
        assert f'"set {flag}"' in text, flag
