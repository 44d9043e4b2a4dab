"""Breakpoints hold between ticks, and at the end of an episode."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import minibrains as mb
from minibrains.errors import Fault
from minibrains.graph.breakpoint import Breakpoint, read_breakpoints
from minibrains.graph.workflow import parse_workflow
from minibrains.run.breakpoints import Breakpoints
from server.http.run_controller import RunController

PACK = '''
from typing import NamedTuple

from minibrains import Flag, Node, Number, Register


class Counted(NamedTuple):
    number: Number
    over: Flag


class Counts(Register, terminal="over"):
    """Counts to three.

    number: how far it has come
    over:   whether that is all
    """

    def reset(self, episode) -> None:
        self.number = 0

    def emit(self) -> Counted:
        return Counted(float(self.number), self.number == 3)

    def latch(self) -> None:
        self.number += 1


class Doubles(Node):
    """Doubles."""

    def tick(self, number: Number) -> Number:
        return 2 * number
'''


def condition(text: str) -> Breakpoint:
    faults: list[Fault] = []
    (found,) = read_breakpoints({"a.b": text}, faults)
    assert not faults
    return found


@pytest.mark.parametrize(
    ("text", "holds", "does_not"),
    [
        ("< 0", [-1, -0.5, np.float32(-2), np.array(-1)], [0, 3.5, "-1", None, np.array([-1])]),
        ("== true", [True, np.bool_(True)], [False, "true", (True,)]),
        ('!= "jump"', ["duck", ""], ["jump", 3, None]),
    ],
)
def test_what_cannot_be_compared_does_not_hold(
    text: str, holds: list[object], does_not: list[object]
) -> None:
    found = condition(text)
    assert [value for value in holds if not found.holds(value)] == []
    assert [value for value in does_not if found.holds(value)] == []
    assert str(found) == f"a.b {text}"


def test_they_leave_the_hash_of_the_workflow_as_it_is() -> None:
    data = {"minibrains": 1, "nodes": {"each": {"type": "Every@1"}}}
    broken = parse_workflow({**data, "breakpoints": {"each.now": "== true"}})
    assert broken.hash({}) == parse_workflow(data).hash({})
    assert broken.to_json()["breakpoints"] == {"each.now": "== true"}


def test_the_tick_that_ends_an_episode_pauses_too(tmp_path: Path) -> None:
    pack = tmp_path / "counting.py"
    pack.write_text(PACK)
    workflow = {
        "minibrains": 1,
        "run": {"episodes": 2},
        "nodes": {
            "counts": {"type": "counting.Counts@1"},
            "doubles": {"type": "counting.Doubles@1", "in": {"number": "counts.number"}},
            "seen": {"type": "Preview@2", "in": {"value": "doubles.number"}},
        },
    }
    woken = threading.Event()
    controller = RunController(woken)
    controller.breakpoints = Breakpoints([Breakpoint("doubles", "number", "==", 6)])
    found: list[tuple[tuple[str, ...], int]] = []

    def resume() -> None:
        for _ in range(2):
            while not (controller.waiting and controller.hit_breakpoints):
                woken.wait()
                woken.clear()
            assert controller.engine is not None
            found.append((controller.hit_breakpoints, controller.engine.total_ticks))
            controller.pause(False)

    person = threading.Thread(target=resume)
    person.start()
    with mb.Run(mb.RunSpec(workflow, packs=(pack,)), [controller]) as run:
        ends = [episode.ended for episode in run]
    person.join()
    # six is there only on the fourth tick of each episode, which is its last
    assert found == [(("doubles.number == 6",), 4), (("doubles.number == 6",), 8)]
    assert ends == ["done", "done"]
