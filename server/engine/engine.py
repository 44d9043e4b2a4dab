"""A plan in motion: open, reset, tick, close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from time import perf_counter
from typing import Any

from minibrains.errors import Fault, MinibrainsError, RunError, WorkflowError
from minibrains.host import Episode, Host
from minibrains.node import ABSENT, Node
from server.engine.check import check_sizes
from server.engine.plan import TICK_SLOT, Clock, Latch, OutputPlan, Plan, Step
from server.engine.steps import UNSET, Run, make_step
from server.engine.timing import TickTimes

MakeHost = Callable[[str, "Engine"], Host]


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """What one node did in a run. A tick on which it waited for a first delivery or its clock is a skip."""

    runs: int
    skips: int
    seconds: float
    errors: int


class NodeFailed(RunError):
    """A node raised. `node` names it; the exception it raised is the cause."""

    def __init__(self, node: str, type_: str, tick: int | None, error: BaseException) -> None:
        when = "before the first tick" if tick is None else f"on tick {tick}"
        what = str(error) if isinstance(error, MinibrainsError) else f"{type(error).__name__}: {error}"
        super().__init__(f"{node} ({type_}) failed {when}: {what}")
        self.node = node


class Engine:
    """Ticks a plan. One engine has one set of nodes and plays one episode after another.

    A tick has three phases. Emit: every register gives out its outputs. Step: the due nodes run, in plan
    order. Latch: every register takes its inputs. On a terminal tick nothing is latched.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes = _make_nodes(plan)
        self.sizes: dict[str, dict[str, int]] = {}
        self.frame_rate: float | None = None
        self.tick = 0
        self.ticks = 0
        """Ticks of all episodes."""
        self.stopping = False
        """Set it (from a signal handler, say) and the run ends after the current tick."""
        self.times = TickTimes()
        self._opened: list[str] = []
        self._size = len(plan.steps)
        self._owners = [step.node for step in plan.steps] + [latch.node for latch in plan.latches]
        self._holds = [plan.graph.nodes[name].entry.on_error == "hold" for name in self._owners]
        self._runs = [0] * len(self._owners)
        self._spent = [0.0] * len(self._owners)
        self._errors = [0] * len(self._owners)
        self._values: list[Any] = []
        self._initial: list[Any] = [UNSET if use == "last" else None for use in plan.slots]
        self._marks = bytearray(2 * self._size)
        self._template = bytearray(self._size)
        self._first = [
            self._mark(step) for step in plan.steps if not step.visited and not any(plan.sources for plan in step.inputs)
        ]
        self._fired: list[int] = []
        self._steps: list[tuple[int, Run]] = []
        self._latches: list[tuple[int, Run]] = []
        self._prepared: list[tuple[int, Run]] = []
        self._prepared_latches: list[tuple[int, Run]] = []

    # -- life ---------------------------------------------------------------------------------------

    def open(self, make_host: MakeHost) -> None:
        """Open every node, registers first, and check the shapes that only now became known."""
        names = sorted(self.nodes, key=lambda name: not self.plan.graph.nodes[name].register)
        for name in names:
            node = self.nodes[name]
            self._opened.append(name)
            try:
                node.open(make_host(name, self))
            except MinibrainsError as error:
                raise WorkflowError([Fault(str(error), name)], self.plan.graph.workflow.where) from error
            except Exception as error:
                raise NodeFailed(name, self.plan.graph.nodes[name].entry.type, None, error) from error
            node.settle()
        if self.sizes:
            check_sizes(self.plan.graph, self.sizes)
        for step in self.plan.steps:
            self._template[step.index] = step.visited and not step.clocks
        self._prepared = [(step.index, self._prepare(step)) for step in self.plan.steps]
        self._prepared_latches = [self._prepare_latch(place, latch) for place, latch in enumerate(self.plan.latches)]

    def reset(self, index: int, seed: int) -> None:
        """Start episode `index` of a run with this seed."""
        self.tick = 0
        self._values[:] = self._initial
        self._marks[:] = bytes(len(self._marks))
        self._fired.clear()
        self._steps[:] = self._prepared
        self._latches[:] = self._prepared_latches
        for name, node in self.nodes.items():
            try:
                node.reset(Episode(index, seed, name))
            except Exception as error:
                raise NodeFailed(name, self.plan.graph.nodes[name].entry.type, None, error) from error

    def report(self) -> dict[str, Any]:
        """What the nodes say of the episode: registers first, so that a Score node has the last word."""
        report: dict[str, Any] = {}
        for name in sorted(self.nodes, key=lambda name: not self.plan.graph.nodes[name].register):
            try:
                report.update(self.nodes[name].report())
            except Exception as error:
                raise NodeFailed(name, self.plan.graph.nodes[name].entry.type, self.tick, error) from error
        return report

    def close(self) -> list[str]:
        """Close every opened node, whatever happens in the others; returns a sentence for each that failed."""
        sentences = []
        while self._opened:
            name = self._opened.pop()
            try:
                self.nodes[name].close()
            except Exception as error:
                what = str(error) if isinstance(error, MinibrainsError) else f"{type(error).__name__}: {error}"
                sentences.append(f"{name} could not be closed: {what}")
        return sentences

    # -- ticking ------------------------------------------------------------------------------------

    def advance(self, ticks: int) -> bool:
        """Do up to `ticks` ticks of the episode. True if it ended; False also after `stopping`."""
        values, marks, template, size = self._values, self._marks, self._template, self._size
        steps, latches, terminals, fired = self._steps, self._latches, self.plan.terminals, self._fired
        runs, spent, add = self._runs, self._spent, self.times.add
        ended = False
        for now in range(self.tick, self.tick + ticks):
            values[TICK_SLOT] = now
            marks[:size] = template
            if not now:
                for due in self._first:
                    marks[due] = 1
            work, taking = compress(steps, marks), iter(latches)
            started = last = perf_counter()
            while True:
                try:
                    for index, run in work:
                        run()
                        clock = perf_counter()
                        spent[index] += clock - last
                        runs[index] += 1
                        last = clock
                    index = -1
                    for slot in terminals:
                        if values[slot]:
                            ended = True
                    if not ended:
                        for index, run in taking:
                            run()
                            clock = perf_counter()
                            spent[index] += clock - last
                            runs[index] += 1
                            last = clock
                    break
                except Exception as error:
                    self._failed(index, error)
                    clock = perf_counter()
                    spent[index] += clock - last
                    runs[index] += 1
                    last = clock
            if fired:
                for slot in fired:
                    values[slot] = None
                fired.clear()
            add(last - started)
            self.tick = now + 1
            self.ticks += 1
            if ended or self.stopping:
                break
        return ended

    def node_times(self) -> Mapping[str, NodeTimes]:
        """Runs, skips and time of every node so far. A register runs when it emits; gates are the engine's own."""
        runs, spent, errors = dict.fromkeys(self.nodes, 0), dict.fromkeys(self.nodes, 0.0), dict.fromkeys(self.nodes, 0)
        roles = [step.role for step in self.plan.steps] + ["latch"] * len(self.plan.latches)
        for place, (role, name) in enumerate(zip(roles, self._owners, strict=True)):
            if role in ("emit", "tick"):
                runs[name] += self._runs[place]
            if role != "gate":
                spent[name] += self._spent[place]
                errors[name] += self._errors[place]
        return {name: NodeTimes(runs[name], self.ticks - runs[name], spent[name], errors[name]) for name in self.nodes}

    # -- preparing ----------------------------------------------------------------------------------

    def _failed(self, index: int, error: Exception) -> None:
        """A step raised, or (-1) a terminal output did when it was asked whether it is true."""
        if index < 0:
            names = " or ".join(name for name, node in self.nodes.items() if getattr(node, "terminal", None))
            raise RunError(f"{names}: whether the episode ends cannot be told on tick {self.tick}: {error}") from error
        name = self._owners[index]
        if not self._holds[index]:
            self.ticks += 1
            raise NodeFailed(name, self.plan.graph.nodes[name].entry.type, self.tick, error) from error
        self._errors[index] += 1
        if index < self._size and self.plan.steps[index].role == "emit":
            for step in self.plan.steps:
                if step.role == "read" and step.node == name:
                    self._values[step.inputs[0].sources[0].slot] = _nothing

    def _prepare(self, step: Step) -> Run:
        if step.role == "gate":
            return self._gate(step)
        node = self.nodes[step.node]
        call: Callable[..., Any] = _call if step.role == "read" else getattr(node, step.role)
        record = node.schema.record and step.role != "read"
        run = make_step(
            call, step.inputs, step.outputs, record, self._values, self._marks, self._fired, self._targets
        )  # fmt: skip
        if step.clocks and not step.visited:
            run = self._when_marked(run, step.index)
        if step.required and not step.sure:
            run = self._when_delivered(run, step.index, step.index, step.required, self._steps)
        return run

    def _prepare_latch(self, place: int, latch: Latch) -> tuple[int, Run]:
        index = self._size + place
        call: Callable[..., Any] = getattr(self.nodes[latch.node], "latch")  # noqa: B009 - only registers have it
        run = make_step(call, latch.inputs, (), False, self._values, self._marks, self._fired, self._targets)
        if latch.required:
            run = self._when_delivered(run, index, place, latch.required, self._latches)
        return index, run

    def _targets(self, output: OutputPlan) -> tuple[int, ...]:
        """Whom a delivery marks: a step without a clock as due now, one with a clock as due when that opens."""
        return tuple(self._mark(self.plan.steps[target]) for target in output.marks)

    def _mark(self, step: Step) -> int:
        return step.index + self._size if step.clocks else step.index

    def _when_marked(self, run: Run, index: int) -> Run:
        marks, runs, pending = self._marks, self._runs, self._size + index

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
        values, runs = self._values, self._runs

        def wait() -> None:
            for slot in required:
                if values[slot] is UNSET:
                    runs[index] -= 1
                    return
            table[place] = (index, run)
            run()

        return wait

    def _gate(self, step: Step) -> Run:
        clock, members, marks = step.clock or Clock(), tuple(step.members), self._marks
        open_now = self._opening(clock, step.node)
        flag = step.inputs[0].sources[0].slot if step.inputs else None
        values = self._values

        def gate() -> None:
            if open_now() and (flag is None or values[flag]):
                for member in members:
                    marks[member] = 1

        def closed() -> None:
            """The flag comes from a muted node: never true."""

        return closed if clock.when is not None and flag is None else gate

    def _opening(self, clock: Clock, node: str) -> Callable[[], bool]:
        """Whether a clock opens on the current tick, leaving its flag aside."""
        values, every, offset, hertz, rate = self._values, clock.every, clock.offset, clock.hertz, self.frame_rate
        if hertz is None:
            return (lambda: True) if every == 1 else (lambda: values[TICK_SLOT] % every == offset)
        if rate is None or hertz > rate:
            why = "needs a console, which says what a second is" if rate is None else f"is faster than the game, {rate:.2f} hz"
            fault = Fault(f'"every": "{hertz:g} hz" {why}', node)
            raise WorkflowError([fault], self.plan.graph.workflow.where)
        share, whole = (Fraction(str(hertz)) / Fraction(str(rate))).as_integer_ratio()
        return lambda: values[TICK_SLOT] * share % whole < share


def _call(function: Callable[[], Any]) -> Any:
    return function()


def _nothing() -> Any:
    """In the place of a lazy output that its register could not give out."""
    return ABSENT


def _make_nodes(plan: Plan) -> dict[str, Node]:
    """Make every node with its brain. Raises WorkflowError with all that the nodes themselves find wrong."""
    nodes: dict[str, Node] = {}
    faults = []
    for name, checked in plan.graph.nodes.items():
        try:
            kind = checked.cls.schema.brain
            brain = kind.load(checked.brain) if kind is not None and checked.brain is not None else None
            nodes[name] = checked.cls(brain=brain, **checked.widgets)
            nodes[name].check()
        except MinibrainsError as error:
            faults.append(Fault(str(error), name))
        except Exception as error:
            raise NodeFailed(name, checked.entry.type, None, error) from error
    if faults:
        raise WorkflowError(faults, plan.graph.workflow.where)
    return nodes
