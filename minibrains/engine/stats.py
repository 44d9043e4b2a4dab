"""What the nodes of a run did so far: how often, how long, with what success."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.savings import Savings

Spent = tuple[ExecutionState, list[float]]
"""The seconds that every step of a running plan has taken so far."""


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """What one node did in a run. A tick on which it waited for a first delivery or its clock is a skip."""

    runs: int
    skips: int
    seconds: float
    """On the tick's path."""
    errors: int
    reason: str
    """Why the first of them happened."""
    cached: int
    """Times a cached output was given out in place of a run."""
    thinking: float
    """Seconds spent thinking, beside the tick or while it stood still."""
    late: int
    """Results that came later than the declared latency."""
    savings: Savings
    """What caches answered in the place of work when it was made ready."""
    restarts: int
    """Times that its process ended and another took its place."""
    think_times: tuple[int, ...]
    """How many thoughts took how long, as ThinkTimes counts them; of a node that does not think, none."""


def count(execution: ExecutionState, ticks: int, runtimes: Mapping[str, NodeRuntime]) -> dict[str, NodeTimes]:
    """Return what each node has done in so many ticks. A register runs when it emits; gates are the engine's own."""
    runs: dict[str, int] = defaultdict(int)
    errors: dict[str, int] = defaultdict(int)
    cached: dict[str, int] = defaultdict(int)
    reasons: dict[str, str] = defaultdict(str)
    for place, (role, name) in enumerate(zip(execution.roles, execution.owners, strict=True)):
        if role in ("emit", "tick", "launch"):
            runs[name] += execution.visits[place] - execution.idle[place]
            cached[name] += execution.cached[place]
        if role != "gate":
            errors[name] += execution.errors[place]
            reasons[name] = reasons[name] or execution.reasons[place]
    spent = seconds_since(execution, [0.0] * len(execution.spent))
    times: dict[str, NodeTimes] = {}
    for name, runtime in runtimes.items():
        background, pending = runtime.background, runtime.pending
        times[name] = NodeTimes(
            runs=runs[name],
            skips=ticks - runs[name],
            seconds=spent[name],
            errors=errors[name],
            reason=reasons[name],
            cached=cached[name],
            thinking=0.0 if background is None else background.seconds,
            late=0 if pending is None else pending.late,
            savings=runtime.savings.copy(),
            restarts=0 if background is None else background.restarts,
            think_times=() if background is None else background.times.counts(),
        )
    return times


def seconds_since(execution: ExecutionState, then: list[float]) -> dict[str, float]:
    """Seconds of each node since the steps had spent so much. Gates are the engine's own."""
    seconds: dict[str, float] = defaultdict(float)
    for role, name, now, before in zip(execution.roles, execution.owners, execution.spent, then, strict=True):
        if role != "gate":
            seconds[name] += now - before
    return seconds
