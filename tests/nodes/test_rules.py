"""Rules wired on the canvas: constants, comparisons, what is more urgent."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains import Episode, Node, Number, On, Register
from minibrains.errors import WorkflowError
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check
from minibrains.graph.workflow import parse_workflow
from minibrains.testing import opened, play
from nodes.control.flow import Override
from nodes.control.rules import Compare, Constant, Not
from tests.support.engine_fixtures import make_engine, node, open_engine
from tests.support.thinking_nodes import Clock

EMERGENCY = ["A", "DOWN"]
DUEL = {"game": "Duel-Genesis", "states": ["Level8.KazeVsBron"], "write": {"seed": "$seed"}}


def _outputs(part: Node, *ticks: Any) -> list[Any]:
    with opened(part):
        return play(part, *ticks)


def _log(folder: Path, name: str) -> list[tuple[int, Any]]:
    (path,) = folder.rglob(f"{name}.jsonl")
    values = []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        values.append((line["tick"], line["value"]))
    return values


@pytest.mark.parametrize(
    ("op", "holds"),
    [
        ("<", operator.lt),
        ("<=", operator.le),
        ("==", operator.eq),
        ("!=", operator.ne),
        (">=", operator.ge),
        (">", operator.gt),
    ],
)
def test_a_number_is_compared_with_the_widget_or_with_what_is_linked(
    op: Any, holds: Callable[..., bool]
) -> None:
    for number in (9.0, 10.0, 11.0):
        expected = holds(number, 10)
        by_widget = _outputs(Compare(op=op, value=10), {"number": number})
        by_link = _outputs(Compare(op=op, value=99), {"number": number, "limit": 10.0})
        assert by_widget == by_link == [expected]


def test_not_is_the_opposite() -> None:
    assert _outputs(Not(), {"flag": True}, {"flag": False}) == [False, True]


@pytest.mark.parametrize(
    ("value", "link", "expected"),
    [
        (44, "sink.action", "action index[44]"),
        (-1, "sink.action", "action index[44]"),
        ("block", "sink.action", "action index[44]"),
        (["DOWN", 3], "console.pad1", "pad"),
        ("DOWN", "console.pad1", "pad"),
        (True, "low.limit", "number"),
        (1, "open.flag", "flag"),
        (0, "grey.frame", "frame u8[h w 3]"),
    ],
)
def test_a_constant_of_another_type_than_its_links_is_refused(
    value: Any, link: str, expected: str
) -> None:
    nodes: dict[str, Any] = {
        "console": {"type": "RetroEmulator@3", "in": {}},
        "hp": {
            "type": "Variable@1",
            "set": {"name": "lives"},
            "in": {"variables": "console.variables"},
        },
        "low": {"type": "Compare@1", "in": {"number": "hp.number"}},
        "open": {"type": "Not@1", "in": {"flag": "low.flag"}},
        "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
        "random": {"type": "RandomPolicy@1", "set": {"actions": 44}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "action_table/duel.safetensors",
        },
        "constant": {"type": "Constant@1", "set": {"value": value}},
    }
    target, socket = link.split(".")
    nodes[target]["in"][socket] = "constant.value"
    registry, _ = node_types(packs=False)
    with pytest.raises(WorkflowError) as raised:
        check(parse_workflow({"minibrains": 1, "nodes": nodes}), registry, brain_finder(None))
    (fault,) = raised.value.faults
    assert (fault.node, fault.socket, fault.code) == ("constant", "value", "invalid_input_type")
    if isinstance(value, list):
        value = tuple(value)
    assert (fault.expected, fault.found) == (expected, repr(value))


class Kept(Register):
    """Keeps the events that reach it."""

    def reset(self, episode: Episode) -> None:
        self.events: list[float | None] = []

    def emit(self) -> Number:
        return len(self.events)

    def latch(self, number: On[Number]) -> None:
        self.events.append(number)


def test_a_constant_is_an_event_while_a_flag_is_true() -> None:
    entries = {
        "clock": node("Clock"),
        "late": node("Compare", {"number": "clock.number"}, set={"op": ">=", "value": 4}),
        "once": node("Constant", set={"value": 1}),
        "often": node("Constant", {"now": "late.flag"}, set={"value": 2}),
        "either": node("Override", {"value": "once.value", "urgent": "often.value"}),
        "kept": node("Kept", {"number": "either.value"}),
    }
    engine = make_engine(entries, [Clock, Compare, Constant, Override, Kept])
    open_engine(engine)
    engine.reset(0, 0)
    engine.advance(7)
    assert engine.nodes["kept"].events == [1, None, None, None, 2, 2, 2]
    engine.close()


def test_an_emergency_wired_on_the_canvas_acts_on_the_next_frame(
    summary: Callable[..., Any], tmp_path: Path
) -> None:
    """Whatever the plan is in the middle of: the switch stands between the sink and the pad."""
    nodes = {
        "console": {"type": "RetroEmulator@3", "set": DUEL, "in": {"pad1": "pick.value"}},
        "random": {"type": "RandomPolicy@1", "set": {"actions": 44}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "action_table/duel.safetensors",
        },
        "hp": {
            "type": "Variable@1",
            "set": {"name": "agent_hp"},
            "in": {"variables": "console.variables"},
        },
        "low": {
            "type": "Compare@1",
            "set": {"op": "<", "value": 10},
            "in": {"number": "hp.number"},
        },
        "guard": {"type": "Constant@1", "set": {"value": EMERGENCY}},
        "pick": {
            "type": "Switch@1",
            "in": {"flag": "low.flag", "yes": "guard.value", "no": "sink.pad"},
        },
        "plan": {"type": "Log@1", "in": {"value": "sink.pad"}},
        "health": {"type": "Log@1", "in": {"value": "hp.number"}},
        "held": {"type": "Log@1", "in": {"value": "pick.value"}},
    }
    (tmp_path / "emergency.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    result = summary("./emergency.json", "--episodes", 1, "--ticks", 6000)
    health = dict(_log(tmp_path, "health"))
    plan = dict(_log(tmp_path, "plan"))
    held = dict(_log(tmp_path, "held"))
    low = 0
    for tick in range(result["ticks"]):
        if health[tick] < 10:
            low += 1
            assert held[tick] == EMERGENCY
        else:
            assert held[tick] == plan[tick]
    assert 0 < low < result["ticks"]
