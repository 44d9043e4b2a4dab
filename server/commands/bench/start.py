"""The benchmark `bench start`: from the command to the first tick,
in a new process and in the next run of the same process.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

from minibrains.process.child import ChildProcess
from minibrains.process.messages import Failure, decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec

REPEATS = 5
_MEASURED = "what was measured"

Laps = dict[str, float]
"""Seconds of each phase."""


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"workflow", "cases": [{"phase", "new_ms", "next_ms"}]}`:
    medians over new processes that play two runs each.

    "process" is Python and our modules; "open" is what the nodes load, including libraries. Raises
    what the run raises.
    """
    spec = replace(spec, ticks=1, clock="fast", workers=1, runs=None, record=False)
    turns = [_start(spec) for _ in range(REPEATS)]
    cases = []
    for phase in turns[0][0]:
        new, following = list[float](), list[float]()
        for first, second in turns:
            new.append(first.get(phase, 0.0))
            following.append(second.get(phase, 0.0))
        case = {
            "phase": phase,
            "new_ms": round(median(new) * 1e3, 1),
            "next_ms": round(median(following) * 1e3, 1),
        }
        cases.append(case)
    return {"workflow": str(spec.load_workflow().path or ""), "cases": cases}


def _start(spec: RunSpec) -> tuple[Laps, Laps]:
    """Start a process and play in it, twice."""
    began = perf_counter()
    with closing(
        ChildProcess(_play_twice, spec, name="bench start", shutdown_timeout=5.0)
    ) as child:
        child.receive()
        process = perf_counter() - began
        laps, failure = decode(child.receive(), _MEASURED, "outside of its process")
    if failure is not None:
        raise failure.unpack()
    return {"process": process, **laps[0]}, laps[1]


def _play_twice(parent: ParentProcess, spec: RunSpec) -> None:
    parent.send(b"begun")
    try:
        laps = [_play(spec), _play(spec)]
        answer = encode((laps, None), _MEASURED)
    except Exception as error:
        answer = encode((None, Failure.of(error)), _MEASURED)
    parent.send(answer)


def _play(spec: RunSpec) -> Laps:
    began = perf_counter()
    played = Run(spec)
    checked = perf_counter()
    with played:
        opened = perf_counter()
        played.play_episode(0)
        ticked = perf_counter()
    return {"check": checked - began, "open": opened - checked, "first tick": ticked - opened}
