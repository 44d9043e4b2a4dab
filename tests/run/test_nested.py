"""A workflow that a node runs: `Host.run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import minibrains as mb
from minibrains.errors import MinibrainsError
from minibrains.testing import ScratchHost

PACK = Path(__file__).parents[1] / "support" / "thinking_nodes.py"


class Watches(mb.Hook):
    """Remembers what is shown; ends the run once a node is so far."""

    def __init__(self, stop_at: float = sys.maxsize) -> None:
        self.shown: list[mb.NodeProgress] = []
        self.messages: list[str] = []
        self.stop_at = stop_at

    def on_node_progress(self, run: mb.Run, progress: mb.NodeProgress) -> None:
        self.shown.append(progress)
        if progress.done >= self.stop_at:
            run.stopping = True

    def on_message(self, run: mb.Run, text: str) -> None:
        self.messages.append(text)


def _file(folder: Path, name: str, ticks: int, nodes: dict[str, Any]) -> str:
    workflow = {"minibrains": 1, "run": {"ticks": ticks, "episodes": 1}, "nodes": nodes}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(workflow))
    return str(path)


def _outer(
    folder: Path, inner: str, entry: dict[str, Any] | None = None, **widgets: Any
) -> mb.RunSpec:
    runs = {
        "type": "thinking_nodes.RunsAnother@1",
        "set": {"workflow": inner, **widgets},
        "in": {"number": "clock.number"},
        **(entry or {}),
    }
    nodes = {"clock": {"type": "thinking_nodes.Clock@1"}, "runs": runs}
    return mb.RunSpec(_file(folder, "outer", 1, nodes), packs=(PACK,))


@pytest.fixture
def working(tmp_path: Path) -> str:
    """A workflow with work that takes 50 steps, on each of two ticks."""
    works = {
        "type": "thinking_nodes.Works@1",
        "set": {"steps": 50},
        "in": {"number": "clock.number"},
    }
    nodes = {"clock": {"type": "thinking_nodes.Clock@1"}, "works": works}
    return _file(tmp_path, "working", 2, nodes)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_node_runs_a_workflow_and_gets_its_summary(
    tmp_path: Path, working: str, workers: int
) -> None:
    with mb.Run(_outer(tmp_path, working, workers=workers)) as run:
        (episode,) = run
    assert episode.row["states"] == ["done"]
    assert episode.row["nested_ticks"] == [2, 2]


def test_its_progress_is_shown_at_the_node(tmp_path: Path, working: str) -> None:
    hook = Watches()
    with mb.Run(_outer(tmp_path, working), [hook]) as run:
        list(run)
    assert {progress.node for progress in hook.shown} == {"runs"}
    assert mb.NodeProgress("runs", 50, 50, "working: step 50") in hook.shown
    assert hook.shown[-1] == mb.NodeProgress("runs", 2, 2, "working: episodes")


def test_its_widgets_can_be_set(tmp_path: Path, working: str) -> None:
    hook = Watches()
    with mb.Run(_outer(tmp_path, working, settings={"works.steps": 7}), [hook]) as run:
        list(run)
    assert mb.NodeProgress("runs", 7, 7, "working: step 7") in hook.shown


def test_it_ends_when_the_run_is_stopped(tmp_path: Path, working: str) -> None:
    hook = Watches(stop_at=20)
    spec = _outer(tmp_path, working, settings={"works.steps": 20, "works.wait": True})
    with mb.Run(spec, [hook]) as run:
        (episode,) = run
    assert episode.row["states"] == ["stopped"]
    assert run.state == "stopped"


def test_a_wrong_workflow_is_the_node_s_error(tmp_path: Path, working: str) -> None:
    spec = _outer(tmp_path, working, settings={"works.step": 7})
    with (
        pytest.raises(MinibrainsError, match="has no widget 'step'"),
        mb.Run(spec) as run,
    ):
        list(run)


def test_a_node_in_a_process_of_its_own_cannot(tmp_path: Path, working: str) -> None:
    spec = _outer(tmp_path, working, {"background": "process"})
    with (
        pytest.raises(
            MinibrainsError, match="only a node in the process of its run can run a workflow"
        ),
        mb.Run(spec) as run,
    ):
        list(run)


def test_nor_can_a_node_under_test(tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match="only a node in the process of its run"):
        ScratchHost(tmp_path).run("hello")
