"""A policy slower than a frame: on a thread because the workflow says so,
with a time limit and a default action.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Episode, Register
from minibrains.engine.engine import Engine
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from nodes.policies.network import HeadFrames, HeadLogits, PolicyHead
from tests.support.engine_fixtures import FakeHost, make_plan, node, open_engine
from tests.support.timeouts import TIMEOUT

MODELS = bundled_dir("models")
WEIGHTS = "policy_head/airstriker-untrained.safetensors"
let_through = threading.Event()
"""Where Slow stands until it is let through."""


class Slow(PolicyHead):
    """A policy that takes as long as the test wants it to."""

    def forward(self, frames: HeadFrames) -> HeadLogits:
        assert let_through.wait(TIMEOUT)
        return super().forward(frames)


class Camera(Register):
    """Shows the same frames over and over."""

    def emit(self) -> HeadFrames:
        return np.ones((4, 84, 84), np.float32)

    def latch(self) -> None:
        pass


class Seen(Register):
    """Keeps what arrives; what it gives out is for nobody."""

    def reset(self, episode: Episode) -> None:
        self.logits: list[np.ndarray] = []

    def emit(self) -> HeadFrames:
        return np.zeros((4, 84, 84), np.float32)

    def latch(self, logits: HeadLogits) -> None:
        self.logits.append(logits)


def _entries(**head: Any) -> dict[str, Any]:
    return {
        "camera": node("Camera"),
        "head": node("Slow", {"frames": "camera.frames"}, brain=WEIGHTS, **head),
        "seen": node("Seen", {"logits": "head.logits"}),
    }


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine in real time, with a policy that does not come to an end
    before it is let through.
    """
    let_through.clear()
    engine = Engine(make_plan(_entries(**request.param), [Camera, Slow, Seen], MODELS))
    engine.context.realtime = True
    open_engine(engine)
    engine.reset(0, 0)
    yield engine
    let_through.set()
    engine.close()


@pytest.mark.parametrize("engine", [{"busy": "continue", "latency": 3}], indirect=True)
def test_the_game_goes_on_while_a_policy_thinks(engine: Engine) -> None:
    engine.advance(50)
    assert engine.thinking() == {"head"}
    assert engine.nodes["seen"].logits == []
    let_through.set()
    background = engine.runtimes["head"].background
    assert background is not None
    call = background._last
    assert call is not None
    assert call.finished.wait(TIMEOUT)
    engine.advance(1)
    assert len(engine.nodes["seen"].logits) == 1


@pytest.mark.parametrize(
    "engine", [{"busy": "continue", "timeout": 0.05, "on_error": "fallback"}], indirect=True
)
def test_past_its_time_limit_only_the_default_action_is_left(engine: Engine) -> None:
    engine.advance(1)
    while not engine.nodes["seen"].logits:
        engine.advance(1)
    first, *others = engine.nodes["seen"].logits[0].tolist()
    assert first == 0
    assert others == [-np.inf] * 5
    assert engine.node_stats()["head"].reason == "it took longer than its time limit of 0.05 s"


def test_without_busy_it_is_part_of_the_tick() -> None:
    let_through.set()
    engine = Engine(make_plan(_entries(), [Camera, Slow, Seen], MODELS))
    open_engine(engine)
    assert engine.runtimes["head"].background is None
    engine.close()


def test_a_policy_in_a_process_gives_what_it_gives_within_the_tick() -> None:
    found = []
    for keys in ({}, {"background": "process"}):
        entries = _entries(**keys)
        entries["head"] |= {"type": "PolicyHead@1"}
        engine = Engine(make_plan(entries, [Camera, PolicyHead, Seen], MODELS))
        try:
            open_engine(engine)
            engine.reset(0, 0)
            engine.advance(2)
            assert len(multiprocessing.active_children()) == len(keys)
            found.append(engine.nodes["seen"].logits)
        finally:
            assert engine.close() == []
    assert np.array_equal(*found)


def test_a_time_limit_needs_busy() -> None:
    with pytest.raises(
        WorkflowError,
        match=r'"timeout" is for a node that computes beside the tick, .* Write "busy"',
    ):
        make_plan(_entries(timeout=1), [Camera, Slow, Seen], MODELS)


def test_a_running_policy_is_moved_to_a_thread_and_back() -> None:
    let_through.set()
    engine = Engine(make_plan(_entries(), [Camera, Slow, Seen], MODELS))
    open_engine(engine)
    engine.reset(0, 0)
    engine.advance(3)
    for keys, threaded in (({"busy": "continue"}, True), ({}, False)):
        plan = make_plan(_entries(**keys), [Camera, Slow, Seen], MODELS)
        edit = engine.prepare(plan, None, lambda runtime, engine: FakeHost(runtime, engine))
        engine.edits.append(edit)
        engine.advance(1)
        assert engine.finish_edit(edit) == []
        assert (engine.runtimes["head"].background is not None) is threaded
        before = len(engine.nodes["seen"].logits)
        engine.advance(4)
        assert len(engine.nodes["seen"].logits) > before
    engine.close()


def test_airstriker_by_a_policy_on_a_thread_is_the_same_every_time(
    summary: Callable[..., Any], tmp_path: Path
) -> None:
    """In the fast clock, in which the clock waits for a thought that is late."""
    workflow = json.loads((bundled_dir("workflows") / "airstriker_pixels.json").read_text())
    workflow["nodes"]["head"] |= {
        "busy": "continue",
        "latency": 4,
        "timeout": 300,
        "on_error": "fallback",
    }
    (tmp_path / "thread.json").write_text(json.dumps(workflow))
    first, again = [summary("./thread.json", "--ticks", 200) for _ in range(2)]
    assert first["actions_sha256"] == again["actions_sha256"]
    assert first["nodes"]["head"]["runs"] == 25
