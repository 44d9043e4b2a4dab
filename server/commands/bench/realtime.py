"""`bench realtime`: a workflow at its console's own frame rate, and how many deadlines it kept."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

from minibrains.console import Console, find_console
from minibrains.engine.engine import Engine
from minibrains.errors import RunError
from minibrains.run.realtime import RealtimeClock
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec


def run(spec: RunSpec, seconds: float) -> dict[str, Any]:
    """Play for so many seconds of the game's time, one episode after another.

    `{"workflow", "rate", "ticks", "frames", "frames_by_game", "on_time", "p99_ms", "max_ms", "missed", "late_ms",
    "slipped_s", "drift_frames", "ticks_per_s", "cpu"}`. `frames`: what the console counted, one a tick but for the ticks
    that end an episode; `frames_by_game`: how many of them the game's own counter (its variable "frame", where it has
    one) confirms; raises RunError on a frame dropped or doubled. `drift_frames`: of the episode that was worst, how
    far its last tick ended after that tick was due, by a clock of its own. `cpu`: share of one core.
    """
    bench = Run(replace(spec, clock="fast"))  # the clock is its own
    engine = bench.engine
    _, console = find_console(engine.nodes)
    with bench:
        assert engine.frame_rate is not None
        return _measure(engine, console, engine.frame_rate, round(seconds * engine.frame_rate))


def _measure(engine: Engine, console: Console, rate: float, ticks: int) -> dict[str, Any]:
    clock = RealtimeClock(engine, rate)
    emulated = by_game = episodes = 0
    wall = cpu = drift = 0.0
    while engine.ticks < ticks:
        engine.reset(episodes, 0)
        episodes += 1
        ended = False
        started, used = perf_counter(), process_time()
        while not ended and engine.ticks < ticks:
            count, shown = console.frames, console.emit().variables.get("frame")
            ended = clock.advance(1)
            # on the tick that ends an episode nothing is latched, so nothing is emulated
            _verify("the console", console.frames - count, not ended, engine)
            emulated += not ended
            if shown is not None:
                _verify("the game", console.emit().variables["frame"] - shown, not ended, engine)
                by_game += not ended
        lasted = perf_counter() - started
        wall, cpu, drift = wall + lasted, cpu + process_time() - used, max(drift, lasted * rate - (engine.tick - 1))
    kept, times = clock.deadlines.report(), engine.times
    return {
        "workflow": str(engine.plan.graph.workflow.path or ""),
        "rate": kept["rate"],
        "ticks": engine.ticks,
        "frames": emulated,
        "frames_by_game": by_game or None,
        "on_time": kept["on_time"],
        "p99_ms": round((times.quantile(0.99) or 0.0) * 1e3, 4),
        "max_ms": round(times.longest * 1e3, 4),
        "missed": kept["missed"],
        "late_ms": kept["late_ms"],
        "slipped_s": kept["slipped_s"],
        "drift_frames": round(drift, 4),
        "ticks_per_s": round(engine.ticks / wall, 2),
        "cpu": round(cpu / wall, 4),
    }


def _verify(who: str, frames: int, expected: int, engine: Engine) -> None:
    """One frame a tick, or the figures are worth nothing."""
    if frames != expected:
        raise RunError(f"{who} counted {frames} frames on tick {engine.tick - 1} of an episode, expected {int(expected)}")
