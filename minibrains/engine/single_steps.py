"""A tick that waits after each step, so that somebody can look at what the step has computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from minibrains.engine.plan import InputPlan, Latch, OutputPlan, Step
from minibrains.engine.steps import UNSET, StepFunction
from minibrains.engine.tick import NO_STEP, begin_tick, end_tick, is_terminal

if TYPE_CHECKING:
    from minibrains.engine.engine import Engine


class StepDone(NamedTuple):
    """A step that has run."""

    node: str
    role: str
    """As in `Step.role`, or "latch"."""
    inputs: dict[str, Any]
    """What the node was given, by the names of its inputs, without those that had no value."""
    outputs: dict[str, Any]
    """What it has delivered, by the names of its outputs, without those that nothing reads."""


AfterStep = Callable[[StepDone], None]


def advance_by_steps(engine: Engine, after_step: AfterStep) -> bool:
    """Run one tick, and call a function after each step that has done something.

    The phases of the tick, what the nodes notice, and the counters of steps are those of
    `Engine.advance`.
    Returns True if the episode ended. Raises what `Engine.advance` raises.
    """
    execution = engine.execution
    _run(engine, begin_tick(engine), after_step)
    try:
        ended = is_terminal(engine)
    except Exception as error:
        engine.step_failed(NO_STEP, error)
        raise
    if not ended:
        _run(engine, iter(execution.latches), after_step)
    end_tick(engine)
    return ended


def _run(engine: Engine, steps: Iterator[tuple[int, StepFunction]], after_step: AfterStep) -> None:
    execution = engine.execution
    for index, run in steps:
        idle_calls = execution.idle_calls[index]
        started = perf_counter()
        error: BaseException | None = None
        try:
            run()
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # as in `Engine.advance`
            error = raised
        finally:
            execution.step_seconds[index] += perf_counter() - started
            execution.calls[index] += 1
        if error is not None:
            engine.step_failed(index, error)
        if execution.roles[index] != "gate" and execution.idle_calls[index] == idle_calls:
            after_step(_done(engine, index))


def _done(engine: Engine, index: int) -> StepDone:
    execution, plan = engine.execution, engine.plan
    step: Step | Latch
    outputs: Sequence[OutputPlan] = ()
    if index < execution.size:
        step = plan.steps[index]
        outputs = step.outputs
    else:
        step = plan.latches[index - execution.size]
    role = execution.roles[index]
    names = plan.graph.nodes[step.node].cls.schema.inputs
    given: dict[str, Any] = {}
    if role != "read":
        given = _inputs(execution.values, names, step.inputs)
    return StepDone(step.node, role, given, _outputs(execution.values, outputs))


def _inputs(
    values: Sequence[Any], names: Iterable[str], inputs: Iterable[InputPlan]
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, plan in zip(names, inputs, strict=False):
        found = [values[source.slot] for source in plan.sources]
        found = [value for value in found if value is not UNSET and value is not None]
        if found and plan.many:
            given[name] = found
        elif found:
            given[name] = found[0]
    return given


def _outputs(values: Sequence[Any], outputs: Iterable[OutputPlan]) -> dict[str, Any]:
    delivered: dict[str, Any] = {}
    for output in outputs:
        for use, slot in output.slots.items():
            value = values[slot]
            if use != "delivered_at" and value is not UNSET and value is not None:
                delivered[output.name] = value
    return delivered
