"""SimpleFighter plays loops, rules and tables as they stand in a brain,
and says what is wrong with one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from minibrains import BrainError, MinibrainsError, Pad
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.fighting.simple import SimpleFighter, SimplePlayers

LOOP: dict[str, Any] = {
    "kind": "loop",
    "answers": [[{"held": "F", "frames": 2}, {"held": "G+A", "frames": 1}]],
    "late": 0,
    "interval": 0,
    "knows_side": True,
    "conditions": [],
    "distance_edges": [],
    "height_edge": 0,
    "status_groups": [],
}
ACTIONS = {"none": ["", ""], "left+A": ["LEFT+A", "LEFT"], "right": ["RIGHT"]}


def _answers(*held: str) -> list[list[dict[str, Any]]]:
    return [[{"held": buttons, "frames": 1}] for buttons in held]


def _moment(gap: int = 100, **changed: int) -> dict[str, int]:
    still = {
        "agent_x": 200, "agent_status": 512, "agent_hp": 176,
        "enemy_x": 200 + gap, "enemy_y": 192, "enemy_status": 512, "enemy_hp": 176,
    }  # fmt: skip
    return still | changed


def _pads(player: Mapping[str, Any], *moments: Mapping[str, int]) -> list[Pad]:
    brain = SimplePlayers(players={"one": player}, actions=ACTIONS)
    fighter = SimpleFighter(brain=brain, player="one")
    ticks = [{"variables": moment} for moment in moments]
    with opened(fighter):
        return play(fighter, *ticks)


def test_a_loop_goes_on_for_ever_and_looks_for_the_enemy_at_each_step() -> None:
    right, left = _moment(100), _moment(-100)
    assert _pads(LOOP, right, right, right, right) == [
        ("RIGHT",),
        ("RIGHT",),
        ("LEFT", "A"),
        ("RIGHT",),
    ]
    assert _pads(LOOP, right, left, left, left) == [
        ("RIGHT",),
        ("RIGHT",),
        ("RIGHT", "A"),
        ("LEFT",),
    ]
    blind = {**LOOP, "knows_side": False}
    assert _pads(blind, left, left, left) == [("RIGHT",), ("RIGHT",), ("LEFT", "A")]


def test_a_rule_answers_by_how_its_conditions_hold() -> None:
    near = {"feature": "distance", "below": 60}
    attacks = {"feature": "enemy is", "below": 1 << 4}
    rule = {
        **LOOP,
        "kind": "rule",
        "conditions": [near, attacks],
        "answers": _answers("", "X", "Y", "Z"),
    }
    situations = [
        _moment(60),
        _moment(60, enemy_status=520),
        _moment(59),
        _moment(59, enemy_status=520),
    ]
    assert _pads(rule, *situations) == [(), ("X",), ("Y",), ("Z",)]


@pytest.mark.parametrize(
    ("feature", "below", "moment"),
    [
        ("height", 20, _moment(enemy_y=173)),
        ("lead", -9, _moment(agent_hp=100, enemy_hp=110)),
        ("own is", 1 << 6, _moment(agent_status=524)),
    ],
)
def test_a_rule_looks_at_this(feature: str, below: int, moment: dict[str, int]) -> None:
    rule = {
        **LOOP,
        "kind": "rule",
        "conditions": [{"feature": feature, "below": below}],
        "answers": _answers("", "X"),
    }
    less = 0 if feature.endswith(" is") else below - 1
    other = {**rule, "conditions": [{"feature": feature, "below": less}]}
    assert (_pads(rule, moment), _pads(other, moment)) == ([("X",)], [()])


def test_a_rule_counts_how_long_a_status_has_lasted() -> None:
    rule = {
        **LOOP,
        "kind": "rule",
        "conditions": [{"feature": "enemy frames", "below": 2}],
        "answers": _answers("", "X"),
    }
    stands, attacks = _moment(), _moment(enemy_status=520)
    assert _pads(rule, stands, stands, attacks, attacks, attacks) == [
        ("X",),
        (),
        ("X",),
        ("X",),
        (),
    ]


def test_a_table_has_an_answer_for_each_distance_status_and_height() -> None:
    table = {
        **LOOP,
        "kind": "table",
        "distance_edges": [60],
        "height_edge": 10,
        "status_groups": [0, 0, 1, 0, 2, 2, 0],
        "answers": _answers("", "UP", "DOWN", "A", "B", "C", "X", "Y", "Z", "UP+A", "UP+B", "UP+C"),
    }
    near_and_low = _moment(59)
    far_and_high_in_a_jump = _moment(60, enemy_status=516, enemy_y=182)
    near_and_striking = _moment(30, enemy_status=522)
    assert _pads(table, near_and_low, far_and_high_in_a_jump, near_and_striking) == [
        (),
        ("UP", "A"),
        ("B",),
    ]


def test_what_it_sees_is_late() -> None:
    rule = {
        **LOOP,
        "kind": "rule",
        "late": 2,
        "conditions": [{"feature": "distance", "below": 60}],
        "answers": _answers("", "X"),
    }
    assert _pads(rule, _moment(90), *[_moment(30)] * 3) == [(), (), (), ("X",)]


def test_actions_are_taken_at_an_interval_and_mirrored() -> None:
    player = {
        **LOOP,
        "interval": 3,
        "answers": [[{"held": "left+A", "frames": 1}, {"held": "none", "frames": 1}]],
    }
    assert _pads(player, *[_moment(100)] * 4) == [("LEFT", "A"), ("LEFT",), ("LEFT",), ()]
    assert _pads(player, *[_moment(-100)] * 2) == [("RIGHT", "A"), ("RIGHT",)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "tree"}, "'one': expected one of 'loop', 'rule', 'table', found 'tree'"),
        (
            {"kind": "rule", "conditions": [{"feature": "distance", "below": 3}]},
            "a rule of this form has 2 answers",
        ),
        (
            {"answers": [[{"held": "Q", "frames": 1}]]},
            "there is no 'Q' to hold; expected some of 'A', 'B'",
        ),
        ({"answers": [[{"held": "X", "frames": 0}]]}, "a step lasts 0 frames; expected 1 to 255"),
        ({"answers": [[{"held": "X"}]]}, "a step has 'held'; expected held, frames"),
        ({"interval": 6}, "there is no 'F' to hold; expected some of 'left"),
        ({"late": 61}, "expected late from 0 to 60"),
        (
            {"kind": "table", "answers": _answers(*"XXXXXX")},
            "status_groups: expected 7 numbers below 3",
        ),
    ],
)
def test_a_player_that_cannot_be_read_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BrainError, match=words):
        SimplePlayers(players={"one": {**LOOP, **change}}, actions=ACTIONS)


def test_a_player_that_is_not_there_is_named() -> None:
    fighter = SimpleFighter(
        brain=SimplePlayers(players={"one": LOOP}, actions=ACTIONS), player="two"
    )
    with (
        pytest.raises(
            MinibrainsError, match=r"the brain has no player 'two'. Expected one of 'one'"
        ),
        opened(fighter),
    ):
        pass


@pytest.mark.slow
def test_the_shipped_players_of_a_level_play_a_match_each(
    summary: Callable[..., dict[str, Any]],
) -> None:
    players = json.loads((bundled_dir("games") / "Duel-Genesis/simple_players.json").read_text())[
        "players"
    ]
    names = [name for name in players if name.startswith("level 4,")]
    assert names
    trajectories = set()
    for name in names:
        widgets = (
            "--set",
            f"fighter.player={name}",
            "--set",
            'console.write={"seed": "$seed", "blank": 1}',
        )
        result = summary("duel_simple", "--episodes", 1, *widgets)
        (episode,) = result["episodes"]
        assert episode["ended"] == "done"
        trajectories.add(episode["trajectory_sha256"])
    assert len(trajectories) == len(names)
