"""The phases of a tick, and what holds at the end of each.

1. Begin: `due_flags` says which steps are due so far, and `due_next_tick` is empty.
2. Emit and step: the registers have delivered their outputs, and the due nodes have run, in the
   order of the plan. No step that was due is left, because a step marks only steps that come after
   it.
3. Terminal: it is known whether an output that ends the episode is true.
4. Latch: every register has taken its inputs, once the required ones were delivered; none has on a
   terminal tick.
5. End: it is between two ticks. `Engine.tick` is the number of the next one, `due_next_tick` has
   the flags to begin it with, and no slot holds a value that is for one tick only.

`Engine.advance` runs whole ticks, and has all phases written out, because a call takes longer than
many a step. The functions here do the same for callers that stop within a tick: `advance_by_steps`
and `Stepper`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING, Final

from minibrains.engine.plan import TICK_SLOT
from minibrains.engine.steps import StepFunction

if TYPE_CHECKING:
    from minibrains.engine.engine import Engine

NO_STEP: Final = -1
"""In place of the index of a step: an error came in the terminal phase, from no step."""


def begin_tick(engine: Engine) -> Iterator[tuple[int, StepFunction]]:
    """Begin a tick; return the steps that are due, with those that become due on the way.

    Running all of them completes the phase "emit and step".
    """
    execution = engine.execution
    execution.values[TICK_SLOT] = engine.tick
    execution.due_flags[: execution.size] = execution.due_every_tick
    if execution.due_next_tick:
        for index in execution.due_next_tick:
            execution.due_flags[index] = 1
        execution.due_next_tick.clear()
    return compress(execution.steps, execution.due_flags)


def is_terminal(engine: Engine) -> bool:
    """Return whether an output that ends the episode is true, once all steps have run."""
    values = engine.execution.values
    for slot in engine.plan.terminals:
        if values[slot]:
            return True
    return False


def end_tick(engine: Engine) -> None:
    """End a tick: clear the values that were for this tick only, and count it."""
    execution = engine.execution
    for slot in execution.one_tick_slots:
        execution.values[slot] = None
    execution.one_tick_slots.clear()
    engine.tick += 1
    engine.total_ticks += 1
