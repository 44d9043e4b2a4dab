"""WalkTo: it finds its way on the published map, listens, chooses, fights and rests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from minibrains import Episode, MinibrainsError
from minibrains.errors import BrainError
from nodes.exploring.walk_script import WalkScript
from nodes.exploring.walking import WalkTo
from tests.support.meadow import BATTLE, CUTSCENE, DIALOGUE, MENU, TITLE, variables

WORLD: Mapping[str, Any] = {
    "areas": ("village", "home"),
    "ways": {"village": ("home",), "home": ("village",)},
    "things": (
        ("child", "village"),
        ("aunt", "home"),
        ("lever_blue", "village"),
    ),
    "flags": ("met", "paid"),
    "items": ("potion",),
    "secrets": (
        ("word", "a", "b", "c", "d"),
        ("levers", "red", "blue", "green", "white"),
    ),
    "creatures": ("slime", "guardian"),
    "keepers": ("guardian",),
    "rests": ({"area": "village", "x": 4, "y": 2},),
}
TALK: Mapping[str, Any] = {
    "talk": ("child",),
    "until": "met",
}
VISIT: Mapping[str, Any] = {
    "talk": ("aunt",),
    "until": "met",
}


def walker(*goals: Mapping[str, Any], side_quests: bool = False) -> WalkTo:
    brain = WalkScript(**WORLD, goals=goals or (TALK,))
    node = WalkTo(brain=brain, side_quests=side_quests)
    node.reset(Episode(0, 0))
    return node


def child_at(x: int, y: int, number: int = 1) -> dict[str, int]:
    return {
        "thing_id_00": number,
        "thing_x_00": x,
        "thing_y_00": y,
    }


def options(*names: str) -> dict[str, int]:
    """The variables of a choice among these."""
    raw = b""
    for name in names:
        raw += name.ljust(12).encode()
    raw = raw.ljust(48, b"\0")

    found = {"choices": len(names)}
    for place in range(6):
        start = 8 * place
        part = raw[start : start + 8]
        found[f"option_{place:02}"] = int.from_bytes(part, "little")
    return found


@pytest.mark.parametrize(
    ("rows", "direction"),
    [
        (
            [
                "#######",
                "#@...K#",
                "#######",
            ],
            "RIGHT",
        ),
        (
            [
                "#######",
                "#@#..K#",
                "#.#.###",
                "#...###",
            ],
            "DOWN",
        ),
        (
            [
                "#######",
                "#@^..K#",
                "#.....#",
                "#######",
            ],
            "DOWN",
        ),
        (
            [
                "#######",
                "#@^..K#",
                "#######",
            ],
            "RIGHT",
        ),
        (
            [
                "#######",
                "#@c..K#",
                "#.....#",
                "#######",
            ],
            "DOWN",
        ),
        (
            [
                "#######",
                "#@D..K#",
                "#.....#",
                "#######",
            ],
            "DOWN",
        ),
    ],
)
def test_it_takes_the_shortest_way_that_is_safe(rows: list[str], direction: str) -> None:
    solid = [row.replace("K", "#") for row in rows]
    now = variables(solid, **child_at(5, 1))

    assert walker().tick(now) == (direction,)


def test_it_stands_still_if_there_is_no_way() -> None:
    rows = [
        "#####",
        "#@#.#",
        "#####",
    ]
    now = variables(rows, **child_at(3, 1))

    assert walker().tick(now) == ()


def test_it_faces_who_it_talks_to_and_presses_once() -> None:
    rows = [
        "#####",
        "#.@K#",
        "#####",
    ]
    looking_away = variables(rows, **child_at(3, 1), facing=2)
    facing_the_child = variables(rows, **child_at(3, 1), facing=3)
    node = walker()

    assert node.tick(looking_away) == ("RIGHT",)
    assert node.tick(looking_away) == (), "the button is released"
    assert node.tick(facing_the_child) == ("A",)


def test_it_leaves_by_a_door_or_over_an_edge() -> None:
    rows = [
        "####",
        "#@D#",
        "####",
    ]
    beside_door = variables(rows)
    at_edge = variables(["@.##"], edge_area_02=1)

    assert walker(VISIT).tick(beside_door) == ("RIGHT",)
    assert walker(VISIT).tick(at_edge) == ("LEFT",)


def test_it_passes_over_what_is_reached() -> None:
    second = {**VISIT, "until": "paid"}
    rows = [
        "####",
        "#@D#",
        "####",
    ]
    met = variables(rows, flags=1)
    met_and_paid = variables(rows, flags=3)

    assert walker(TALK, second).tick(met) == ("RIGHT",)
    assert walker(TALK, second).tick(met_and_paid) == ()


@pytest.mark.parametrize(
    ("side_quests", "direction"),
    [
        (False, "RIGHT"),
        (True, "LEFT"),
    ],
)
def test_it_completes_side_quests_if_it_shall(side_quests: bool, direction: str) -> None:
    side = {**TALK, "until": "paid", "quest": "errand"}
    rows = [
        "#####",
        "#.@D#",
        "#####",
    ]
    now = variables(rows, **child_at(0, 1))

    assert walker(side, VISIT, side_quests=side_quests).tick(now) == (direction,)


@pytest.mark.parametrize(
    ("marked", "pad"),
    [
        (0, ("DOWN",)),
        (1, ("A",)),
    ],
)
def test_it_chooses_what_the_goal_says(marked: int, pad: tuple[str, ...]) -> None:
    goal = {**TALK, "choose": "{levers.2}"}
    now = variables(mode=DIALOGUE, choice=marked, secret_04=3, secret_05=1)
    now |= options("Red", "Blue")

    assert walker(goal).tick(now) == pad


def test_it_talks_to_the_thing_that_a_secret_names() -> None:
    goal = {**TALK, "talk": ("lever_{levers.1}",)}
    rows = [
        "#####",
        "#@..#",
        "#####",
    ]
    lever = child_at(3, 1, number=3)
    now = variables(rows, **lever, secret_04=1)

    assert walker(goal).tick(now) == ("RIGHT",)


def test_it_waits_for_the_night() -> None:
    goal = {**TALK, "when": "night"}
    rows = [
        "####",
        "#@K#",
        "####",
    ]
    by_day = variables(rows, **child_at(2, 1), facing=3)
    at_night = {**by_day, "clock": 22 * 60}

    assert walker(goal).tick(by_day) == ()
    assert walker(goal).tick(at_night) == ("A",)


def test_it_fights_for_the_money_that_it_needs() -> None:
    goal = {**TALK, "costs": 30, "earn_in": "village"}
    rows = [
        "#####",
        "#c.@#",
        "#####",
    ]
    now = variables(rows, **child_at(4, 1))

    assert walker(goal).tick(now) == ("LEFT",)


@pytest.mark.parametrize(
    ("enemy", "hp", "potions", "option"),
    [
        (1, 20, 9, 0),
        (1, 5, 9, 1),
        (1, 5, 1, 2),
        (2, 5, 1, 1),
        (2, 5, 0, 0),
    ],
)
def test_in_a_battle_it_attacks_drinks_or_flees(
    enemy: int, hp: int, potions: int, option: int
) -> None:
    marked = variables(
        mode=BATTLE,
        choices=3,
        enemy=enemy,
        hp=hp,
        item_potion=potions,
        choice=option,
    )
    another = {**marked, "choice": (option + 1) % 3}

    assert walker().tick(marked) == ("A",)
    assert walker().tick(another) == ("DOWN",)


def test_it_rests_when_it_is_hurt() -> None:
    rows = [
        "######",
        "#K@..#",
        "#....#",
        "######",
    ]
    hurt = variables(rows, hp=3, **child_at(1, 1))
    healed = variables(rows, hp=20, **child_at(1, 1), facing=2)
    node = walker()

    assert node.tick(hurt) in (("RIGHT",), ("DOWN",))
    assert node.tick(healed) == ("A",)


@pytest.mark.parametrize(
    ("mode", "pad"),
    [
        (TITLE, "START"),
        (MENU, "B"),
        (DIALOGUE, "A"),
        (CUTSCENE, "A"),
    ],
)
def test_it_presses_what_leads_on(mode: int, pad: str) -> None:
    now = variables(mode=mode)

    assert walker().tick(now) == (pad,)


def test_a_game_without_the_overlay_is_told() -> None:
    rows = [
        "####",
        "#@.#",
        "####",
    ]
    now = variables(rows, **child_at(2, 1))
    del now["wall_00"]

    with pytest.raises(MinibrainsError, match=r"no variable 'wall_00'.*overlay truth\.json"):
        walker().tick(now)


@pytest.mark.parametrize(
    ("goal", "sentence"),
    [
        ({"talk": ("child",)}, "a goal has 'talk'"),
        ({**TALK, "until": "never"}, "'never' is neither a flag nor an item"),
        ({**TALK, "talk": ("nobody",)}, "there is no 'nobody' to talk to"),
        ({**TALK, "when": "noon"}, "a time that is empty or night"),
        ({**TALK, "costs": 5}, "there is no area '' to earn money in"),
    ],
)
def test_a_goal_that_is_none_is_told(goal: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(BrainError, match=sentence):
        walker(goal)
