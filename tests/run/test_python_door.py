"""Runs from Python: RunSpec, Run and hooks, as a script uses them."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import json
import multiprocessing
import pickle
import re
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

import minibrains as mb
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(BLOCK.findall((ROOT / "docs/python.md").read_text()))
SHORT = mb.RunSpec("airstriker_random", episodes=2, ticks=60, seed=3)


def _play(spec: mb.RunSpec) -> dict[str, Any]:
    with mb.Run(spec) as run:
        for _ in run:
            pass
    return run.summary


def _python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_page_run(name: str, tmp_path: Path) -> None:
    done = _python(EXAMPLES[name], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr
    assert not list(tmp_path.iterdir()), "without `runs` nothing is kept"


def test_importing_the_library_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = "{'torch', 'aiohttp', 'stable_retro', 'transformers', 'nodes'}"
    done = _python(f"import sys, minibrains; print(sorted({heavy} & sys.modules.keys()))", tmp_path)
    assert done.stdout == "[]\n"


def test_a_script_comes_to_what_the_command_line_comes_to(summary: Any) -> None:
    theirs = summary("airstriker_random", "--episodes", 2, "--ticks", 60, "--seed", 3)
    ours = _play(SHORT)
    assert ours["actions_sha256"] == theirs["actions_sha256"]
    assert ours["episodes"] == theirs["episodes"]
    assert ours.keys() == theirs.keys()


def test_a_pickled_spec_makes_the_same_run_in_workers() -> None:
    spec = pickle.loads(pickle.dumps(SHORT))
    assert spec == SHORT
    one, two = _play(spec), _play(dataclasses.replace(spec, workers=2))
    assert one["episodes"] == two["episodes"]
    assert two["workers"] == 2


def test_it_prints_nothing_and_leaves_the_process_as_it_was(
    capfd: pytest.CaptureFixture[str],
) -> None:
    import torch

    torch.set_num_threads(2)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    threads, frozen = threading.active_count(), gc.get_freeze_count()
    _play(mb.RunSpec("airstriker_pixels", ticks=20))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert torch.get_num_threads() == 2
    assert gc.get_freeze_count() == frozen
    assert threading.active_count() <= threads
    assert capfd.readouterr() == ("", "")


def test_leaving_the_loop_early_closes_everything() -> None:
    for _ in mb.Run(SHORT):
        break
    gc.collect()  # the loop's generator is closed where nothing refers to it any more
    with mb.Run(SHORT) as run:
        for episode in run:
            assert episode.ended == "limit"
            break
    assert (len(run.summary["episodes"]), run.summary["state"]) == (1, "stopped")
    assert _play(SHORT)["state"] == "done", "the emulator is free again"


def test_leaving_the_loop_early_ends_the_workers() -> None:
    before = set(multiprocessing.active_children())
    with mb.Run(dataclasses.replace(SHORT, episodes=20, workers=2)) as run:
        for _ in run:
            break
    for child in set(multiprocessing.active_children()) - before:
        # not `join`: the thread that reads from it may be just about to do that
        assert wait([child.sentinel], timeout=TIMEOUT), (
            "it was killed, and the system may still be about to end it"
        )
    assert run.summary["state"] == "stopped"


def test_a_run_is_opened_once() -> None:
    with mb.Run(SHORT) as run:
        pass
    with pytest.raises(mb.MinibrainsError, match="was opened before; make another Run"), run:
        pass


def test_a_second_console_is_refused_in_a_sentence() -> None:
    with mb.Run(SHORT) as first:
        with (
            pytest.raises(
                mb.MinibrainsError, match="a process can have one emulator, and it is running"
            ),
            mb.Run(SHORT),
        ):
            pass
        assert next(iter(first)).ended == "limit", "the first one plays on"


def test_everything_wrong_is_said_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(mb.MinibrainsError, match=r"sink: .*no widget 'speed'"):
        mb.Run(dataclasses.replace(SHORT, widgets={"sink.speed": 3}, runs=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("episodes", 0, "episodes of a run: expected a whole number from 1, found 0"),
        ("ticks", 1.5, "ticks of a run: expected a whole number from 1, found 1.5"),
        ("seed", -1, "seed of a run: expected a whole number from 0, found -1"),
        ("clock", "slow", "clock of a run: expected 'fast' or 'realtime', found 'slow'"),
        ("widgets", {"noops": 3}, "expected NODE.WIDGET, found noops"),
        ("workflow", "airstrike", "Did you mean 'airstriker'"),
        ("workers", 0, "expected a whole number from 1 to 1024"),
        ("record", True, "a tape needs a run folder; set runs"),
        ("mute", "lora", "mute of a run: expected a tuple of nodes, found 'lora'"),
        ("packs", "mine.py", "packs of a run: expected a tuple of files, found 'mine.py'"),
        ("brains", {"sink": 3}, "sink: expected a file, found int; save it first"),
    ],
)
def test_a_bad_spec_is_a_sentence(field: str, value: Any, sentence: str) -> None:
    with pytest.raises(mb.MinibrainsError, match=re.escape(sentence)):
        mb.Run(dataclasses.replace(SHORT, **{field: value}))


class Notes(mb.Hook):
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def prepare(self, workflow: Any, registry: Any) -> Any:
        self.calls.append("prepare")
        return workflow

    def after_open(self, run: mb.Run) -> None:
        self.calls.append("after_open")

    def before_episode(self, run: mb.Run, index: int) -> None:
        self.calls.append(("before_episode", index))

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        self.calls.append(run.engine.tick)
        return mb.Budget(ticks=20)

    def after_episode(self, run: mb.Run, episode: mb.EpisodeResult) -> None:
        self.calls.append(("after_episode", episode.index, episode.ticks))

    def before_close(self, run: mb.Run) -> None:
        self.calls.append("before_close")

    def on_summary(self, run: mb.Run) -> None:
        self.calls.append(("on_summary", run.summary["state"]))


def test_hooks_are_called_in_their_order_and_keep_to_their_budget() -> None:
    hook = Notes()
    with mb.Run(dataclasses.replace(SHORT, episodes=1), [hook]) as run:
        for _ in run:
            pass
    looks = [call for call in hook.calls if isinstance(call, int)]
    assert all(later - earlier <= 20 for earlier, later in itertools.pairwise(looks))
    others = [call for call in hook.calls if not isinstance(call, int)]
    assert others == [
        "prepare", "after_open", ("before_episode", 0), ("after_episode", 0, 60), "before_close",
        ("on_summary", "done"),
    ]  # fmt: skip


class Raises(mb.Hook):
    def after_episode(self, run: mb.Run, episode: mb.EpisodeResult) -> None:
        raise RuntimeError("enough")


def test_a_second_loop_goes_on_where_the_first_left_off() -> None:
    with mb.Run(dataclasses.replace(SHORT, episodes=3)) as run:
        first = next(iter(run))
        rest = list(run)
        assert list(run) == []
    assert [first.index, *(episode.index for episode in rest)] == [0, 1, 2]
    with pytest.raises(mb.MinibrainsError, match="this run is over; make another"):
        list(run)


def test_ctrl_c_in_a_script_stops_the_run() -> None:
    run = mb.Run(SHORT)
    with pytest.raises(KeyboardInterrupt), run:
        raise KeyboardInterrupt
    assert run.summary["state"] == "stopped"


class LooksAtTheConsole(mb.Hook):
    """Looks at an output before every tick."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        self.seen.append(run.peek("console.reward"))
        with pytest.raises(
            mb.MinibrainsError,
            match=r"the graph has no output 'console\.score'; expected NODE\.SOCKET",
        ):
            run.peek("console.score")
        return mb.Budget(ticks=1)


def test_a_hook_sees_every_value_of_an_output() -> None:
    hook = LooksAtTheConsole()
    with mb.Run(mb.RunSpec("airstriker", episodes=1, ticks=600), [hook]) as run:
        (episode,) = run
    assert len(hook.seen) == 601, "and once at the end"
    assert sum(hook.seen) == episode.score


class NoTicks(mb.Hook):
    def between_ticks(self, run: mb.Run) -> mb.Budget:
        return mb.Budget(ticks=0)


def test_a_budget_of_nothing_is_refused() -> None:
    with (
        pytest.raises(mb.MinibrainsError, match="a budget of 0 ticks; expected at least 1"),
        mb.Run(SHORT, [NoTicks()]) as run,
    ):
        list(run)


def test_a_misspelt_hook_method_is_refused() -> None:
    with pytest.raises(
        mb.MinibrainsError,
        match=r"Late\.on_progres is not called by any run\. Did you mean 'on_progress'",
    ):

        class Late(mb.Hook):
            def on_progres(self, run: mb.Run, progress: mb.Progress) -> None:
                pass


def test_what_a_hook_raises_ends_the_run_and_stands_in_the_summary(tmp_path: Path) -> None:
    run = mb.Run(dataclasses.replace(SHORT, runs=tmp_path), [Raises()])
    with pytest.raises(RuntimeError, match="enough"), run:
        for _ in run:
            pass
    assert run.summary["state"] == "failed"
    assert "enough" in run.summary["error"]["message"]
    assert run.folder is not None
    assert json.loads((run.folder.path / "summary.json").read_text()) == run.summary
    assert "RuntimeError: enough" in (run.folder.path / "error.txt").read_text()
    assert _play(SHORT)["state"] == "done", "everything was closed"


def test_a_recorded_run_is_replayed(tmp_path: Path, minibrains: Any) -> None:
    summary = _play(dataclasses.replace(SHORT, runs=tmp_path, record=True))
    done = minibrains("replay", summary["run_dir"])
    assert done.returncode == 0, done.stderr
    assert "equal: ticks 0 to 120, 2 episodes" in done.stdout
