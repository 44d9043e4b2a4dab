"""The benchmark `bench tape`: the cost of recording a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from minibrains.hooks import Hook
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.tape.recording import FILE, Recorder

TURNS = 15
TICKS = 6000
"""Largest number of ticks of an episode: about two seconds a turn, so that several snapshots are
written over all turns."""


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"workflow", "ticks", "plain_ticks_per_s", "recorded_ticks_per_s", "cost", "bytes"}`.

    One engine plays the same episode with and without recording, in turns. `cost` is the share of
    ticks a second lost to recording, over all turns: snapshots are too rare for a median to show
    them.
    """
    taken = {"plain": 0.0, "recorded": 0.0}
    recorder = Recorder()
    hooks: dict[str, list[Hook]] = {"plain": [], "recorded": [recorder]}
    with TemporaryDirectory() as folder:
        with Run(replace(spec, ticks=TICKS, clock="fast"), dir=Path(folder)) as run:
            recorder.after_open(run)
            for turn in range(TURNS):
                sides = ("plain", "recorded") if turn % 2 else ("recorded", "plain")
                for side in sides:
                    run.hooks = hooks[side]
                    started = perf_counter()
                    run.play_episode(0)
                    taken[side] += perf_counter() - started
            run.hooks = hooks["recorded"]
        written = (Path(folder) / FILE).stat().st_size
    ticks = run.engine.ticks // 2
    return {
        "workflow": str(run.workflow.path or ""),
        "ticks": ticks,
        "plain_ticks_per_s": round(ticks / taken["plain"], 1),
        "recorded_ticks_per_s": round(ticks / taken["recorded"], 1),
        "cost": round(1 - taken["plain"] / taken["recorded"], 4),
        "bytes": written,
    }
