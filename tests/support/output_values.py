"""The values of all outputs of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

import minibrains as mb
from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek


def output_values(engine: Engine) -> dict[str, Any]:
    """Return the value of every output, by its name."""
    values: dict[str, Any] = {}
    for node, checked in engine.plan.graph.nodes.items():
        for output in checked.cls.schema.outputs:
            value = peek(engine, node, output)
            values[f"{node}.{output}"] = (
                value.tobytes() if isinstance(value, np.ndarray) else repr(value)
            )
    return values


class Watches(mb.Hook):
    """Notes what is on the wires between all ticks."""

    def __init__(self) -> None:
        self.seen: dict[int, dict[str, Any]] = {}

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        self.seen[run.engine.total_ticks] = output_values(run.engine)
        return mb.Budget(ticks=1)
