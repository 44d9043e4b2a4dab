"""The benchmark `bench realtime`: a workflow at its console's own frame rate,
and the deadlines that it meets.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any, Final

from minibrains.console import Console, find_console
from minibrains.engine.engine import Engine
from minibrains.errors import RunError
from minibrains.run.realtime import RealtimeClock
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec

_KILL_EVERY: Final = 10.0
"""Seconds between two kills, if the node has answered by then."""


def run(spec: RunSpec, seconds: float, kill: str | None = None) -> dict[str, Any]:
    """Play for `seconds` of the game's time, one episode after another.

    Returns `{"workflow", "rate", "ticks", "frames", "frames_by_game", "on_time", "p99_ms",
    "max_ms", "missed", "late_ms", "slipped_s", "drift_frames", "ticks_per_s", "cpu"}`. `frames`:
    counted by the console, one a tick except for the ticks that end an episode; `frames_by_game`:
    number of them that the game's own counter (its variable "frame", if it has one) confirms;
    raises RunError if a frame was dropped or repeated. `drift_frames`: for the worst episode, how
    long after its due time the last tick ended, by an independent clock. `cpu`: share of one core.

    `kill`: a node whose process is killed repeatedly while the game goes on. Then there are also
    `"kills"`, and the longest times until another process was ready and until the node had
    answered, `"ready_s"` and `"answered_s"`.
    """
    bench = Run(replace(spec, clock="fast"))  # the benchmark brings its own clock
    engine = bench.engine
    _, console = find_console(engine.nodes)
    with bench:
        assert engine.frame_rate is not None
        engine.context.realtime = True
        killer = None
        if kill is not None:
            killer = _Killer(engine, kill)
        return _measure(
            engine, console, engine.frame_rate, round(seconds * engine.frame_rate), killer
        )


class _Killer:
    """Kills the process of a node, and measures how long it takes until the node answers again."""

    def __init__(self, engine: Engine, node: str) -> None:
        checked = engine.plan.graph.nodes.get(node)
        if checked is None or checked.background != "process" or not checked.is_non_blocking:
            raise RunError(
                '--kill is for a node with "background": "process" and "busy": "continue", '
                f"found {node!r}"
            )
        self._engine = engine
        self._node = node
        self._due = perf_counter() + _KILL_EVERY / 2
        self._killed: float | None = None
        """The time of the last kill, until the node has answered again."""
        self._answers = 0
        """Number of the node's answers when its next process was ready."""
        self._kills = 0
        self._ready: list[float] = []
        self._answered: list[float] = []

    def look(self) -> None:
        """Check the node once, between two ticks."""
        now = perf_counter()
        if self._killed is None:
            if now >= self._due and self._count_answers():
                self._kill(now)
            return
        if len(self._ready) < self._kills:
            if self._engine.node_stats()[self._node].restarts == self._kills:
                self._ready.append(now - self._killed)
                self._answers = self._count_answers()
        elif self._count_answers() > self._answers:
            self._answered.append(now - self._killed)
            self._killed = None

    def report(self) -> dict[str, Any]:
        """Return the number of kills, and the longest times until another process
        was ready and had answered.
        """
        return {
            "kills": self._kills,
            "ready_s": _longest(self._ready),
            "answered_s": _longest(self._answered),
        }

    def _kill(self, now: float) -> None:
        (process,) = (
            child
            for child in multiprocessing.active_children()
            if child.name == f"node {self._node}"
        )
        process.kill()
        self._kills += 1
        self._killed, self._due = now, now + _KILL_EVERY

    def _count_answers(self) -> int:
        times, pending = (
            self._engine.node_stats()[self._node],
            self._engine.runtimes[self._node].non_blocking,
        )
        is_underway = pending is not None and pending.call is not None
        return times.runs - times.errors - is_underway


def _longest(seconds: list[float]) -> float | None:
    """Return the longest time in seconds; None if there is none."""
    if not seconds:
        return None
    return round(max(seconds), 2)


def _measure(
    engine: Engine, console: Console, rate: float, ticks: int, killer: _Killer | None
) -> dict[str, Any]:
    clock = RealtimeClock(engine, rate)
    emulated = by_game = episodes = 0
    wall = cpu = drift = 0.0
    while engine.total_ticks < ticks:
        engine.reset(episodes, 0)
        episodes += 1
        ended = False
        started, used = perf_counter(), process_time()
        while not ended and engine.total_ticks < ticks:
            if killer is not None:
                killer.look()
            count, shown = console.frames, console.emit().variables.get("frame")
            ended = clock.advance(1)
            # on the tick that ends an episode nothing is latched, so nothing is emulated
            _verify("the console", console.frames - count, not ended, engine)
            emulated += not ended
            if shown is not None:
                _verify("the game", console.emit().variables["frame"] - shown, not ended, engine)
                by_game += not ended
        lasted = perf_counter() - started
        wall += lasted
        cpu += process_time() - used
        drift = max(drift, lasted * rate - (engine.tick - 1))
    report, times = clock.deadlines.report(), engine.times
    result = {
        "workflow": str(engine.plan.graph.workflow.path or ""),
        "rate": report["rate"],
        "ticks": engine.total_ticks,
        "frames": emulated,
        "frames_by_game": by_game or None,
        "on_time": report["on_time"],
        "p99_ms": round((times.quantile(0.99) or 0.0) * 1e3, 4),
        "max_ms": round(times.longest * 1e3, 4),
        "missed": report["missed"],
        "late_ms": report["late_ms"],
        "slipped_s": report["slipped_s"],
        "drift_frames": round(drift, 4),
        "ticks_per_s": round(engine.total_ticks / wall, 2),
        "cpu": round(cpu / wall, 4),
    }
    if killer is not None:
        result |= killer.report()
    return result


def _verify(who: str, frames: int, expected: int, engine: Engine) -> None:
    """Check that there was one frame a tick; otherwise the figures would be meaningless."""
    if frames != expected:
        raise RunError(
            f"{who} counted {frames} frames on tick {engine.tick - 1} of an episode, "
            f"expected {int(expected)}"
        )
