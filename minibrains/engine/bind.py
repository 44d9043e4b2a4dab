"""Bind a plan to its nodes: one function for each step, made once, called on every tick on which it is due."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any, Protocol

from minibrains.engine.background import Thinker, Thought
from minibrains.engine.kept import Still
from minibrains.engine.motion import Motion
from minibrains.engine.plan import TICK_SLOT, Clock, Latch, OutputPlan, Step
from minibrains.engine.steps import UNSET, Run, make_step
from minibrains.errors import BrainError, Fault, RunError, WorkflowError, in_words
from minibrains.node import ABSENT

Result = tuple[str, Any]
"""What came from outside: ("result", value), ("failed", sentence) or ("input", value)."""


class Tape(Protocol):
    """Where what comes from outside is written down, or where it is read from when a run is replayed."""

    @property
    def replays(self) -> bool: ...

    def add(self, node: str, kind: str, value: Any) -> None:
        """Write down what came from outside on this tick."""

    def take(self, node: str) -> Result | None:
        """What came for this node on this tick; None: nothing did."""


@dataclass(slots=True)
class World:
    """What the step functions know of the engine besides their tables."""

    tape: Tape | None
    frame_rate: float | None = None
    """Ticks a second of the game's own clock."""
    realtime: bool = False
    """A late thought is given out when it is there; otherwise the clock waits for it."""
    held: float = 0.0
    """Seconds for which the clock stood still while hold nodes were thinking."""
    thinning: int = 1
    """Optional nodes run on one in so many of the ticks on which they could."""


def bind(
    motion: Motion,
    world: World,
    nodes: Mapping[str, Any],
    still: Mapping[str, Still],
    thinkers: Mapping[str, Thinker],
    thoughts: Mapping[str, Thought],
) -> None:
    """Fill the table of step functions. Raises WorkflowError if a clock cannot be had."""
    binder = _Binder(motion, world, nodes, still, thinkers, thoughts)
    motion.prepared[:] = [(step.index, binder.step(step)) for step in motion.plan.steps]
    motion.prepared_latches[:] = [binder.latch(place, latch) for place, latch in enumerate(motion.plan.latches)]


class _Binder:
    def __init__(
        self,
        motion: Motion,
        world: World,
        nodes: Mapping[str, Any],
        still: Mapping[str, Still],
        thinkers: Mapping[str, Thinker],
        thoughts: Mapping[str, Thought],
    ) -> None:
        self.motion = motion
        self.graph = motion.plan.graph
        self.nodes = nodes
        self.world = world
        self.still = still
        self.thinkers = thinkers
        self.thoughts = thoughts

    def step(self, step: Step) -> Run:
        if step.role == "gate":
            return self._gate(step)
        if step.role == "arrive":
            return self._arrive(step)
        if step.role == "tick" and self._replays(step):
            self.motion.template[step.index] = 1
            return self._recall(step)
        record = self.graph.nodes[step.node].cls.schema.record and step.role not in ("read", "launch")
        run = self._make(self._call(step), step, record)
        if step.clocks and not step.visited:
            run = self._when_marked(run, step.index)
        if step.required and not step.sure:
            run = self._when_delivered(run, step.index, step.index, step.required, self.motion.steps)
        return run

    def latch(self, place: int, latch: Latch) -> tuple[int, Run]:
        motion = self.motion
        index = motion.size + place
        call = self.nodes[latch.node].latch
        run = make_step(call, latch.inputs, (), False, motion.values, motion.marks, motion.fired, self._targets)
        if latch.required:
            run = self._when_delivered(run, index, place, latch.required, motion.latches)
        return index, run

    def _make(self, call: Callable[..., Any], step: Step, record: bool) -> Run:
        motion = self.motion
        return make_step(call, step.inputs, step.outputs, record, motion.values, motion.marks, motion.fired, self._targets)

    def _targets(self, output: OutputPlan) -> tuple[int, ...]:
        return tuple(self.motion.mark(self.motion.plan.steps[target]) for target in output.marks)

    # -- what a step calls --------------------------------------------------------------------------

    def _call(self, step: Step) -> Callable[..., Any]:
        if step.role == "read":
            return _call
        node = self.nodes[step.node]
        if step.role == "launch":
            return self._launch(step)
        call: Callable[..., Any] = getattr(node, step.role)
        if step.role == "emit":
            return self._from_outside(step.node, call) if node.outside and self.world.tape else call
        if step.node in self.still:
            return self._stands(step, self.still[step.node])
        if self.graph.nodes[step.node].cls.background is not None:
            call = self._hold(step)
        return self._or_fallback(step, call)

    def _stands(self, step: Step, still: Still) -> Callable[..., Any]:
        """Its result stands for the whole run; the first time it is given out counts as the run that made it."""
        result, runs, cached, index = still.result, self.motion.runs, self.motion.cached, step.index
        new = still.computed

        def stands(*arguments: Any) -> Any:
            nonlocal new
            if new:
                new = False
            else:
                runs[index] -= 1
                cached[index] += 1
            return result

        return stands

    def _or_fallback(self, step: Step, call: Callable[..., Any]) -> Callable[..., Any]:
        """If the workflow says so, what fails gives out the node's fallback. A brain that does not fit is no such failure:
        the workflow is put together wrongly, and its games would be those of the fallback."""
        node, motion, index = self.graph.nodes[step.node], self.motion, step.index
        if node.entry.on_error != "fallback":
            return call
        fallback = node.cls.fallback

        def guarded(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except BrainError:
                raise
            except Exception as error:
                motion.bear(index, error)
                return fallback

        return guarded

    def _from_outside(self, name: str, emit: Callable[[], Any]) -> Callable[[], Any]:
        """A register whose values come from outside the run: each change goes to the tape, or comes from there."""
        tape = self.world.tape
        assert tape is not None
        last: Any = UNSET

        def recorded() -> Any:
            nonlocal last
            value = emit()
            if value is not last:
                tape.add(name, "input", value)
                last = value
            return value

        def recalled() -> Any:
            nonlocal last
            found = tape.take(name)
            if found is not None:
                last = found[1]
            return last

        return recalled if tape.replays else recorded

    # -- thinking -----------------------------------------------------------------------------------

    def _replays(self, step: Step) -> bool:
        """Whether what the step comes to is on a tape."""
        tape, background = self.world.tape, self.graph.nodes[step.node].cls.background
        return tape is not None and tape.replays and background is not None and step.node not in self.still

    def _recall(self, step: Step) -> Run:
        """In a replay: give out what the node thought on the ticks on which it was given out, whether it is due or not.

        After an edit it may have been due because of what it was thinking just then, which no replay knows.
        """
        name, tape, motion, runs, index = step.node, self.world.tape, self.motion, self.motion.runs, step.index
        record = self.graph.nodes[name].cls.schema.record
        found: list[Result] = []

        def recalled() -> Any:
            kind, value = found.pop()
            if kind == "failed":
                raise RunError(value)
            return value

        call = self._or_fallback(step, recalled)
        deliver = make_step(call, (), step.outputs, record, motion.values, motion.marks, motion.fired, self._targets)

        def recall() -> None:
            assert tape is not None
            result = tape.take(name)
            if result is None:
                runs[index] -= 1
            else:
                found.append(result)
                deliver()

        return recall

    def _hold(self, step: Step) -> Callable[..., Any]:
        """The clock stands still until the node has its result: that is no time of the tick's."""
        name, world, tape, values = step.node, self.world, self.world.tape, self.motion.values
        spent, index, thinker = self.motion.spent, step.index, self.thinkers[step.node]

        def think(*arguments: Any) -> Any:
            began = perf_counter()
            try:
                job = thinker.launch(arguments, values[TICK_SLOT])
                thinker.wait(job)
                result = job.take()
                if tape is not None:
                    tape.add(name, "result", result)
            except Exception as error:
                if tape is not None:
                    tape.add(name, "failed", in_words(error))
                raise
            finally:
                held = perf_counter() - began
                world.held += held
                spent[index] -= held
            return result

        return think

    def _launch(self, step: Step) -> Callable[..., Any]:
        name, motion, tape = step.node, self.motion, self.world.tape
        thought = self.thoughts.get(name)
        values, runs, index = motion.values, motion.runs, step.index
        terminals = motion.plan.terminals
        falls_back = self.graph.nodes[name].entry.on_error == "fallback"

        def launch(*arguments: Any) -> None:
            assert thought is not None
            if thought.job is not None:
                thought.wanted = True
                runs[index] -= 1
            elif not any(values[slot] for slot in terminals):  # like a latch: not on the last tick
                try:
                    thought.launch(arguments, values[TICK_SLOT])
                except RunError as error:
                    if not falls_back:
                        raise
                    thought.fail(error, values[TICK_SLOT])

        def pretend(*arguments: Any) -> None:
            """In a replay the results are on the tape."""

        return pretend if tape is not None and tape.replays else launch

    def _arrive(self, step: Step) -> Run:
        if self._replays(step):
            return self._recall(step)
        name, world, tape, motion = step.node, self.world, self.world.tape, self.motion
        record = self.graph.nodes[name].cls.schema.record
        values, marks, runs, spent, index = motion.values, motion.marks, motion.runs, motion.spent, step.index
        again = next(motion.mark(other) for other in motion.plan.steps if other.role == "launch" and other.node == name)
        thought = self.thoughts[name]

        def take() -> Any:
            began = perf_counter()
            try:
                result = thought.take(values[TICK_SLOT])
                if tape is not None:
                    tape.add(name, "result", result)
            except Exception as error:
                if tape is not None:
                    tape.add(name, "failed", in_words(error))
                raise
            finally:  # in the fast clock it may not be there yet
                held = perf_counter() - began
                world.held += held
                spent[index] -= held
            return result

        deliver = self._make(self._or_fallback(step, take), step, record)

        def arrive() -> None:
            if not thought.arrives(values[TICK_SLOT], not world.realtime):
                runs[index] -= 1
                return
            if thought.wanted:
                thought.wanted = False
                marks[again] = 1
            deliver()

        return arrive

    # -- waiting ------------------------------------------------------------------------------------

    def _when_marked(self, run: Run, index: int) -> Run:
        marks, runs, pending = self.motion.marks, self.motion.runs, self.motion.size + index

        def due() -> None:
            if marks[pending]:
                marks[pending] = 0
                run()
            else:
                runs[index] -= 1

        return due

    def _when_delivered(
        self, run: Run, index: int, place: int, required: tuple[int, ...] | list[int], table: list[tuple[int, Run]]
    ) -> Run:
        """Wait until every required slot was delivered once, then leave the table to the plain function."""
        values, runs = self.motion.values, self.motion.runs

        def wait() -> None:
            for slot in required:
                if values[slot] is UNSET:
                    runs[index] -= 1
                    return
            table[place] = (index, run)
            run()

        return wait

    # -- clocks -------------------------------------------------------------------------------------

    def _gate(self, step: Step) -> Run:
        clock, members, marks = step.clock or Clock(), tuple(step.members), self.motion.marks
        open_now = self._opening(clock, step.node)
        flag = step.inputs[0].sources[0].slot if step.inputs else None
        values, world, openings, index = self.motion.values, self.world, self.motion.openings, step.index

        def gate() -> None:
            if open_now() and (flag is None or values[flag]):
                for member in members:
                    marks[member] = 1

        def thinned() -> None:
            if open_now() and (flag is None or values[flag]):
                if openings[index] % world.thinning == 0:
                    for member in members:
                        marks[member] = 1
                openings[index] += 1

        def closed() -> None:
            """The flag comes from a muted node: never true."""

        if clock.when is not None and flag is None:
            return closed
        return thinned if clock.optional else gate

    def _opening(self, clock: Clock, node: str) -> Callable[[], bool]:
        """Whether a clock opens on the current tick, leaving its flag aside."""
        values, every, offset, hertz = self.motion.values, clock.every, clock.offset, clock.hertz
        rate = self.world.frame_rate
        if hertz is None:
            return (lambda: True) if every == 1 else (lambda: values[TICK_SLOT] % every == offset)
        if rate is None or hertz > rate:
            why = "needs a console, which says what a second is" if rate is None else f"is faster than the game, {rate:.2f} hz"
            fault = Fault(f'"every": "{hertz:g} hz" {why}', node)
            raise WorkflowError([fault], self.graph.workflow.where)
        share, whole = (Fraction(str(hertz)) / Fraction(str(rate))).as_integer_ratio()
        return lambda: values[TICK_SLOT] * share % whole < share


def _call(function: Callable[[], Any]) -> Any:
    return function()


def nothing() -> Any:
    """In the place of a lazy output that its register could not give out."""
    return ABSENT
