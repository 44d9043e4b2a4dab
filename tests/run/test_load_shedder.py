"""The load shedder: optional nodes make room when deadlines are missed, and come back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains import Flag, Node, Number, widget
from minibrains.run.deadlines import Deadlines
from minibrains.run.load_shedder import MAX_DECIMATION, LoadShedder
from minibrains.run.realtime import RealtimeClock
from nodes.consoles.retro import RetroEmulator
from nodes.control.flow import Every, Variable
from tests.support.engine_fixtures import make_engine, open_engine
from tests.support.timeouts import TIMEOUT


class Heavy(Node):
    """Compute for longer than a frame while `busy`."""

    busy: bool = widget(default=True)

    def tick(self, number: Number) -> Flag:
        end = time.thread_time() + (0.03 if self.busy else 0.0)
        while time.thread_time() < end:
            pass
        return True


class Thinks(Node, background="thread"):
    """The clock stands still for longer than all ticks of a second take."""

    def tick(self, number: Number) -> None:
        time.sleep(0.03)


NODES: dict[str, Any] = {
    "console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}},
    "frame": {
        "type": "Variable@1",
        "set": {"name": "frame"},
        "in": {"variables": "console.variables"},
    },
    "heavy": {"type": "Heavy@1", "in": {"number": "frame.number"}, "optional": True},
    "light": {"type": "Heavy@1", "set": {"busy": False}, "in": {"number": "frame.number"}},
    "clock": {"type": "Every@1"},
    "thinks": {
        "type": "Thinks@1",
        "in": {"number": "frame.number"},
        "when": "clock.now",
        "busy": "wait",
    },
}
TYPES = (RetroEmulator, Variable, Every, Heavy, Thinks)


@pytest.mark.slow
def test_optional_nodes_make_room_and_come_back() -> None:
    engine = make_engine(NODES, TYPES)
    messages: list[str] = []
    open_engine(engine)
    try:
        engine.reset(0, 0)
        assert engine.frame_rate is not None
        clock = RealtimeClock(engine, engine.frame_rate)
        shedder = LoadShedder(engine, clock.deadlines, messages.append)
        while engine.context.decimation < 8 and engine.tick < 1200:
            clock.advance(6)
            shedder.look()
        assert engine.context.decimation >= 8
        assert re.match(
            r"\d+ of \d+ deadlines were missed, \d+ of them because the machine was busy otherwise",
            messages[0],
        )
        engine.nodes["heavy"].busy = False
        clock.advance(60)
        # seconds as they would be on a machine that does nothing else
        while engine.context.decimation > 4:
            clock.deadlines.ticks += 60
            shedder.look()
        assert re.match(r"there is room: ticks take \d+% of the time", messages[-1])
        times = engine.node_stats()
        assert times["light"].runs == engine.total_ticks
        assert 0 < times["heavy"].runs < engine.total_ticks / 2
        assert [change["thinning"] for change in shedder.changes][:3] == [2, 4, 8]
    finally:
        engine.close()


class Seconds:
    """A load shedder, told second by second which deadlines were missed."""

    def __init__(self) -> None:
        self.engine = make_engine(NODES, TYPES)
        self.deadlines = Deadlines(60.0)
        self.shedder = LoadShedder(self.engine, self.deadlines, lambda text: None)

    def go_by(self, seconds: int, own: int = 0, outside: int = 0) -> list[int]:
        """Let so many seconds go by, each with these misses;
        returns what optional nodes were thinned to after each.
        """
        found = []
        for _ in range(seconds):
            self.deadlines.ticks += 60
            self.deadlines.engine += own
            self.deadlines.unscheduled += outside
            self.shedder.look()
            found.append(self.engine.context.decimation)
        return found


def test_a_busy_machine_thins_from_its_second_second_on_and_there_is_an_end_to_it() -> None:
    seconds = Seconds()
    assert seconds.go_by(4, outside=3) == [1, 2, 4, 8]
    sentence = "3 of 60 deadlines were missed, 3 of them because the machine was busy otherwise"
    assert seconds.shedder.changes[0] == {"tick": 0, "thinning": 2, "why": sentence}
    assert seconds.go_by(20, outside=1)[-1] == MAX_DECIMATION
    assert seconds.go_by(5)[-1] == MAX_DECIMATION // 2
    assert seconds.go_by(50)[-1] == 1


def test_a_hiccup_now_and_then_thins_nothing_and_keeps_nothing_thin() -> None:
    seconds = Seconds()
    for _ in range(5):
        assert seconds.go_by(1, outside=5) == [1]
        seconds.go_by(1)
    assert seconds.go_by(2, own=1) == [2, 4]
    for _ in range(10):
        seconds.go_by(1, outside=5)
        seconds.go_by(1)
    assert seconds.engine.context.decimation == 1


@pytest.mark.slow
def test_on_a_crowded_core_the_fight_goes_on_and_its_overlay_is_drawn_less_often(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "server", "run", "sf2_realtime", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            await_decision(run, tmp_path)
            core = min(os.sched_getaffinity(0))
            # only the thread that ticks: the model has the other cores
            os.sched_setaffinity(run.pid, {core})
            os.setpriority(os.PRIO_PROCESS, run.pid, 5)
            with crowding(core):
                await_line(run, "because the machine was busy otherwise; optional nodes now run on")
            run.send_signal(signal.SIGINT)
            result = json.loads(run.communicate(timeout=TIMEOUT)[0])
        finally:
            run.kill()
    ticks, nodes = result["ticks"], result["nodes"]
    assert result["thinned"][0]["thinning"] == 2
    assert nodes["screen"]["runs"] < ticks
    assert nodes["overlay"]["runs"] < ticks
    assert nodes["console"]["runs"] == nodes["gate"]["runs"] == ticks
    assert nodes["strategist"]["runs"] > 0


@contextmanager
def crowding(core: int) -> Iterator[None]:
    """Keep a core busy with other processes."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(12)]
    try:
        for other in others:
            os.sched_setaffinity(other.pid, {core})
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def await_decision(run: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the strategist was asked for the first time: then everything is open,
    and the game is on.
    """
    while not any(file.stat().st_size for file in folder.glob("runs/*/decisions.jsonl")):
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)


def await_line(run: subprocess.Popen[str], words: str) -> None:
    """Read what the run says until these words are in a line."""
    assert run.stderr is not None
    lines = []
    for line in run.stderr:
        lines.append(line)
        if words in line:
            return
    raise AssertionError(f"the run ended and did not say {words!r} but {lines}")
