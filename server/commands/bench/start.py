"""The benchmark `bench start`: from the command to the first tick, in a new process and in the next run of the same process."""

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
    """Return `{"workflow", "cases": [{"phase", "new_ms", "next_ms"}]}`: medians over new processes that play two runs each.

    "process" is Python and our modules; "open" is what the nodes load, including libraries. Raises what the run raises.
    """
    spec = replace(spec, ticks=1, clock="fast", workers=1, runs=None, record=False)
    turns = [_start(spec) for _ in range(REPEATS)]
    cases = []
    for phase in turns[0][0]:
        new = [first.get(phase, 0.0) for first, _ in turns]
        following = [second.get(phase, 0.0) for _, second in turns]
        case = {"phase": phase, "new_ms": round(median(new) * 1e3, 1), "next_ms": round(median(following) * 1e3, 1)}
        cases.append(case)
    return {"workflow": str(spec.load_workflow().path or ""), "cases": cases}


def _start(spec: RunSpec) -> tuple[Laps, Laps]:
    """Start a process and play in it, twice."""
    began = perf_counter()
    with closing(ChildProcess(_play_twice, spec, name="bench start", shutdown_timeout=5.0)) as child:
        child.receive()
        process = perf_counter() - began
        laps, failure = decode(child.receive(), _MEASURED, "outside of its process")
    if failure is not None:
        raise failure.unpack()
    return {"process": process, **laps[0]}, laps[1]


def _play_twice(parent: ParentProcess, spec: RunSpec) -> None:
    parent.send(b"begun")
    try:
        answer = encode(([_play(spec) for _ in range(2)], None), _MEASURED)
    except Exception as error:
        answer = encode((None, Failure.of(error)), _MEASURED)
    parent.send(answer)


def _play(spec: RunSpec) -> Laps:
    times = [perf_counter()]
    played = Run(spec)
    times.append(perf_counter())
    with played:
        times.append(perf_counter())
        played.play_episode(0)
        times.append(perf_counter())
    names = ("check", "open", "first tick")
    return {name: after - before for name, before, after in zip(names, times, times[1:], strict=False)}
