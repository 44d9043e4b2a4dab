"""Nodes with work that takes long: they show how far they are, and end early when they are to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import minibrains as mb
from server.commands import progress

PACK = Path(__file__).parents[1] / "support" / "thinking_nodes.py"
WAYS: dict[str, dict[str, Any]] = {
    "in the tick": {},
    "on a thread": {"busy": "wait"},
    "in a process": {"background": "process"},
    "beside the game": {"busy": "continue"},
}


class Watches(mb.Hook):
    """Remembers the progress; ends the run once one has done so many steps."""

    def __init__(self, stop_at: float = sys.maxsize) -> None:
        self.shown: list[mb.NodeProgress] = []
        self.stop_at = stop_at

    def on_node_progress(self, run: mb.Run, progress: mb.NodeProgress) -> None:
        self.shown.append(progress)
        if progress.done >= self.stop_at:
            run.stopping = True


def _spec(folder: Path, way: str, workers: str = "1", **widgets: Any) -> mb.RunSpec:
    works = {"type": "thinking_nodes.Works@1", "set": widgets, "in": {"number": "clock.number"}}
    nodes = {"clock": {"type": "thinking_nodes.Clock@1"}, "works": works | WAYS[way]}
    workflow = {"minibrains": 1, "run": {"ticks": 2, "episodes": 1}, "nodes": nodes}
    path = folder / "work.json"
    path.write_text(json.dumps(workflow))
    return mb.RunSpec(path, packs=(PACK,), workers=workers)


@pytest.mark.parametrize("way", WAYS)
def test_hooks_are_told_how_far_a_node_is(tmp_path: Path, way: str) -> None:
    hook = Watches()
    with mb.Run(_spec(tmp_path, way, steps=2000), [hook]) as run:
        list(run)
    done = [progress.done for progress in hook.shown]
    assert done == sorted(done)
    assert hook.shown[-1] == mb.NodeProgress("works", 2000, 2000, "step 2000")
    assert len(done) < 2000, "only the newest are shown"


@pytest.mark.parametrize("way", ["in the tick", "on a thread", "in a process"])
def test_a_node_is_told_to_end_early_and_keeps_what_it_has(tmp_path: Path, way: str) -> None:
    hook = Watches(stop_at=100)
    with mb.Run(_spec(tmp_path, way, steps=100, wait=True), [hook]) as run:
        (episode,) = run
    assert episode.row["done"] == 100
    assert run.state == "stopped"


def test_what_a_node_of_a_worker_shows_reaches_the_hooks(tmp_path: Path) -> None:
    hook = Watches()
    with mb.Run(_spec(tmp_path, "in the tick", workers="2", steps=50), [hook]) as run:
        list(run)
    assert hook.shown[-1] == mb.NodeProgress("works", 50, 50, "step 50")


def test_a_node_of_a_worker_is_told_to_end_early(tmp_path: Path) -> None:
    hook = Watches(stop_at=20)
    with mb.Run(_spec(tmp_path, "in the tick", workers="2", steps=20, wait=True), [hook]) as run:
        (episode,) = run
    assert episode.row["done"] == 20


def test_a_file_has_a_line_a_minute_in_the_place_of_bars(
    tmp_path: Path, minibrains: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_LINE_AFTER", 0.0)
    spec = _spec(tmp_path, "in the tick", steps=5)
    done = minibrains("run", spec.workflow, "--pack", PACK)
    assert done.returncode == 0
    assert "works: 5 of 5, step 5\n" in done.stderr
    assert "\r" not in done.stderr


def test_on_a_terminal_the_time_that_is_left_counts_from_where_the_work_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    hook = progress.progress_hook()
    assert isinstance(hook, progress.ProgressBar)
    run = mb.Run(_spec(tmp_path, "in the tick"))
    hook.before_open(run)
    hook.on_node_progress(run, mb.NodeProgress("works", 0, None, "reading"))
    hook.on_node_progress(run, mb.NodeProgress("works", 800, 1000, "goes on"))
    hook.before_close(run)
    assert "800/1000, ? left" in capsys.readouterr().err, "nothing was done yet since it goes on"
