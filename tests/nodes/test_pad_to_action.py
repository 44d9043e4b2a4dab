"""PadToAction: the action whose buttons are held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minibrains import ABSENT, MinibrainsError, Pad
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.actions.sink import ActionTable, EmulatorSink, PadToAction

TABLE = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")


def _named(pad: Pad | None, right: bool = True) -> Any:
    with opened(node := PadToAction(brain=TABLE)):
        ticks: list[dict[str, Any]] = [{"pad": pad, "facing": right}]
        (held,) = play(node, *ticks)
    if held.action is ABSENT:
        return ABSENT
    return TABLE.names[held.action]


@pytest.mark.parametrize("right", [True, False])
def test_every_action_is_named_by_the_buttons_that_it_begins_with(right: bool) -> None:
    # motions are never named, and FORWARD and BACK are preferred
    instead = {"projectile": "down", "rising": "forward", "jump kick": "up"}
    if right:
        instead |= {"right": "forward", "left": "back"}
    else:
        instead |= {"right": "back", "left": "forward"}

    sink = EmulatorSink(brain=TABLE)
    with opened(sink):
        for number, name in enumerate(TABLE.names):
            (pressed,) = play(sink, {"action": number, "facing": right})
            assert _named(pressed.pad, right) == instead.get(name, name)


def test_buttons_that_no_action_holds_together_give_the_one_that_holds_most_of_them() -> None:
    assert _named(("DOWN", "RIGHT", "C", "START")) == "down+forward+C"
    assert _named(("START",)) == "none"
    assert _named(()) == "none"


def test_without_a_pad_there_is_no_action() -> None:
    assert _named(None) is ABSENT


def test_a_table_may_have_no_action_for_a_pad() -> None:
    table = ActionTable(
        names=("kick", "roll"),
        buttons=("DOWN", "B"),
        starts=np.array([0, 1, 3], np.int32),
        rows=np.array([[0, 1], [1, 0], [0, 1]], np.uint8),  # the roll is a motion
    )
    with opened(node := PadToAction(brain=table)):
        pads: list[Pad] = [("B",), ("B", "DOWN"), ("DOWN",), ()]
        ticks: list[dict[str, Any]] = [{"pad": pad} for pad in pads]
        held = play(node, *ticks)
    assert [now.action for now in held] == [0, 0, ABSENT, ABSENT]


def test_it_says_when_another_action_begins() -> None:
    pads: list[Pad | None] = [None, ("C",), ("C",), (), ("C", "DOWN"), None, ("C", "DOWN")]
    with opened(node := PadToAction(brain=TABLE)):
        ticks: list[dict[str, Any]] = [{"pad": pad, "facing": True} for pad in pads]
        held = play(node, *ticks)
    assert [now.begins for now in held] == [False, True, False, True, True, False, True]


def test_a_table_with_directions_needs_to_know_which_way() -> None:
    with (
        opened(node := PadToAction(brain=TABLE)),
        pytest.raises(MinibrainsError, match="link facing"),
    ):
        play(node, {"pad": ()})
