"""The time that nodes took in each of the last ticks of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains.engine.engine import Engine
from minibrains.engine.execution_state import ExecutionState

TICKS: Final = 60
"""Number of ticks that are kept."""
WHOLE_TICK: Final = ""
"""In place of a node's id: the tick as a whole."""


class _Sample(NamedTuple):
    execution: ExecutionState
    ticks: int
    """Ticks of the run so far."""
    step_seconds: list[float]
    """Seconds of each step so far."""
    thought: dict[str, tuple[bool, float]]
    """Background node -> whether it is thinking, and for how many seconds it has thought so
    far."""


class TickSampler:
    """The times of the last ticks, sampled by the thread that ticks, and read by another one.

    In real time every tick is sampled. A fast run is sampled less often; then a span is several
    ticks, and its times are their mean.
    """

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=TICKS + 1)

    def sample(self, engine: Engine) -> None:
        """Aged, between two ticks. Copies one number for each step of the plan."""
        execution, step_seconds = engine.step_times()
        thought: dict[str, tuple[bool, float]] = {}
        for name, runtime in engine.runtimes.items():
            if runtime.background is not None:
                thought[name] = runtime.is_thinking, runtime.background.seconds
        self._samples.append(_Sample(execution, engine.total_ticks, step_seconds, thought))

    def spans(self) -> Spans | None:
        """Return what was sampled since the last live edit; None before the second sample."""
        samples: list[_Sample] = []
        for sample in tuple(self._samples):
            if samples and sample.execution is not samples[-1].execution:
                samples.clear()
            if not samples or sample.ticks > samples[-1].ticks:
                samples.append(sample)
        if len(samples) < 2:
            return None
        return Spans(samples)


class Spans:
    """The time between every two samples, by node."""

    def __init__(self, samples: Sequence[_Sample]) -> None:
        self._samples = samples
        self.nodes: dict[str, int] = {}
        """Node -> its row."""

        # the steps of each node, without clock gates, which belong to the engine
        execution = samples[0].execution
        columns: list[int] = []
        rows: list[int] = []
        for column, role in enumerate(execution.roles):
            if role == "gate":
                continue
            owner = execution.owners[column]
            columns.append(column)
            rows.append(self.nodes.setdefault(owner, len(self.nodes)))

        ticks = np.diff([sample.ticks for sample in samples])
        seconds = np.diff([sample.step_seconds for sample in samples], axis=0)
        steps = seconds / ticks[:, np.newaxis] * 1e6

        self._us = np.zeros((len(self.nodes), len(ticks)))
        np.add.at(self._us, rows, steps.T[columns])

    def of(self, node: str) -> dict[str, Any]:
        """Return `us`, the microseconds that a node took in each span; of a background node also
        `thought`, whether it was thinking: beside the clock, or while the game waited.
        """
        us = self._us[self.nodes[node]]
        times: dict[str, Any] = {"us": _whole(us)}
        if node not in self._samples[0].thought:
            return times

        thought: list[bool] = []
        for before, after in pairwise(self._samples):
            is_thinking, _ = after.thought[node]
            has_thought = after.thought[node] != before.thought[node]
            thought.append(is_thinking or has_thought)
        times["thought"] = thought
        return times

    def whole(self) -> dict[str, Any]:
        """Return `us`, the microseconds that all nodes took in each span, and `slowest`: the node
        that took most, and its mean microseconds a tick.
        """
        means = self._us.mean(axis=1)
        row = int(means.argmax())
        slowest = list(self.nodes)[row]
        return {
            "us": _whole(self._us.sum(axis=0)),
            "slowest": [slowest, round(float(means[row]), 1)],
        }


def _whole(us: np.ndarray) -> list[int]:
    """Return microseconds as whole numbers, for JSON."""
    rounded: list[int] = us.round().astype(int).tolist()
    return rounded
