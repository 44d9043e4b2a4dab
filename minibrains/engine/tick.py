"""The parts of a tick, for callers that stop within one; `Engine.advance` runs whole ticks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from minibrains.engine.plan import TICK_SLOT
from minibrains.engine.steps import StepFunction

if TYPE_CHECKING:
    from minibrains.engine.engine import Engine


def begin_tick(engine: Engine) -> Iterator[tuple[int, StepFunction]]:
    """Begin a tick; return the steps that are due, with those that become due on the way."""
    execution = engine.execution
    execution.values[TICK_SLOT] = engine.tick
    execution.marks[: execution.size] = execution.template
    if execution.due:
        for mark in execution.due:
            execution.marks[mark] = 1
        execution.due.clear()
    return compress(execution.steps, execution.marks)


def is_terminal(engine: Engine) -> bool:
    """Return whether an output that ends the episode is true, once all steps have run."""
    values = engine.execution.values
    for slot in engine.plan.terminals:
        if values[slot]:
            return True
    return False


def end_tick(engine: Engine) -> None:
    """Clean up: it is between two ticks again."""
    execution = engine.execution
    for slot in execution.event_slots:
        execution.values[slot] = None
    execution.event_slots.clear()
    engine.tick += 1
    engine.ticks += 1
