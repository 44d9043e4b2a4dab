"""Build the step functions of a plan, one for each step,
which are called on every tick on which their step is due.

A step function is made of several, each of which calls the next. From the outside to the inside:

1. `_when_delivered`: does nothing until all required slots were written once; then it takes itself
   out of the table.
2. `_when_pending`: with a clock, does nothing unless something was delivered since the step ran
   last.
3. `make_step`: the generated function, which fetches the arguments from slots and stores the
   results.
4. `_or_fallback`: after an error, delivers the fallback or nothing, as `on_error` says.
5. The node: its `tick` or `emit`, `_blocking_call` of a background node, in which `_not_counted`
   leaves the time for which the game waits out of the tick, or a constant result.

Each step has only those that it needs; most have 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter
from typing import Any

from minibrains.annotations import ABSENT
from minibrains.engine.background import BackgroundNode, ReplayedCall
from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.node_runtime import ConstantResult, NodeRuntime
from minibrains.engine.plan import TICK_SLOT, Clock, Latch, Step
from minibrains.engine.region_steps import RegionSteps
from minibrains.engine.replay_policy import Result, Tape, record_result, replay_result, taped_emit
from minibrains.engine.steps import UNSET, StepFunction, make_step
from minibrains.errors import Fault, RunError, WorkflowError
from minibrains.graph.error_policy import after_failed_step, gives_fallback


@dataclass(slots=True)
class ExecutionContext:
    """The state that step functions share with the engine, besides the tables."""

    tape: Tape | None
    frame_rate: float | None = None
    """Ticks a second of the game's own clock."""
    realtime: bool = False
    """True: a late result is delivered when it is there. False: the tick waits for it."""
    blocked_seconds: float = 0.0
    """Seconds for which the game waited for background nodes."""
    decimation: int = 1
    """Optional nodes run on one in this many of their ticks."""


def build_steps(
    execution: ExecutionState, context: ExecutionContext, runtimes: Mapping[str, NodeRuntime]
) -> None:
    """Fill the table of step functions.

    Raises WorkflowError if a clock has a rate in Hz and the frame rate is not known.
    """
    builder = _StepBuilder(execution, context, runtimes)
    if execution.plan.region is not None:
        execution.region = RegionSteps(execution, execution.plan.region)
    execution.initial_steps[:] = [(step.index, builder.step(step)) for step in execution.plan.steps]
    execution.initial_latches[:] = [
        builder.latch(position, latch) for position, latch in enumerate(execution.plan.latches)
    ]


class _StepBuilder:
    def __init__(
        self,
        execution: ExecutionState,
        context: ExecutionContext,
        runtimes: Mapping[str, NodeRuntime],
    ) -> None:
        self.execution = execution
        self.graph = execution.plan.graph
        self.runtimes = runtimes
        self.context = context

    def step(self, step: Step) -> StepFunction:
        """Return the function of a step, from the inside to the outside."""
        if step.role == "gate":
            return self._clock_gate(step)
        if self.execution.region is not None and step.index in self.execution.region.plan.steps:
            return self._region_step(step, self.execution.region)
        if self.runtimes[step.node].from_tape and step.role != "submit":
            return self._replay(step)
        if step.role == "poll":
            return self._poll(step)
        returns_tuple = self.graph.nodes[step.node].cls.schema.returns_tuple and step.role not in (
            "read",
            "submit",
        )
        run = self._make(self._call(step), step, returns_tuple)
        if step.clocks and not step.unconditional:
            run = self._when_pending(run, step.index)
        if step.required and not step.inputs_certain:
            run = self._when_delivered(
                run, step.index, step.index, step.required, self.execution.steps
            )
        return run

    def latch(self, position: int, latch: Latch) -> tuple[int, StepFunction]:
        execution = self.execution
        index = execution.size + position
        call = self.runtimes[latch.node].node.latch
        run = make_step(
            call,
            latch.inputs,
            (),
            False,
            execution.values,
            execution.due_flags,
            execution.one_tick_slots,
            execution.flags_to_set,
        )
        if latch.required:
            run = self._when_delivered(run, index, position, latch.required, execution.latches)
        return index, run

    def _make(self, call: Callable[..., Any], step: Step, returns_tuple: bool) -> StepFunction:
        execution = self.execution
        return make_step(
            call,
            step.inputs,
            step.outputs,
            returns_tuple,
            execution.values,
            execution.due_flags,
            execution.one_tick_slots,
            execution.flags_to_set,
        )

    # -- the function that a step calls ------------------------------------------------------------

    def _call(self, step: Step) -> Callable[..., Any]:
        if step.role == "read":
            return _call
        runtime = self.runtimes[step.node]
        if step.role == "submit" and runtime.from_tape:
            return self._submit_in_replay(step, runtime.replayed_call)
        if step.role == "submit":
            return self._submit(step)
        if step.role == "emit":
            return taped_emit(runtime.node.emit, runtime.checked, self.context.tape)
        if runtime.constant is not None:
            return self._constant(step, runtime.constant)
        if runtime.background is not None:
            return self._or_fallback(step, self._blocking_call(step, runtime.background))
        return self._or_fallback(step, runtime.node.tick)

    def _constant(self, step: Step, constant: ConstantResult) -> Callable[..., Any]:
        """Deliver a constant result. The first delivery counts as the run that computed it."""
        result = constant.result
        idle_calls = self.execution.idle_calls
        cached = self.execution.cached
        index = step.index
        new = constant.computed

        def deliver_constant(*arguments: Any) -> Any:
            nonlocal new
            if new:
                new = False
            else:
                idle_calls[index] += 1
                cached[index] += 1
            return result

        return deliver_constant

    def _or_fallback(self, step: Step, call: Callable[..., Any]) -> Callable[..., Any]:
        """Deliver the node's fallback when the call fails, if the workflow says so."""
        node, execution, index = self.graph.nodes[step.node], self.execution, step.index
        on_error = node.entry.on_error
        if not gives_fallback(on_error):
            return call
        fallback = node.fallback

        def guarded(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if after_failed_step(on_error, error) != "fallback":
                    raise
                execution.record_error(index, error)
                return fallback

        return guarded

    def _region_step(self, step: Step, region: RegionSteps) -> StepFunction:
        run = region.step(step)
        if step.clocks and not step.unconditional and region.reads_from_outside(step):
            run = self._when_pending(run, step.index)
        if step.index == region.plan.steps[-1]:
            return region.ask_after(run)
        return run

    # -- background nodes --------------------------------------------------------------------------

    def _replay(self, step: Step) -> StepFunction:
        """Deliver the results of a background node from the tape, whether the node is due or not.

        An edit can make a node due because its call was still running; a replay has no such call.
        """
        tape, execution = self.context.tape, self.execution
        assert tape is not None
        name, index = step.node, step.index
        execution.due_every_tick[index] = 1
        due_flags, idle_calls = execution.due_flags, execution.idle_calls
        replayed_call = self.runtimes[name].replayed_call
        pending_flag = execution.size + index
        resubmit_flag = pending_flag
        if step.role == "poll":
            resubmit_flag = execution.flag_index(self._submit_step_of(name))

        found: list[Result] = []
        """The result that is to be delivered now."""

        def take() -> Any:
            return replay_result(found.pop())

        returns_tuple = self.graph.nodes[name].cls.schema.returns_tuple
        deliver = self._make(self._or_fallback(step, take), replace(step, inputs=[]), returns_tuple)

        def replay() -> None:
            result = tape.take(name)
            if result is None:
                idle_calls[index] += 1
                return
            # a fork begins with the flags that the run had
            due_flags[pending_flag] = 0
            replayed_call.submitted = None
            if replayed_call.resubmit:
                replayed_call.resubmit = False
                due_flags[resubmit_flag] = 1
            found.append(result)
            deliver()

        return replay

    def _submit_in_replay(self, step: Step, replayed_call: ReplayedCall) -> Callable[..., Any]:
        """Note that the node is thinking, and call nothing."""
        values, terminals = self.execution.values, self.execution.plan.terminals

        def submit(*arguments: Any) -> None:
            if replayed_call.submitted is not None:
                replayed_call.resubmit = True
            elif not any(values[slot] for slot in terminals):
                replayed_call.submitted = values[TICK_SLOT]

        return submit

    def _submit_step_of(self, node: str) -> Step:
        """Return the step that begins a call of a non-blocking node."""
        steps = self.execution.plan.steps
        return next(step for step in steps if step.role == "submit" and step.node == node)

    def _blocking_call(self, step: Step, background: BackgroundNode) -> Callable[..., Any]:
        """Call a background node with `"busy": "wait"`:
        the game waits until the node has its result.
        """
        values = self.execution.values

        def call_and_wait(*arguments: Any) -> Any:
            call = background.submit(arguments, values[TICK_SLOT])
            background.wait(call)
            return call.take()

        return self._not_counted(step, record_result(call_and_wait, step.node, self.context.tape))

    def _not_counted(self, step: Step, call: Callable[..., Any]) -> Callable[..., Any]:
        """Count the time of a call as blocked, not as part of the tick."""
        context, step_seconds, index = self.context, self.execution.step_seconds, step.index

        def uncounted(*arguments: Any) -> Any:
            began = perf_counter()
            try:
                return call(*arguments)
            finally:
                seconds = perf_counter() - began
                context.blocked_seconds += seconds
                step_seconds[index] -= seconds

        return uncounted

    def _submit(self, step: Step) -> Callable[..., Any]:
        """Begin a call of a non-blocking node, whose result `_poll` delivers on a later tick.

        One that is due while a call is running is put off. If a node that takes six ticks is due on
        ticks 0 and 3, its call begins on tick 0; tick 3 only sets `resubmit`; on tick 6 `_poll`
        delivers the result and makes this step due, so the second call begins on the same tick,
        with the arguments of that tick.
        """
        runtime, context, execution = self.runtimes[step.node], self.context, self.execution
        values, idle_calls, index = execution.values, execution.idle_calls, step.index
        terminals = execution.plan.terminals
        on_error = runtime.checked.entry.on_error
        non_blocking = runtime.non_blocking
        assert non_blocking is not None

        def submit(*arguments: Any) -> None:
            if non_blocking.call is not None:
                non_blocking.resubmit = True
                idle_calls[index] += 1
            elif not any(values[slot] for slot in terminals):  # like a latch: not on the last tick
                try:
                    non_blocking.submit(arguments, values[TICK_SLOT], not context.realtime)
                except RunError as error:
                    if after_failed_step(on_error, error) != "fallback":
                        raise
                    non_blocking.fail(error, values[TICK_SLOT])

        return submit

    def _poll(self, step: Step) -> StepFunction:
        """Deliver the result of a non-blocking node, if it is there."""
        runtime, context, execution = self.runtimes[step.node], self.context, self.execution
        non_blocking = runtime.non_blocking
        assert non_blocking is not None
        values = execution.values
        due_flags = execution.due_flags
        idle_calls = execution.idle_calls
        index = step.index
        resubmit_flag = execution.flag_index(self._submit_step_of(step.node))

        def take() -> Any:
            return non_blocking.take(values[TICK_SLOT])  # on the fast clock it may not be there yet

        call = self._not_counted(step, record_result(take, step.node, context.tape))
        deliver = self._make(
            self._or_fallback(step, call), step, runtime.checked.cls.schema.returns_tuple
        )

        def poll() -> None:
            if not non_blocking.is_ready(values[TICK_SLOT], not context.realtime):
                idle_calls[index] += 1
                return
            if non_blocking.resubmit:
                non_blocking.resubmit = False
                due_flags[resubmit_flag] = 1
            deliver()

        return poll

    # -- waiting -----------------------------------------------------------------------------------

    def _when_pending(self, run: StepFunction, index: int) -> StepFunction:
        due_flags = self.execution.due_flags
        idle_calls = self.execution.idle_calls
        pending_flag = self.execution.size + index

        def run_if_pending() -> None:
            if due_flags[pending_flag]:
                due_flags[pending_flag] = 0
                run()
            else:
                idle_calls[index] += 1

        return run_if_pending

    def _when_delivered(
        self,
        run: StepFunction,
        index: int,
        position: int,
        required: tuple[int, ...] | list[int],
        table: list[tuple[int, StepFunction]],
    ) -> StepFunction:
        """Wait until every required slot was written once;
        then put the plain function into `table[position]`.
        """
        values, idle_calls = self.execution.values, self.execution.idle_calls

        def wait() -> None:
            for slot in required:
                if values[slot] is UNSET:
                    idle_calls[index] += 1
                    return
            table[position] = (index, run)
            run()

        return wait

    # -- clocks ------------------------------------------------------------------------------------

    def _clock_gate(self, step: Step) -> StepFunction:
        clock, members, due_flags = (
            step.clock or Clock(),
            tuple(step.members),
            self.execution.due_flags,
        )
        open_now = self._opening(clock, step.node)
        condition = step.inputs[0].sources[0].slot if step.inputs else None
        values = self.execution.values
        context = self.context
        open_counts = self.execution.open_counts
        index = step.index

        def gate() -> None:
            if open_now() and (condition is None or values[condition]):
                for member in members:
                    due_flags[member] = 1

        def decimated() -> None:
            if open_now() and (condition is None or values[condition]):
                if open_counts[index] % context.decimation == 0:
                    for member in members:
                        due_flags[member] = 1
                open_counts[index] += 1

        def closed() -> None:
            """Never open: the condition comes from a muted node."""

        if clock.when is not None and condition is None:
            return closed
        if clock.sheddable:
            return decimated
        return gate

    def _opening(self, clock: Clock, node: str) -> Callable[[], bool]:
        """Return a function that tells whether the clock opens on the current tick,
        regardless of its condition.
        """
        values, every, offset, hertz = self.execution.values, clock.every, clock.offset, clock.hertz
        rate = self.context.frame_rate
        if hertz is None:
            if every == 1:
                return lambda: True
            return lambda: values[TICK_SLOT] % every == offset
        if rate is None or hertz > rate:
            why = "needs a console, which determines the frame rate"
            if rate is not None:
                why = f"is faster than the game, {rate:.2f} hz"
            fault = Fault(f'"every": "{hertz:g} hz" {why}', node, code="rate_not_available")
            raise WorkflowError([fault], self.graph.workflow.where)
        # on `opened` of each `ticks` ticks, spread evenly: at 60 Hz, "24 hz" is open on 2 of 5
        opened, ticks = (Fraction(str(hertz)) / Fraction(str(rate))).as_integer_ratio()
        return lambda: values[TICK_SLOT] * opened % ticks < opened


def _call(function: Callable[[], Any]) -> Any:
    return function()


def absent_output() -> Any:
    """Stand in for a lazy output that its register could not deliver."""
    return ABSENT
