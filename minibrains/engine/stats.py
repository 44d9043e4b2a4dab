"""Statistics of the nodes of a run: how often each ran, how long it took, how often it failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.savings import Savings

StepTimes = tuple[ExecutionState, list[float]]
"""The execution state of a running plan, and the seconds that each of its steps has taken so
far."""


@dataclass(frozen=True, slots=True)
class NodeStats:
    """Statistics of one node.

    A tick on which it waited for a first delivery or its clock is a skip.
    """

    runs: int
    skips: int
    seconds: float
    """Seconds spent within ticks."""
    errors: int
    reason: str
    """The message of the first error."""
    cached: int
    """Number of times that a cached output was delivered instead of a run."""
    thinking: float
    """Seconds spent thinking in the background, while the game went on or waited."""
    late: int
    """Number of results that came later than the declared latency."""
    savings: Savings
    """The work that caches saved when the node was opened and warmed up."""
    restarts: int
    """Number of times that its process ended and was replaced."""
    think_times: tuple[int, ...]
    """The counts of the OctaveHistogram of its background calls; empty for other nodes."""


def collect_stats(
    execution: ExecutionState, ticks: int, runtimes: Mapping[str, NodeRuntime]
) -> dict[str, NodeStats]:
    """Collect the statistics of each node.

    A register runs when it emits; clock gates belong to the engine.
    """
    runs: dict[str, int] = defaultdict(int)
    errors: dict[str, int] = defaultdict(int)
    cached: dict[str, int] = defaultdict(int)
    reasons: dict[str, str] = defaultdict(str)
    for index, (role, name) in enumerate(zip(execution.roles, execution.owners, strict=True)):
        if role in ("emit", "tick", "submit"):
            runs[name] += execution.calls[index] - execution.idle_calls[index]
            cached[name] += execution.cached[index]
        if role != "gate":
            errors[name] += execution.errors[index]
            reasons[name] = reasons[name] or execution.reasons[index]
    seconds = seconds_since(execution, [0.0] * len(execution.step_seconds))
    times: dict[str, NodeStats] = {}
    for name, runtime in runtimes.items():
        thinking, restarts, think_times = 0.0, 0, tuple[int, ...]()
        if runtime.background is not None:
            thinking = runtime.background.seconds
            restarts = runtime.background.restarts
            think_times = runtime.background.times.counts()
        non_blocking = runtime.non_blocking
        times[name] = NodeStats(
            runs=runs[name],
            skips=ticks - runs[name],
            seconds=seconds[name],
            errors=errors[name],
            reason=reasons[name],
            cached=cached[name],
            thinking=thinking,
            late=0 if non_blocking is None else non_blocking.late,
            savings=runtime.savings.copy(),
            restarts=restarts,
            think_times=think_times,
        )
    return times


def seconds_since(execution: ExecutionState, then: list[float]) -> dict[str, float]:
    """Return the seconds of each node since the seconds of the steps were `then`.

    Gates belong to the engine.
    """
    seconds: dict[str, float] = defaultdict(float)
    for role, name, now, before in zip(
        execution.roles, execution.owners, execution.step_seconds, then, strict=True
    ):
        if role != "gate":
            seconds[name] += now - before
    return seconds
