"""`bench tape`: what recording a run costs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from minibrains.engine.engine import Engine
from minibrains.engine.plan import Plan
from minibrains.graph.workflow import RunSettings
from minibrains.run.host import RunHost
from minibrains.run.play import Session
from minibrains.run.summary import Results
from minibrains.tape.recording import FILE, Recorder

TURNS = 15
TICKS = 6000
"""Of an episode, at most. Two seconds a turn or so: over all of them several snapshots are kept."""


def run(plan: Plan) -> dict[str, Any]:
    """`{"workflow", "ticks", "plain_ticks_per_s", "recorded_ticks_per_s", "cost", "bytes"}`.

    The same episode is played in turns, recorded and not, by one engine. `cost` is the share of ticks a second that
    recording takes, over all turns: snapshots are too rare for a median to see them.
    """
    settings, taken = RunSettings(ticks=TICKS), [0.0, 0.0]
    with TemporaryDirectory() as folder:
        recorder, engine = Recorder(), Engine(plan)
        sessions = [Session(engine, settings, print), Session(engine, settings, print, recorder)]
        try:
            sessions[0].open(lambda node, engine: RunHost(node, Path(folder), engine, lambda text: None, {}))
            recorder.begin(engine, Path(folder), {})
            for turn in range(TURNS):
                for recorded in (turn % 2, 1 - turn % 2):
                    started = perf_counter()
                    sessions[recorded].play_episode(0, Results(), _nobody_watches)
                    taken[recorded] += perf_counter() - started
        finally:
            sessions[1].close()
        written = (Path(folder) / FILE).stat().st_size
    ticks = engine.ticks // 2
    return {
        "workflow": str(plan.graph.workflow.path or ""),
        "ticks": ticks,
        "plain_ticks_per_s": round(ticks / taken[0], 1),
        "recorded_ticks_per_s": round(ticks / taken[1], 1),
        "cost": round(1 - taken[0] / taken[1], 4),
        "bytes": written,
    }


def _nobody_watches(index: int, tick: int, rate: float, score: float | None) -> None:
    pass
