"""WalkTo: it finds its way on the published map, listens, chooses, fights and rests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from minibrains import Episode, MinibrainsError
from minibrains.errors import BrainError
from nodes.exploring.walking import WalkScript, WalkTo
from tests.support.meadow import BATTLE, CUTSCENE, DIALOGUE, MENU, TITLE, variables

WORLD: Mapping[str, Any] = {
    "areas": ("village", "home"),
    "ways": {"village": ("home",), "home": ("village",)},
    "things": (("child", "village"), ("aunt", "home"), ("lever_blue", "village")),
    "flags": ("met", "paid"),
    "items": ("potion",),
    "secrets": (("word", "a", "b", "c", "d"), ("levers", "red", "blue", "green", "white")),
    "creatures": ("slime", "guardian"),
    "keepers": ("guardian",),
    "rests": ({"area": "village", "x": 4, "y": 2},),
}
TALK: Mapping[str, Any] = {"talk": ("child",), "until": "met"}


def walker(*goals: Mapping[str, Any]) -> WalkTo:
    node = WalkTo(brain=WalkScript(**WORLD, goals=goals or (TALK,)))
    node.reset(Episode(0, 0))
    return node


def child_at(x: int, y: int, number: int = 1) -> dict[str, int]:
    return {"thing_id_00": number, "thing_x_00": x, "thing_y_00": y}


def options(*names: str) -> dict[str, int]:
    """The variables of a choice among these."""
    raw = "".join(name.ljust(12) for name in names).encode().ljust(48, b"\0")
    found = {"choices": len(names)}
    for place in range(6):
        found[f"option_{place:02}"] = int.from_bytes(raw[8 * place : 8 * place + 8], "little")
    return found


@pytest.mark.parametrize(
    ("rows", "direction"),
    [
        (["#######", "#@...K#", "#######"], "RIGHT"),
        (["#######", "#@#..K#", "#.#.###", "#...###"], "DOWN"),
        (["#######", "#@^..K#", "#.....#", "#######"], "DOWN"),
        (["#######", "#@^..K#", "#######"], "RIGHT"),
        (["#######", "#@c..K#", "#.....#", "#######"], "DOWN"),
        (["#######", "#@D..K#", "#.....#", "#######"], "DOWN"),
    ],
)
def test_it_takes_the_shortest_way_that_is_safe(rows: list[str], direction: str) -> None:
    now = variables([row.replace("K", "#") for row in rows], **child_at(5, 1))
    assert walker().tick(now) == (direction,)


def test_it_stands_still_if_there_is_no_way() -> None:
    assert walker().tick(variables(["#####", "#@#.#", "#####"], **child_at(3, 1))) == ()


def test_it_faces_who_it_talks_to_and_presses_once() -> None:
    rows = ["#####", "#.@K#", "#####"]
    node = walker()
    away = variables(rows, **child_at(3, 1), facing=2)
    assert node.tick(away) == ("RIGHT",)
    assert node.tick(away) == (), "the button is released"
    assert node.tick(variables(rows, **child_at(3, 1), facing=3)) == ("A",)


def test_it_leaves_by_a_door_or_over_an_edge() -> None:
    goal = {"talk": ("aunt",), "until": "met"}
    assert walker(goal).tick(variables(["####", "#@D#", "####"])) == ("RIGHT",)
    at_edge = variables(["@.##"], edge_area_02=1)
    assert walker(goal).tick(at_edge) == ("LEFT",)


def test_it_passes_over_what_is_reached() -> None:
    second = {"talk": ("aunt",), "until": "paid"}
    rows = ["####", "#@D#", "####"]
    assert walker(TALK, second).tick(variables(rows, flags=1)) == ("RIGHT",)
    assert walker(TALK, second).tick(variables(rows, flags=3)) == ()


@pytest.mark.parametrize(("marked", "pad"), [(0, ("DOWN",)), (1, ("A",))])
def test_it_chooses_what_the_goal_says(marked: int, pad: tuple[str, ...]) -> None:
    goal = {**TALK, "choose": "{levers.2}"}
    now = variables(mode=DIALOGUE, choice=marked, secret_04=3, secret_05=1)
    now |= options("Red", "Blue")
    assert walker(goal).tick(now) == pad


def test_it_talks_to_the_thing_that_a_secret_names() -> None:
    goal = {"talk": ("lever_{levers.1}",), "until": "met"}
    now = variables(["#####", "#@..#", "#####"], **child_at(3, 1, number=3), secret_04=1)
    assert walker(goal).tick(now) == ("RIGHT",)


def test_it_waits_for_the_night() -> None:
    goal = {**TALK, "when": "night"}
    now = variables(["####", "#@K#", "####"], **child_at(2, 1), facing=3)
    assert walker(goal).tick(now) == ()
    assert walker(goal).tick({**now, "clock": 22 * 60}) == ("A",)


def test_it_fights_for_the_money_that_it_needs() -> None:
    goal = {**TALK, "costs": 30, "earn_in": "village"}
    now = variables(["#####", "#c.@#", "#####"], **child_at(4, 1))
    assert walker(goal).tick(now) == ("LEFT",)


@pytest.mark.parametrize(
    ("enemy", "hp", "potions", "option"),
    [(1, 20, 9, 0), (1, 5, 9, 1), (1, 5, 1, 2), (2, 5, 1, 1), (2, 5, 0, 0)],
)
def test_in_a_battle_it_attacks_drinks_or_flees(
    enemy: int, hp: int, potions: int, option: int
) -> None:
    now = variables(mode=BATTLE, choices=3, enemy=enemy, hp=hp, item_potion=potions, choice=option)
    assert walker().tick(now) == ("A",)
    assert walker().tick({**now, "choice": (option + 1) % 3}) == ("DOWN",)


def test_it_rests_when_it_is_hurt() -> None:
    rows = ["######", "#K@..#", "#....#", "######"]
    node = walker()
    assert node.tick(variables(rows, hp=3, **child_at(1, 1))) in (("RIGHT",), ("DOWN",))
    assert node.tick(variables(rows, hp=20, **child_at(1, 1), facing=2)) == ("A",)


@pytest.mark.parametrize(
    ("mode", "pad"), [(TITLE, "START"), (MENU, "B"), (DIALOGUE, "A"), (CUTSCENE, "A")]
)
def test_it_presses_what_leads_on(mode: int, pad: str) -> None:
    assert walker().tick(variables(mode=mode)) == (pad,)


def test_a_game_without_the_overlay_is_told() -> None:
    now = variables(["####", "#@.#", "####"])
    del now["wall_00"]
    with pytest.raises(MinibrainsError, match=r"no variable 'wall_00'.*overlay truth\.json"):
        walker().tick({**now, **child_at(2, 1)})


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
