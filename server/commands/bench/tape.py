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
from minibrains.tape.recent import RecentTape
from minibrains.tape.recording import FILE, Recorder

_SIDES = ("plain", "recorded", "recent")
TURNS = 15
TICKS = 6000
"""Largest number of ticks of an episode: about two seconds a turn, so that several snapshots are
written over all turns."""


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"workflow", "ticks", "plain_ticks_per_s", "recorded_ticks_per_s", "cost", "bytes",
    "recent_ticks_per_s", "recent_cost", "longest_stop_ms"}`.

    One engine plays the same episode as it is, recorded, and with its last ticks kept in memory, as
    the server does for the timeline, in turns. `cost` is the share of ticks a second lost to that,
    over all turns: snapshots are too rare for a median to show them. `longest_stop_ms`: for how
    long a run whose last ticks are kept stood still between two ticks, at most.
    """
    taken = dict.fromkeys(_SIDES, 0.0)
    recorder, recent = Recorder(), _Timed(recent=RecentTape(), to_file=False)
    hooks: dict[str, list[Hook]] = {"plain": [], "recorded": [recorder], "recent": [recent]}
    with TemporaryDirectory() as folder:
        with Run(replace(spec, ticks=TICKS, clock="fast"), dir=Path(folder)) as run:
            recorder.after_open(run)
            recent.after_open(run)
            for turn in range(TURNS):
                # each goes first equally often
                begin = turn % len(_SIDES)
                for side in (*_SIDES[begin:], *_SIDES[:begin]):
                    run.hooks = hooks[side]
                    started = perf_counter()
                    run.play_episode(0)
                    taken[side] += perf_counter() - started
            run.hooks = [recorder, recent]
        written = (Path(folder) / FILE).stat().st_size
    ticks = run.engine.total_ticks // len(_SIDES)
    return {
        "workflow": str(run.workflow.path or ""),
        "ticks": ticks,
        "plain_ticks_per_s": round(ticks / taken["plain"], 1),
        "recorded_ticks_per_s": round(ticks / taken["recorded"], 1),
        "cost": round(1 - taken["plain"] / taken["recorded"], 4),
        "bytes": written,
        "recent_ticks_per_s": round(ticks / taken["recent"], 1),
        "recent_cost": round(1 - taken["plain"] / taken["recent"], 4),
        "longest_stop_ms": round(1e3 * recent.longest, 3),
    }


class _Timed(Recorder):
    """Measures for how long it keeps a run from ticking."""

    longest = 0.0

    def between_ticks(self, run: Run) -> None:
        started = perf_counter()
        super().between_ticks(run)
        self.longest = max(self.longest, perf_counter() - started)
