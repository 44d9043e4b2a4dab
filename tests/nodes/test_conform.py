"""Every shipped node passes the conformance test, and its state fits into a snapshot;
a node that is not in tests/support/node_cases.py fails here.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minibrains import Frames, Node
from minibrains.graph.catalog import node_types
from minibrains.node_schema import Input, Output
from minibrains.tape.snapshot import dump, load
from minibrains.testing import ScratchHost, check_node
from tests.support.node_cases import CASES, LINKED

_SLOW = ("PolicyDoctor", "TrainLoRA", "TrainPPO", "TrainVLM")
"""Nodes that train, or play a whole workflow, on every tick."""
_AS_TESTS: list[Any] = [name for name in CASES if name not in _SLOW]
_AS_TESTS += [pytest.param(name, marks=pytest.mark.slow) for name in _SLOW]


def test_the_list_is_complete() -> None:
    registry, _ = node_types(packs=False)
    assert sorted(CASES) == sorted(registry)


@pytest.mark.parametrize("name", CASES)
def test_says_where_it_belongs_and_what_its_sockets_are(name: str) -> None:
    registry, _ = node_types(packs=False)
    cls = registry[name]
    assert cls.category
    assert cls.schema.summary
    sockets: list[Input | Output] = [*cls.schema.inputs.values(), *cls.schema.outputs.values()]
    for socket in sockets:
        assert socket.doc, socket.name


@pytest.mark.usefixtures("tried_here")
@pytest.mark.parametrize("name", _AS_TESTS)
def test_conforms(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conformance test goes back to the state of every tick, which here passes through a
    snapshot before it is pickled.
    """
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    make, ticks = CASES[name]
    node = make()
    modules = {type(node).__module__}
    saved: list[bytes] = []

    def dumps(state: Any) -> bytes:
        saved.append(dump(state, modules))
        return pickle.dumps(load(saved[-1], modules))

    monkeypatch.setattr(
        "minibrains.testing.pickle", SimpleNamespace(dumps=dumps, loads=pickle.loads)
    )
    host = ScratchHost(tmp_path, "part", frame_rate=59.92, linked=LINKED.get(name, {}))
    results = check_node(node, *ticks, host=host)
    assert len(results) == len(saved) == len(ticks)


class _Writer(Node):
    """Breaks one rule at a time, to see that the conformance test notices."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.buffer = np.zeros(2, np.float32)
        self.count = 0

    def reset(self, episode: Any) -> None:
        if self.fault != "reset":
            self.count = 0

    def tick(self, frames: Frames) -> Frames:
        self.count += 1
        if self.fault == "input":
            frames += 1
        if self.fault == "output":
            self.buffer += 1
            return self.buffer
        return np.array([self.count], np.float32)


@pytest.mark.parametrize(
    ("fault", "rule"),
    [("input", "read-only"), ("output", "after it was returned"), ("reset", "not as good as new")],
)
def test_a_node_that_breaks_a_rule_is_noticed(fault: str, rule: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=rule):
        check_node(_Writer(fault), *[{"frames": np.zeros((1, 1, 1), np.float32)}] * 3)
