"""Saving and loading a running engine with a real console in it: exact, however often."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.graph.catalog import brain_finder, find_workflow, node_types
from minibrains.graph.check import check
from minibrains.graph.workflow import load_workflow
from tests.support.engine_fixtures import FakeHost
from tests.support.thinking_nodes import InProcess, InThread, Seen


def _open(folder: Path, kind: str) -> Engine:
    """Airstriker at random, and a node that thinks about the reward for up to three ticks,
    beside the game.
    """
    path = find_workflow("airstriker_random")
    registry, _ = node_types(packs=False)
    for cls in (InThread, InProcess, Seen):
        registry.add(cls)
    slow = {
        "type": f"{kind}@1",
        "set": {"most": 2.0},
        "in": {"number": "console.reward"},
        "busy": "continue",
        "latency": 3,
    }
    workflow = load_workflow(path).with_node("slow", slow)
    workflow = workflow.with_node("seen", {"type": "Seen@1", "in": {"value": "slow.runs"}})
    engine = Engine(compile_graph(check(workflow, registry, brain_finder(path))))
    engine.open(lambda runtime, engine: FakeHost(runtime, engine, folder=folder))
    engine.reset(2, 7)
    return engine


def _played(folder: Path, kind: str, ticks: int, disturb: Callable[[Engine], None]) -> Any:
    engine = _open(folder, kind)
    try:
        for _ in range(ticks):
            disturb(engine)
            assert not engine.advance(1)
        report = engine.report()
        return (
            report["actions_sha256"],
            report["trajectory_sha256"],
            report["score"],
            engine.nodes["seen"].all[-1],
        )
    finally:
        assert engine.close() == []


def _save_and_load(engine: Engine) -> None:
    saved = pickle.dumps(engine.state())
    engine.advance(2)
    engine.load_state(pickle.loads(saved))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "times"), [("InThread", 1000), ("InProcess", 200)])
def test_a_thousand_saves_and_loads_are_exact(kind: str, times: int, tmp_path: Path) -> None:
    undisturbed = _played(tmp_path, kind, times, lambda engine: None)
    assert undisturbed[3] == (times - 1 - (times - 1) % 3, (times - 1) // 3)
    assert _played(tmp_path, kind, times, _save_and_load) == undisturbed


def test_a_state_is_loaded_into_another_engine_and_another_episode(tmp_path: Path) -> None:
    engine = _open(tmp_path, "InThread")
    try:
        engine.advance(100)
        saved = pickle.dumps(engine.state())
        engine.advance(100)
        expected = engine.report()
    finally:
        assert engine.close() == []
    engine = _open(tmp_path, "InThread")
    try:
        engine.reset(5, 7)
        engine.advance(33)
        engine.load_state(pickle.loads(saved))
        assert engine.tick == 100
        assert engine.episode == (2, 7, None)
        engine.advance(100)
        assert engine.report() == expected
    finally:
        assert engine.close() == []


def test_a_state_may_have_the_former_name_of_an_attribute(tmp_path: Path) -> None:
    engine = _open(tmp_path, "InThread")
    try:
        engine.advance(100)
        state = engine.state()
        waiting = state["nodes"]["random"].pop("remaining")
        state["nodes"]["random"]["left"] = waiting
        saved = pickle.dumps(state)
        engine.advance(100)
        expected = engine.report()
        engine.load_state(pickle.loads(saved))
        assert vars(engine.nodes["random"])["remaining"] == waiting > 0
        assert "left" not in vars(engine.nodes["random"])
        engine.advance(100)
        assert engine.report() == expected
    finally:
        assert engine.close() == []
