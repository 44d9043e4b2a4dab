"""The realtime clock: its schedule, who is to blame for a miss,
and real games at their own pace.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from minibrains import Episode, Host, Node, Variables, widget
from minibrains.engine.engine import Engine
from minibrains.graph.registry import Registry
from minibrains.hooks import Hook, Progress
from minibrains.run.deadlines import MAX_FRAMES_BEHIND, Deadlines
from minibrains.run.realtime import RealtimeClock
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from nodes.consoles.retro import RetroEmulator
from tests.support.engine_fixtures import make_engine, open_engine
from tests.support.paths import DATA
from tests.support.thinking_nodes import Burns
from tests.support.timeouts import TIMEOUT

Summary = Callable[..., dict[str, Any]]

# -- the schedule: a clock of 10 ticks a second, moved by hand -------------------------------------

FRAME = 0.1


class Rehearsal:
    """Deadlines, and a clock that only these tests move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.deadlines = Deadlines(1 / FRAME)
        self.deadlines.begin(self.now, 0)

    def tick(
        self, own: float, lost: float = 0.0, held: float = 0.0, culprit: str | None = "slow"
    ) -> float:
        """Wait until the tick is due, then do it; returns how late it began."""
        self.now = max(self.now, self.deadlines.due)
        late = self.now - self.deadlines.due
        self.deadlines.started(self.now, 0.0)
        self.now += own + lost + held
        self.deadlines.finished(self.now, own, held, lambda: culprit)
        return late

    @property
    def missed(self) -> tuple[dict[str, int], int, int]:
        return self.deadlines.nodes, self.deadlines.engine, self.deadlines.unscheduled


def test_ticks_are_due_by_an_absolute_schedule() -> None:
    run = Rehearsal()
    for _ in range(100_000):
        run.tick(0.03)
    assert run.deadlines.due == pytest.approx(1000.0 + 100_000 * FRAME, abs=1e-6)
    assert run.missed == ({}, 0, 0)
    assert run.deadlines.report()["on_time"] == 1.0


def test_after_a_miss_ticks_follow_at_once_until_it_is_made_up_for() -> None:
    run = Rehearsal()
    run.tick(0.25)
    lates = [run.tick(0.02) for _ in range(5)]
    assert lates == pytest.approx([0.15, 0.07, 0.0, 0.0, 0.0])
    assert run.missed == ({"slow": 2}, 0, 0), "the second inherits its lateness from the first"
    assert run.deadlines.slipped == 0
    assert run.deadlines.due == pytest.approx(1000.0 + 6 * FRAME)


def test_too_far_behind_the_schedule_moves() -> None:
    run = Rehearsal()
    run.tick((MAX_FRAMES_BEHIND + 3) * FRAME)
    run.tick(0.05)
    assert run.deadlines.slipped == pytest.approx((MAX_FRAMES_BEHIND + 2) * FRAME)
    assert run.tick(0.01) == pytest.approx(0.0), "nothing is left to catch up"
    assert run.missed == ({"slow": 1}, 0, 0)
    run.tick(0.15, culprit="other")
    assert run.missed == ({"slow": 1, "other": 1}, 0, 0)


def test_a_wait_that_was_far_too_long_is_a_miss_as_well() -> None:
    run = Rehearsal()
    run.tick(0.01)
    run.now = run.deadlines.due + 500.0  # a laptop that was shut
    run.tick(0.01)
    assert run.missed == ({}, 0, 1)
    assert run.deadlines.slipped == pytest.approx(500.0 + 0.01 - FRAME)
    assert run.tick(0.01) == pytest.approx(0.0)


def test_the_last_frame_within_the_limit_is_caught_up() -> None:
    run = Rehearsal()
    run.tick((MAX_FRAMES_BEHIND + 0.5) * FRAME)
    for _ in range(20):
        run.tick(0.01)
    assert run.deadlines.slipped == 0
    assert run.deadlines.due == pytest.approx(1000.0 + 21 * FRAME)


def test_held_time_moves_the_schedule_and_is_no_miss() -> None:
    run = Rehearsal()
    run.tick(0.02, held=5.0)
    assert run.missed == ({}, 0, 0)
    assert run.deadlines.due == pytest.approx(1000.0 + 5.0 + FRAME)
    assert run.tick(0.02) == pytest.approx(0.0)
    run.tick(0.15, held=5.0)
    assert run.missed == ({"slow": 1}, 0, 0)
    assert run.deadlines.report()["held_s"] == pytest.approx(10.0)
    assert run.deadlines.slipped == 0


def test_time_that_was_not_scheduled_is_not_the_runs_own() -> None:
    run = Rehearsal()
    run.tick(0.02, lost=0.2)
    run.tick(0.02)
    run.tick(0.02)
    assert run.missed == ({}, 0, 2)
    run.tick(0.12, lost=0.05)
    assert run.missed == ({"slow": 1}, 0, 2), "it would have been late anyway"
    run.tick(0.01)
    run.tick(0.15, culprit=None)
    assert run.missed == ({"slow": 1}, 1, 2)
    report = run.deadlines.report()
    assert report["missed"] == {"nodes": {"slow": 1}, "engine": 1, "unscheduled": 2}
    assert report["on_time"] == pytest.approx(2 / 4)


def test_waking_late_is_time_that_was_not_scheduled() -> None:
    run = Rehearsal()
    run.tick(0.01)
    run.now = run.deadlines.due + 0.09
    assert run.tick(0.02) == pytest.approx(0.09)
    assert run.missed == ({}, 0, 1)
    assert run.deadlines.report()["late_ms"]["max"] == pytest.approx(90.0)
    assert run.deadlines.report()["drift_frames"] == pytest.approx(0.9)


def test_an_episode_begins_a_new_schedule() -> None:
    run = Rehearsal()
    run.tick(0.25)
    run.now += 3.0
    run.deadlines.begin(run.now, 0)
    assert run.tick(0.02) == 0
    assert run.missed == ({"slow": 1}, 0, 0)
    assert (run.deadlines.ticks, run.deadlines.slipped) == (2, 0)


# -- real games ------------------------------------------------------------------------------------


class Frames(Node):
    """Note the game's own frame counter."""

    def reset(self, episode: Episode) -> None:
        self.seen: list[int] = []

    def tick(self, variables: Variables) -> None:
        self.seen.append(int(variables["frame"]))


class Slow(Node):
    """Take long on one tick: compute, or sleep."""

    how: Literal["compute", "sleep"] = widget(default="compute")
    seconds: float = widget(default=0.2)
    when: int = widget(default=20)

    def open(self, host: Host) -> None:
        self.host: Any = host

    def tick(self, variables: Variables) -> None:
        if self.host.tick != self.when:
            return
        if self.how == "compute":
            compute(self.seconds)
        else:
            time.sleep(self.seconds)


class Holding(Slow, background="thread"):
    """The same beside the tick, while the clock stands still."""

    def tick(self, variables: Variables) -> None:
        super().tick(variables)


def compute(seconds: float) -> None:
    """Use so many seconds of this thread's CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def _nodes(game: str = "Pad-Genesis", kind: str = "Slow", **slow: Any) -> dict[str, Any]:
    return {
        "console": {"type": "RetroEmulator@3", "set": {"game": game}},
        "frames": {"type": "Frames@1", "in": {"variables": "console.variables"}},
        "slow": {"type": f"{kind}@1", "set": slow, "in": {"variables": "console.variables"}},
    }


@contextmanager
def _playing(nodes: Mapping[str, Any]) -> Iterator[tuple[Engine, RealtimeClock]]:
    engine = make_engine(nodes, (RetroEmulator, Frames, Slow, Holding))
    try:
        open_engine(engine)
        assert engine.frame_rate is not None
        engine.reset(0, 0)
        yield engine, RealtimeClock(engine, engine.frame_rate)
    finally:
        engine.close()


@pytest.mark.parametrize(("game", "rate"), [("Pad-Genesis", 59.92), ("Pad-GbAdvance", 59.73)])
def test_a_game_runs_at_its_own_rate_one_frame_a_tick(game: str, rate: float) -> None:
    # the slow tick is caught up, and the slower one moves the schedule: neither drops or doubles a
    # frame
    for seconds in (0.04, 1.3):
        with _playing(_nodes(game, how="sleep", seconds=seconds)) as (engine, clock):
            started = time.perf_counter()
            assert not clock.advance(60)
            lasted = time.perf_counter() - started
            seen = engine.nodes["frames"].seen
        report = clock.deadlines.report()
        assert report["rate"] == pytest.approx(rate, abs=0.01)
        assert seen == list(range(seen[0], seen[0] + 60))
        assert lasted >= 59 / rate + report["slipped_s"] - 0.001, "never ahead of the schedule"
        assert report["slipped_s"] > 1.0 or seconds < 1.0


@pytest.mark.parametrize("how", ["compute", "sleep"])
def test_a_node_that_takes_too_long_is_named(how: str) -> None:
    with _playing(_nodes(how=how)) as (_, clock):
        clock.advance(30)
    assert clock.deadlines.nodes["slow"] >= 1
    assert clock.deadlines.report()["on_time"] < 1


def test_where_the_system_does_not_count_waits_the_node_is_named_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minibrains.run.realtime.resource", None)
    with _playing(_nodes(how="compute")) as (_, clock):
        clock.advance(30)
    assert clock.deadlines.nodes["slow"] >= 1


def test_a_node_that_holds_the_clock_misses_nothing() -> None:
    with _playing(_nodes(kind="Holding", how="sleep", seconds=0.2)) as (_, clock):
        clock.advance(30)
    assert "slow" not in clock.deadlines.nodes
    assert clock.deadlines.slipped < 0.2 <= clock.deadlines.blocked_seconds


class Rarely(Holding):
    """On every tick, for 0.9 s."""

    def tick(self, variables: Variables) -> None:
        time.sleep(0.9)


def test_rates_are_exact_and_a_slow_node_delays_nobody() -> None:
    each = {"type": "Frames@1", "in": {"variables": "console.variables"}}
    slow = {"type": "Rarely@1", "in": each["in"], "every": 60, "busy": "continue", "latency": 58}
    nodes = {
        **_nodes(when=-1),
        "sixth": {**each, "every": 6},
        "second": {**each, "every": 60},
        "rarely": slow,
    }
    engine = make_engine(nodes, (RetroEmulator, Frames, Slow, Rarely))
    try:
        open_engine(engine)
        engine.reset(0, 0)
        engine.context.realtime = True
        clock = RealtimeClock(engine, engine.frame_rate or 0.0)
        clock.advance(300)
        runs = {name: times.runs for name, times in engine.node_stats().items()}
    finally:
        engine.close()
    assert (runs["frames"], runs["sixth"], runs["second"], runs["rarely"]) == (300, 50, 5, 5)
    # on a busy machine the others may be late
    assert "rarely" not in clock.deadlines.nodes


def test_half_a_second_of_work_in_another_process_costs_no_deadline() -> None:
    burns = {
        "type": "Burns@1",
        "in": {"variables": "console.variables"},
        "every": 60,
        "busy": "continue",
        "latency": 45,
    }
    engine = make_engine({**_nodes(when=-1), "burns": burns}, (RetroEmulator, Frames, Slow, Burns))
    try:
        open_engine(engine)
        engine.reset(0, 0)
        engine.context.realtime = True
        clock = RealtimeClock(engine, engine.frame_rate or 0.0)
        while (times := engine.node_stats()["burns"]).runs < 2:
            assert not clock.advance(60), "the episode goes on"
    finally:
        engine.close()
    assert times.thinking >= (times.runs - 1) * 0.5
    # on a busy machine the console itself may be late
    assert "burns" not in clock.deadlines.nodes


def test_time_between_ticks_is_the_engines_and_between_episodes_nobodys() -> None:
    with _playing(_nodes(when=-1)) as (engine, clock):
        clock.advance(5)
        compute(0.2)
        clock.advance(5)
        assert clock.deadlines.engine >= 1
        before = clock.deadlines.engine
        compute(0.2)
        engine.reset(1, 0)
        clock.advance(5)
        assert clock.deadlines.engine == before


def test_stopping_ends_the_wait_without_another_tick() -> None:
    with _playing(_nodes(when=-1)) as (engine, clock):
        clock.advance(5)
        engine.stopping = True
        assert not clock.advance(5)
        assert engine.tick == 5


class _Ticks(Hook):
    """Notes the ticks of which people are told."""

    def __init__(self) -> None:
        self.shown = [0]

    def on_progress(self, run: Run, progress: Progress) -> None:
        self.shown.append(progress.tick)


def test_the_progress_is_shown_while_ticks_are_caught_up() -> None:
    registry = Registry()
    for cls in (RetroEmulator, Frames, Slow, Holding):
        registry.add(cls)
    workflow = {"minibrains": 1, "nodes": _nodes(how="sleep", seconds=0.095)}
    hook = _Ticks()
    with Run(RunSpec(workflow, ticks=60, clock="realtime"), [hook], registry=registry) as run:
        for _ in run:
            pass
    assert hook.shown[-1] == 60
    assert max(later - earlier for earlier, later in itertools.pairwise(hook.shown)) <= 45


# -- the command line ------------------------------------------------------------------------------

PAD = {"console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}}}
SLEEPY = '''
import time
from minibrains import Host, Node, Variables


class Sleepy(Node):
    """Sleeps on one tick, and leaves word of each."""

    def open(self, host: Host) -> None:
        self.host = host

    def tick(self, variables: Variables) -> None:
        (self.host.dir / "ticks").write_bytes(bytes(self.host.tick))
        if self.host.tick == 20:
            time.sleep(0.2)
'''


@pytest.fixture
def sleepy(tmp_path: Path) -> tuple[str, ...]:
    """The arguments of a run with a node that sleeps on tick 20 and adds a byte to
    the file "ticks" on each.
    """
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    nodes = {**PAD, "nap": {"type": "sleepy.Sleepy@1", "in": {"variables": "console.variables"}}}
    (tmp_path / "pad.json").write_text(
        json.dumps({"minibrains": 1, "run": {"clock": "realtime"}, "nodes": nodes})
    )
    return ("run", "pad.json", "--pack", "sleepy.py")


def test_the_summary_names_who_missed(minibrains: Any, sleepy: tuple[str, ...]) -> None:
    done = minibrains(*sleepy, "--ticks", 60, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["clock"] == "realtime"
    deadlines = result["deadlines"]
    missed = deadlines["missed"]
    assert missed["nodes"]["nap"] >= 1
    assert (
        result["misses"] == sum(missed["nodes"].values()) + missed["engine"] + missed["unscheduled"]
    )
    assert deadlines["on_time"] < 1
    assert set(deadlines) == {
        "rate",
        "missed",
        "on_time",
        "late_ms",
        "slipped_s",
        "drift_frames",
        "held_s",
    }
    assert (
        json.loads((Path(result["run_dir"]) / "workflow.json").read_text())["run"]["clock"]
        == "realtime"
    )


def test_people_read_who_missed(minibrains: Any, sleepy: tuple[str, ...]) -> None:
    done = minibrains(*sleepy, "--ticks", 40)
    assert "realtime at 59.92 hz" in done.stdout
    assert "by nap" in done.stdout


def test_the_command_line_has_the_last_word(minibrains: Any, sleepy: tuple[str, ...]) -> None:
    result = json.loads(minibrains(*sleepy, "--ticks", 40, "--clock", "fast", "--json").stdout)
    assert (result["clock"], result["misses"]) == ("fast", 0)
    assert "deadlines" not in result


def test_both_clocks_play_the_same_game(summary: Summary) -> None:
    short = ("airstriker", "--episodes", 2, "--ticks", 40, "--clock")
    assert (
        summary(*short, "realtime")["actions_sha256"] == summary(*short, "fast")["actions_sha256"]
    )


def test_without_a_console_realtime_is_refused(minibrains: Any) -> None:
    done = minibrains("run", "hello", "--clock", "realtime", "--json")
    assert done.returncode == 2
    printed = json.loads(done.stdout)
    assert "the realtime clock needs a running console" in printed["error"]["message"]
    assert (printed["ticks"], printed["episodes"]) == (0, [])


def test_the_benchmark_sees_one_frame_a_tick(minibrains: Any, tmp_path: Path) -> None:
    (tmp_path / "pad.json").write_text(json.dumps({"minibrains": 1, "nodes": PAD}))
    done = minibrains("bench", "realtime", "pad.json", "--seconds", 1, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["ticks"] == result["frames"] == result["frames_by_game"] == 60
    assert 0 < result["cpu"] < 1


def test_the_benchmark_kills_the_process_of_a_node_and_sees_it_answer_again(
    minibrains: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the first time after half of it
    monkeypatch.setattr("server.commands.bench.realtime._KILL_EVERY", 6.0)
    thinker = {
        "type": "fault_pack.Thinker@1",
        "set": {"folder": str(tmp_path)},
        "in": {"number": "frame.number"},
        "busy": "continue",
        "on_error": "hold",
    }
    frame = {
        "type": "Variable@1",
        "set": {"name": "frame"},
        "in": {"variables": "console.variables"},
    }
    workflow = {"minibrains": 1, "nodes": {**PAD, "frame": frame, "thinker": thinker}}
    (tmp_path / "pad.json").write_text(json.dumps(workflow))
    pack = DATA / "fault_pack.py"
    command = ("bench", "realtime", "pad.json", "--pack", pack, "--json", "--seconds")
    for seconds in (9, 30, 120):  # on a busy machine it does not answer again so soon
        done = minibrains(*command, seconds, "--kill", "thinker")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        if result["answered_s"] is not None:
            break
    assert result["kills"] >= 1
    assert 0 < result["ready_s"] <= result["answered_s"]
    refused = minibrains(*command, 1, "--kill", "frame")
    assert refused.returncode != 0
    assert "--kill is for a node with" in refused.stderr


def test_a_process_that_was_stopped_was_not_scheduled_and_ctrl_c_ends_it(
    sleepy: tuple[str, ...], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "server", *sleepy, "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        # several times: a stop that happens to fall into a tick, and not into the wait for it,
        # looks like a node that waits
        for _ in range(5):
            _await_ticks(process, tmp_path, 30)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.05)
            os.kill(process.pid, signal.SIGCONT)
        _await_ticks(process, tmp_path, 10)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["episodes"][-1]["ended"] == "stopped"
    assert result["deadlines"]["missed"]["unscheduled"] >= 1
    assert result["deadlines"]["missed"]["nodes"]["nap"] >= 1


def _await_ticks(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Wait until the run has done `count` more ticks."""
    goal = None
    while process.poll() is None:
        for file in folder.glob("runs/*/ticks"):
            ticks = file.stat().st_size
            goal = ticks + count if goal is None else goal
            if ticks >= goal:
                return
        time.sleep(0.01)
    raise AssertionError(f"the run ended by itself: {process.communicate()}")
