"""Run a plan: open, reset, tick, close."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from itertools import compress
from time import perf_counter
from typing import Any

from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.engine.live_edit import Edit
from minibrains.engine.node_process import Health, NodeDied
from minibrains.engine.node_runtime import NodeRuntime, registers_first
from minibrains.engine.output_cache import OutputCache, fold_constants
from minibrains.engine.plan import TICK_SLOT, Plan
from minibrains.engine.replay_policy import Tape
from minibrains.engine.stats import NodeStats, StepTimes, collect_stats, seconds_since
from minibrains.engine.step_builder import ExecutionContext, build_steps, nothing
from minibrains.engine.timing import LatencyHistogram
from minibrains.errors import RunError
from minibrains.graph.check import check_sizes
from minibrains.graph.collectors import check_collectors
from minibrains.graph.error_policy import after_failed_step, ends_when_unanswered
from minibrains.graph.pads import check_pads
from minibrains.host import Episode, Host

MakeHost = Callable[[NodeRuntime, "Engine"], Host]


class Engine:
    """Ticks a plan. One engine has one set of nodes and plays one episode after another.

    A tick has three phases. Emit: every register gives out its outputs. Step: the due nodes run, in plan
    order. Latch: every register takes its inputs. On a terminal tick nothing is latched.
    """

    def __init__(self, plan: Plan, cache: OutputCache | None = None, tape: Tape | None = None) -> None:
        """`cache`: shared by the runs of a process. `tape`: written to, or read from if it `replays`."""
        self.plan = plan
        self.runtimes = instantiate_nodes(plan, plan.graph.nodes, tape)
        """A record for each node, by its id. An edit puts other records in their place."""
        check_pads(plan.graph, self.nodes)
        check_collectors(plan.graph, self.nodes)
        self.tick = 0
        self.ticks = 0
        """Ticks of all episodes."""
        self.stopping = False
        """Set it (from a signal handler, say) and the run ends after the current tick."""
        self.edits: deque[Edit] = deque()
        """Prepared edits; they are applied between two ticks."""
        self.times = LatencyHistogram()
        self.context = ExecutionContext(tape)
        self.execution = ExecutionState(plan)
        self.episode: tuple[int, int, int | None] = (0, 0, None)
        """Index, seed and limit of the episode that is played."""
        self._cache = cache or OutputCache()

    @property
    def nodes(self) -> dict[str, Any]:
        """The nodes by id: objects to look at, or what stands for those in other processes."""
        return {name: runtime.node for name, runtime in self.runtimes.items()}

    @property
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock; None in a graph without a console."""
        return self.context.frame_rate

    @frame_rate.setter
    def frame_rate(self, rate: float) -> None:
        self.context.frame_rate = rate

    @property
    def hold_seconds(self) -> float:
        """Seconds for which the clock stood still while hold nodes were thinking."""
        return self.context.hold_seconds

    # -- life ---------------------------------------------------------------------------------------

    def open(self, make_host: MakeHost) -> None:
        """Open every node, registers first, check the shapes that only now became known, compute constant results."""
        self._make_ready(self.plan, self.runtimes, self.execution, make_host)

    def reset(self, index: int, seed: int, limit: int | None = None) -> None:
        """Start episode `index` of a run with this seed. `limit`: ticks after which the run is going to end it."""
        self.tick = 0
        self.episode = index, seed, limit
        for runtime in self.runtimes.values():
            if runtime.pending is not None:
                runtime.pending.cancel()
        self.execution.reset()
        for runtime in registers_first(self.runtimes):
            if runtime.is_open and runtime.has_state:
                try:
                    runtime.reset(Episode(index, seed, runtime.name, limit))
                except Exception as error:
                    self._unanswered(runtime, None, error)

    def report(self) -> dict[str, Any]:
        """Return what the nodes say of the episode: registers first, so that a Score node has the last word.

        A node that is thinking is not asked, and neither is one that hung when it was asked before, nor in real time one
        whose process is being started.
        """
        report: dict[str, Any] = {}
        for runtime in registers_first(self.runtimes):
            try:
                report.update(runtime.report(waits=not self.context.realtime))
            except Exception as error:
                self._unanswered(runtime, self.tick, error)
        return report

    def close(self, timeout: float | None = None) -> list[str]:
        """Close every opened node, whatever happens in the others; return a sentence for each that failed.

        One that is thinking gets `timeout` seconds (5). Edits that were not applied are refused, and what they opened is closed.
        """
        sentences: list[str] = []
        while self.edits:
            edit = self.edits.popleft()
            edit.refuse(RunError("the run is over"))
            sentences += edit.close()
            edit.done.set()
        for runtime in reversed(registers_first(self.runtimes)):
            sentences += runtime.close(timeout)
        return sentences

    def _make_ready(
        self, plan: Plan, runtimes: Mapping[str, NodeRuntime], execution: ExecutionState, make_host: MakeHost
    ) -> None:
        """Open the nodes that are not open yet, and build the steps. Raises WorkflowError or NodeFailed."""
        for runtime in registers_first(runtimes):
            if not runtime.is_open and not runtime.replayed:
                runtime.open(make_host(runtime, self), plan.graph.workflow.where)
        sizes = {name: runtime.sizes for name, runtime in runtimes.items() if runtime.sizes}
        if sizes:
            check_sizes(plan.graph, sizes)
        fold_constants(plan, runtimes, self._cache)
        build_steps(execution, self.context, runtimes)

    def _unanswered(self, runtime: NodeRuntime, tick: int | None, error: Exception) -> None:
        """A node could not be asked something: count it, or raise NodeFailed."""
        if ends_when_unanswered(runtime.checked.entry.on_error, isinstance(error, NodeDied)):
            raise runtime.failure(tick, error) from error
        self.execution.record_error(self.execution.owners.index(runtime.name), error)

    # -- ticking ------------------------------------------------------------------------------------

    def advance(self, ticks: int) -> bool:
        """Do up to `ticks` ticks of the episode. True if it ended; False also after `stopping` and after an edit.

        The phases of a tick, and what holds when each of them is over:

        begin: `marks` has a byte for each step that is due so far, and `due` is empty
        emit and step: no step that was due is left, because a step marks only steps that stand after it
        terminal: `ended` says whether an output that ends the episode is true
        latch: every register has taken its inputs; none has on a terminal tick
        clean up: no slot holds a value that is for this tick only, and the tick is counted

        Then the next tick begins, or the edits that wait are applied: an edit never comes into a tick. A step that raises
        is counted among the steps that ran, and the phase goes on with the one after it, unless the error ends the run.
        """
        # looked up once: each of these is needed many times a tick
        execution, edits, context = self.execution, self.edits, self.context
        values, marks, template, size = execution.values, execution.marks, execution.template, execution.size
        steps, latches, terminals = execution.steps, execution.latches, self.plan.terminals
        waiting, event_slots = execution.due, execution.event_slots
        visits, spent, add = execution.visits, execution.spent, self.times.add
        hold_seconds = context.hold_seconds
        ended = False
        for now in range(self.tick, self.tick + ticks):
            # begin
            values[TICK_SLOT] = now
            marks[:size] = template
            if waiting:
                for due in waiting:
                    marks[due] = 1
                waiting.clear()
            # a step marks only steps that stand after it, so the iterators come to what is marked on the way
            work, taking = compress(steps, marks), iter(latches)
            started = last = perf_counter()
            while True:  # once, and once more after each error that the run goes on from
                try:
                    # emit and step
                    for index, run in work:
                        run()
                        clock = perf_counter()
                        spent[index] += clock - last
                        visits[index] += 1
                        last = clock
                    # terminal; an output may raise when it is asked whether it is true, and is no step
                    index = -1
                    for slot in terminals:
                        if values[slot]:
                            ended = True
                    # latch
                    if not ended:
                        for index, run in taking:
                            run()
                            clock = perf_counter()
                            spent[index] += clock - last
                            visits[index] += 1
                            last = clock
                    break
                except BaseException as error:
                    # error: the iterators stand behind the step that raised
                    if index >= 0:
                        clock = perf_counter()
                        spent[index] += clock - last
                        visits[index] += 1
                        last = clock
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    self._failed(index, error)
            # clean up
            if event_slots:
                for slot in event_slots:
                    values[slot] = None
                event_slots.clear()
            if context.hold_seconds != hold_seconds:  # the clock stood still for so long
                started += context.hold_seconds - hold_seconds
                hold_seconds = context.hold_seconds
            add(last - started)
            self.tick = now + 1
            self.ticks += 1
            if ended or self.stopping or edits:
                break
        while edits:
            self._apply(edits.popleft())
        return ended

    def _failed(self, index: int, error: BaseException) -> None:
        """A step raised, or (-1) a terminal output did when it was asked whether it is true."""
        execution, steps = self.execution, self.plan.steps
        if index < 0:
            names = " or ".join(name for name, node in self.nodes.items() if getattr(node, "terminal", None))
            raise RunError(f"{names}: whether the episode ends cannot be told on tick {self.tick}: {error}") from error
        runtime = self.runtimes[execution.owners[index]]
        if after_failed_step(runtime.checked.entry.on_error, error) != "hold":
            self.ticks += 1
            raise runtime.failure(self.tick, error) from error
        execution.record_error(index, error)
        if index < execution.size and steps[index].role == "emit":
            for step in steps:
                if step.role == "read" and step.node == runtime.name:
                    execution.values[step.inputs[0].sources[0].slot] = nothing

    def node_stats(self) -> Mapping[str, NodeStats]:
        """What every node has done so far. A register runs when it emits; gates are the engine's own."""
        return collect_stats(self.execution, self.ticks, self.runtimes)

    def thinking(self) -> set[str]:
        """The nodes that are thinking at this moment. May be asked from any thread."""
        return {name for name, runtime in self.runtimes.items() if runtime.is_thinking}

    def health(self) -> dict[str, Health]:
        """Return the health of the background nodes that are open. May be asked from any thread."""
        runtimes = self.runtimes
        return {name: runtime.health for name, runtime in runtimes.items() if runtime.background is not None}

    def spent(self) -> StepTimes:
        """Seconds of every step so far, for `spent_since`: cheap enough to be asked on every tick."""
        return self.execution, self.execution.spent.copy()

    def spent_since(self, before: StepTimes) -> dict[str, float]:
        """Seconds of each node since `before`, or since an edit after it. Gates are the engine's own."""
        execution, then = before
        seconds = dict.fromkeys(self.runtimes, 0.0)
        if execution is self.execution:
            seconds |= seconds_since(execution, then)
        return seconds

    # -- keeping ------------------------------------------------------------------------------------

    def state(self, background: bool = True) -> dict[str, Any]:
        """Everything the next tick depends on; between two ticks.

        Waits for nodes that are thinking. Without `background` it leaves those nodes out: in a replay what
        their results are on the tape. Raises RunError if a node's state cannot be copied.
        """
        pending = {name: runtime.pending for name, runtime in self.runtimes.items() if background and runtime.pending}
        for each in pending.values():
            each.finish()
        nodes: dict[str, Any] = {}
        for runtime in registers_first(self.runtimes):
            if runtime.is_open and runtime.has_state and (background or runtime.background is None):
                try:
                    nodes[runtime.name] = runtime.endpoint.state()
                except Exception as error:
                    raise runtime.failure(self.tick, error) from error
        return {
            "tick": self.tick,
            "ticks": self.ticks,
            "episode": self.episode,
            "motion": self.execution.state(),  # the name in snapshots
            "nodes": nodes,
            "thoughts": {name: each.state() for name, each in pending.items()},  # the name in snapshots
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Become what `state()` described."""
        if self.episode != tuple(state["episode"]) or not self.tick:
            self.reset(*state["episode"])
        for name, saved in state["nodes"].items():
            self.runtimes[name].endpoint.load_state(saved)
        for name, runtime in self.runtimes.items():
            if runtime.pending is not None:
                runtime.pending.load_state(state["thoughts"][name])
        self.execution.load_state(state["motion"])
        self.tick, self.ticks = state["tick"], state["ticks"]

    # -- live edit ----------------------------------------------------------------------------------

    def prepare(self, plan: Plan, source: Any, make_host: MakeHost) -> Edit:
        """Make ready to go on with another plan; everything slow happens here, beside the game. Then put it into `edits`.

        `source` is what the tape shall have of it. Raises what opening a workflow raises; then nothing has changed.
        """
        edit = Edit.diff(self.plan, plan, self.runtimes, source, self.context.tape)
        try:
            nodes = {name: runtime.node for name, runtime in edit.runtimes.items()}
            check_pads(plan.graph, nodes)
            check_collectors(plan.graph, nodes)
            self._make_ready(plan, edit.runtimes, edit.execution, make_host)
        except BaseException:
            edit.refuse(RunError("it could not be made ready"))
            edit.close()
            raise
        return edit

    def finish_edit(self, edit: Edit) -> list[str]:
        """After `edit.done`: close the nodes that were taken out; returns a sentence for each that failed.

        Raises RunError if the edit could not be applied: then the old plan goes on, and what the edit opened is closed.
        """
        sentences = edit.close()
        if edit.error is not None:
            raise edit.error
        return sentences

    def _apply(self, edit: Edit) -> None:
        """Between two ticks: go on with the edit's nodes, or, if one of them refuses, as before."""
        try:
            if edit.before is not self.runtimes:
                raise RunError("another edit came first, and this one was made for the graph before it")
            edit.begin(self.episode, self.tick)
        except RunError as error:
            edit.refuse(error)
        else:
            if self.context.tape is not None:
                self.context.tape.add("", "edit", edit.source)
            edit.take_over(self.execution)
            self.plan, self.runtimes, self.execution = edit.plan, edit.runtimes, edit.execution
        edit.done.set()
