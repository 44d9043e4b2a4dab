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
from minibrains.engine.node_runtime import NodeRuntime, sort_registers_first
from minibrains.engine.output_cache import OutputCache, fold_constants
from minibrains.engine.plan import TICK_SLOT, Plan
from minibrains.engine.replay_policy import Tape
from minibrains.engine.single_steps import AfterStep, advance_by_steps
from minibrains.engine.stats import NodeStats, StepTimes, collect_stats, seconds_since
from minibrains.engine.step_builder import ExecutionContext, absent_output, build_steps
from minibrains.engine.tick import NO_STEP
from minibrains.engine.timing import LatencyHistogram
from minibrains.errors import RunError
from minibrains.graph.action_names import check_action_names
from minibrains.graph.check import check_sizes
from minibrains.graph.collectors import check_collectors, check_start
from minibrains.graph.encoding import check_encodings
from minibrains.graph.error_policy import after_failed_step, ends_after_failed_call
from minibrains.graph.pads import check_pads
from minibrains.host import Episode, EpisodeStart, Host
from minibrains.node import Node

MakeHost = Callable[[NodeRuntime, "Engine"], Host]


class Engine:
    """Ticks a plan. One engine has one set of nodes and plays one episode after another.

    `minibrains.engine.tick` describes the phases of a tick.
    """

    def __init__(
        self, plan: Plan, cache: OutputCache | None = None, tape: Tape | None = None
    ) -> None:
        """Make the nodes of a plan.

        Args:
            plan: The plan.
            cache: A cache of outputs, which the runs of a process share.
            tape: The tape to write, or to read if it `replays`.
        """
        self.plan = plan
        self.runtimes = instantiate_nodes(plan, plan.graph.nodes, tape)
        """The runtime of each node by id. A live edit replaces them all."""
        check_pads(plan.graph, self.nodes)
        check_action_names(plan.graph, self.nodes)
        check_encodings(plan.graph)
        check_collectors(plan.graph, self.nodes)
        self.tick = 0
        """Ticks of this episode."""
        self.total_ticks = 0
        """Ticks of all episodes."""
        self.stopping = False
        """If set, for example by a signal handler, the run ends after the current tick."""
        self.after_step: AfterStep | None = None
        """If set, `advance` runs one tick, and calls it after each step that has done
        something, before the next one."""
        self.edits: deque[Edit] = deque()
        """Prepared edits that wait to be applied between two ticks."""
        self.times = LatencyHistogram()
        """The durations of the ticks of `advance`, except those that it ran step by step."""
        self.context = ExecutionContext(tape)
        self.execution = ExecutionState(plan)
        self.episode: tuple[int, int, int | None] = (0, 0, None)
        """Index, seed and limit of the current episode."""
        self.start_states: tuple[str, ...] = ()
        """The states that episodes may begin from, out of those of the console; none: any."""
        self.start: EpisodeStart | None = None
        """The start of the current episode, as its console began it; None without one."""
        self._cache = cache or OutputCache()

    @property
    def nodes(self) -> dict[str, Any]:
        """The nodes by id; a node in another process is represented by its NodeProcess."""
        return {name: runtime.node for name, runtime in self.runtimes.items()}

    @property
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock; None in a graph without a console."""
        return self.context.frame_rate

    @frame_rate.setter
    def frame_rate(self, rate: float) -> None:
        self.context.frame_rate = rate

    @property
    def blocked_seconds(self) -> float:
        """Seconds for which the game waited for background nodes."""
        return self.context.blocked_seconds

    # -- life cycle --------------------------------------------------------------------------------

    def open(self, make_host: MakeHost) -> None:
        """Open all nodes, registers first; check the shapes that are known only now;
        compute constant results.
        """
        self._make_ready(self.plan, self.runtimes, self.execution, make_host)

    def reset(self, index: int, seed: int, limit: int | None = None) -> None:
        """Start an episode.

        Args:
            index: The number of the episode, from 0.
            seed: The seed of the run.
            limit: Number of ticks after which the run will end the episode; None: no limit.

        Raises:
            NodeFailed: The `reset` of a node failed, and its `on_error` ends the run.
            GameError: The console began from a held-back state, and a node collects or trains.
        """
        self.tick = 0
        self.episode = index, seed, limit
        self.start = None
        for runtime in self.runtimes.values():
            runtime.replayed_call.clear()
            if runtime.non_blocking is not None:
                runtime.non_blocking.cancel()
        self.execution.reset()
        for runtime in sort_registers_first(self.runtimes):
            if runtime.is_open and runtime.has_state:
                try:
                    runtime.reset(self._episode_of(runtime.name))
                except Exception as error:
                    self._lifecycle_failed(runtime, None, error)
        check_start(self.plan.graph, self.start)

    def _episode_of(self, node: str) -> Episode:
        index, seed, limit = self.episode
        return Episode(index, seed, node, limit, self.start_states)

    def is_done(self, index: int, seed: int, limit: int | None = None) -> bool:
        """Return whether an episode need not be played: at least one node keeps what episodes
        leave behind, and every such node has it already.

        Args:
            index: The number of the episode, from 0.
            seed: The seed of the run.
            limit: Number of ticks after which the run would end the episode; None: no limit.
        """
        answers: list[bool] = []
        for runtime in self.runtimes.values():
            if runtime.keeps_episodes:
                try:
                    answers.append(runtime.is_done(Episode(index, seed, runtime.name, limit)))
                except Exception as error:
                    self._lifecycle_failed(runtime, None, error)
                    answers.append(False)
        return bool(answers) and all(answers)

    def finish_episode(self, results: Mapping[str, Any]) -> None:
        """Tell the nodes that the episode is over, with its results."""
        for runtime in self.runtimes.values():
            try:
                runtime.finish_episode(results)
            except Exception as error:
                self._lifecycle_failed(runtime, self.tick, error)

    def report(self) -> dict[str, Any]:
        """Return the nodes' results of the episode, merged; registers first,
        so that a Score node overrides the others. Of several nodes of one type, the first one in
        the workflow has the key, and a further one `NODE.key`.

        Skips nodes that are thinking, nodes that hung on an earlier call and, in real time, nodes
        whose process is being started.
        """
        report: dict[str, Any] = {}
        types: dict[str, type[Node]] = {}
        for runtime in sort_registers_first(self.runtimes):
            try:
                found = runtime.report(waits=not self.context.realtime)
            except Exception as error:
                self._lifecycle_failed(runtime, self.tick, error)
                continue
            cls = runtime.checked.cls
            for key, value in found.items():
                if types.get(key) is cls:
                    key = f"{runtime.name}.{key}"
                report[key], types[key] = value, cls
        return report

    def close(self, timeout: float | None = None) -> list[str]:
        """Close all open nodes, even if some fail; return a sentence for each that failed.

        A node that is thinking gets `timeout` seconds (5). Pending edits are refused, and the nodes
        that they opened are closed.
        """
        sentences: list[str] = []
        while self.edits:
            edit = self.edits.popleft()
            edit.refuse(RunError("the run is over"))
            sentences += edit.close()
            edit.done.set()
        for runtime in reversed(sort_registers_first(self.runtimes)):
            sentences += runtime.close(timeout)
        return sentences

    def _make_ready(
        self,
        plan: Plan,
        runtimes: Mapping[str, NodeRuntime],
        execution: ExecutionState,
        make_host: MakeHost,
    ) -> None:
        """Open the nodes that are not open yet, and build the steps.

        Raises WorkflowError or NodeFailed.
        """
        trained: tuple[str, ...] = ()
        if plan.graph.region is not None:
            trained = plan.graph.region.nodes
        for runtime in sort_registers_first(runtimes):
            # something outside of the graph answers for the nodes that are trained
            if not runtime.is_open and not runtime.from_tape and runtime.name not in trained:
                runtime.open(make_host(runtime, self), plan.graph.workflow.where)
        sizes = {name: runtime.sizes for name, runtime in runtimes.items() if runtime.sizes}
        if sizes:
            check_sizes(plan.graph, sizes)
        fold_constants(plan, runtimes, self._cache)
        build_steps(execution, self.context, runtimes)

    def _lifecycle_failed(self, runtime: NodeRuntime, tick: int | None, error: Exception) -> None:
        """Handle a failed call of `reset` or the like: count the error, or raise NodeFailed."""
        if ends_after_failed_call(runtime.checked.entry.on_error, isinstance(error, NodeDied)):
            raise runtime.failure(tick, error) from error
        self.execution.record_error(self.execution.owners.index(runtime.name), error)

    # -- ticking -----------------------------------------------------------------------------------

    def advance(self, ticks: int) -> bool:
        """Run up to `ticks` ticks of the episode, then apply the waiting edits.

        The phases of a tick are those of `minibrains.engine.tick`. They are written out here, since
        this is the loop that determines how fast a game is.

        A step that raises is counted among those that ran. Unless the error ends the run, the phase
        goes on with the step after it. Edits are never applied within a tick.

        Returns:
            True if the episode ended. False, perhaps early, if it did not: after `ticks` ticks,
            once `stopping` is set, or when edits were applied.

        Raises:
            NodeFailed: A node raised, and its `on_error` says that this ends the run.
            RunError: An output that ends the episode is neither true nor false.
        """
        if self.after_step is not None:
            ended = advance_by_steps(self, self.after_step)
            self.apply_edits()
            return ended
        # local names, which are read faster: each of these is used many times a tick
        execution = self.execution
        values = execution.values
        one_tick_slots = execution.one_tick_slots
        due_flags = execution.due_flags
        size = execution.size
        due_every_tick = execution.due_every_tick
        due_at_begin = execution.due_next_tick
        steps = execution.steps
        latches = execution.latches
        calls = execution.calls
        step_seconds = execution.step_seconds
        terminals = self.plan.terminals
        edits = self.edits
        record_duration = self.times.add
        context = self.context
        blocked_seconds = context.blocked_seconds
        no_step = index = NO_STEP
        ended = False
        for tick in range(self.tick, self.tick + ticks):
            # begin
            values[TICK_SLOT] = tick
            due_flags[:size] = due_every_tick
            if due_at_begin:
                for index in due_at_begin:
                    due_flags[index] = 1
                due_at_begin.clear()
            # a step flags only steps after itself, so the iterators still reach what is flagged on
            # the way
            due_steps = compress(steps, due_flags)
            remaining_latches = iter(latches)
            started = before = perf_counter()
            while True:  # once, and again after each error that does not end the run
                try:
                    # emit and step
                    for index, run in due_steps:
                        run()
                        now = perf_counter()
                        step_seconds[index] += now - before
                        calls[index] += 1
                        before = now
                    # terminal; testing an output for truth may raise, outside of any step
                    index = no_step
                    for slot in terminals:
                        if values[slot]:
                            ended = True
                    # latch
                    if not ended:
                        for index, run in remaining_latches:
                            run()
                            now = perf_counter()
                            step_seconds[index] += now - before
                            calls[index] += 1
                            before = now
                    break
                except BaseException as error:
                    # error: the iterators are already past the step that raised
                    if index != no_step:
                        now = perf_counter()
                        step_seconds[index] += now - before
                        calls[index] += 1
                        before = now
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    self.step_failed(index, error)
            # end
            if one_tick_slots:
                for slot in one_tick_slots:
                    values[slot] = None
                one_tick_slots.clear()
            # time in which the game waited for a node does not count towards the tick
            if context.blocked_seconds != blocked_seconds:
                started += context.blocked_seconds - blocked_seconds
                blocked_seconds = context.blocked_seconds
            record_duration(before - started)
            self.tick = tick + 1
            self.total_ticks += 1
            if ended or self.stopping or edits:
                break
        if edits:
            self.apply_edits()
        return ended

    def step_failed(self, index: int, error: BaseException) -> None:
        """Count the error of a step that may fail, or raise the error that ends the run:
        NodeFailed or RunError.

        Args:
            index: The index of the step or latch; `NO_STEP` if a terminal output could not be
                tested for truth.
            error: The exception.
        """
        execution, steps = self.execution, self.plan.steps
        if index == NO_STEP:
            names = " or ".join(
                name for name, node in self.nodes.items() if getattr(node, "terminal", None)
            )
            raise RunError(
                f"{names}: cannot tell on tick {self.tick} whether the episode ends: {error}"
            ) from error
        runtime = self.runtimes[execution.owners[index]]
        if after_failed_step(runtime.checked.entry.on_error, error) != "hold":
            self.total_ticks += 1
            raise runtime.failure(self.tick, error) from error
        execution.record_error(index, error)
        if index < execution.size and steps[index].role == "emit":
            # its lazy outputs would be those of the tick before
            for step in steps:
                if step.role == "read" and step.node == runtime.name:
                    execution.values[step.inputs[0].sources[0].slot] = absent_output

    def node_stats(self) -> Mapping[str, NodeStats]:
        """Return the statistics of each node so far.

        A register runs when it emits; clock gates belong to the engine.
        """
        return collect_stats(self.execution, self.total_ticks, self.runtimes)

    def thinking(self) -> set[str]:
        """Return the ids of the nodes that are thinking now. May be called from any thread."""
        return {name for name, runtime in self.runtimes.items() if runtime.is_thinking}

    def health(self) -> dict[str, Health]:
        """Return the health of the open background nodes, by id. May be called from any thread."""
        runtimes = self.runtimes
        return {
            name: runtime.health
            for name, runtime in runtimes.items()
            if runtime.background is not None
        }

    def step_times(self) -> StepTimes:
        """Return the seconds of every step so far, for `seconds_since`;
        cheap enough to call on every tick.
        """
        return self.execution, self.execution.step_seconds.copy()

    def seconds_since(self, before: StepTimes) -> dict[str, float]:
        """Return the seconds of each node since `before`, or since a later edit.

        Clock gates belong to the engine.
        """
        execution, then = before
        seconds = dict.fromkeys(self.runtimes, 0.0)
        if execution is self.execution:
            seconds |= seconds_since(execution, then)
        return seconds

    # -- state -------------------------------------------------------------------------------------

    def state(self, background: bool = True) -> dict[str, Any]:
        """Return everything that the next tick depends on. Call it between two ticks.

        Waits for nodes that are thinking. Without `background`, leaves these nodes out: a replay
        takes their results from the tape. Raises RunError if a node's state cannot be copied.
        """
        calls = {
            name: runtime.non_blocking
            for name, runtime in self.runtimes.items()
            if background and runtime.non_blocking
        }
        for each in calls.values():
            each.finish()
        nodes: dict[str, Any] = {}
        for runtime in sort_registers_first(self.runtimes):
            if runtime.is_open and runtime.has_state and (background or runtime.background is None):
                try:
                    nodes[runtime.name] = runtime.callee.state()
                except Exception as error:
                    raise runtime.failure(self.tick, error) from error
        replayed_calls: dict[str, Any] = {}
        for name, runtime in self.runtimes.items():
            if runtime.from_tape:
                replayed_calls[name] = runtime.replayed_call.state()
            elif runtime.non_blocking is not None and not background:
                replayed_calls[name] = runtime.non_blocking.as_replayed()
        return {
            "tick": self.tick,
            "ticks": self.total_ticks,
            "episode": self.episode,
            "motion": self.execution.state(),  # the name in snapshots
            "nodes": nodes,
            "thoughts": {
                name: each.state() for name, each in calls.items()
            },  # the name in snapshots
            "replayed_calls": replayed_calls,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state()` returned."""
        if self.episode != tuple(state["episode"]) or not self.tick:
            self.reset(*state["episode"])
        for name, saved in state["nodes"].items():
            runtime = self.runtimes[name]
            renamed = runtime.checked.cls.renamed_attributes
            if renamed:
                saved = {renamed.get(key, key): value for key, value in saved.items()}
            runtime.callee.load_state(saved)
        for name, runtime in self.runtimes.items():
            if runtime.non_blocking is not None:
                runtime.non_blocking.load_state(state["thoughts"][name])
        for name, saved in state.get("replayed_calls", {}).items():  # older snapshots have none
            self.runtimes[name].replayed_call.load_state(saved)
        self.execution.load_state(state["motion"])
        self.tick, self.total_ticks = state["tick"], state["ticks"]

    # -- live edit ---------------------------------------------------------------------------------

    def prepare(self, plan: Plan, tape_value: Any, make_host: MakeHost) -> Edit:
        """Prepare a live edit to another plan. Everything slow happens here, while the game runs.

        It raises what opening a workflow raises; the running plan is then unchanged.

        Args:
            plan: The new plan.
            tape_value: The value of the edit's event on the tape; None: write no event, because
                this is not a change.
            make_host: Makes the host of each new node.

        Returns:
            The edit, to be appended to `edits`.
        """
        edit = Edit.between(self.plan, plan, self.runtimes, tape_value, self.context.tape)
        try:
            nodes = {name: runtime.node for name, runtime in edit.runtimes.items()}
            check_pads(plan.graph, nodes)
            check_action_names(plan.graph, nodes)
            check_encodings(plan.graph)
            check_collectors(plan.graph, nodes)
            check_start(plan.graph, self.start)
            self._make_ready(plan, edit.runtimes, edit.execution, make_host)
        except BaseException:
            edit.refuse(RunError("it could not be made ready"))
            edit.close()
            raise
        return edit

    def apply_edits(self) -> None:
        """Apply the waiting edits. Call it between two ticks."""
        while self.edits:
            self._apply(self.edits.popleft())

    def finish_edit(self, edit: Edit) -> list[str]:
        """Close the nodes that an edit removed, after `edit.done`;
        return a sentence for each that failed.

        Raises RunError if the edit could not be applied: then the old plan goes on, and its new
        nodes are closed.
        """
        sentences = edit.close()
        if edit.error is not None:
            raise edit.error
        return sentences

    def _apply(self, edit: Edit) -> None:
        """Apply an edit between two ticks; if one of its nodes refuses, go on as before."""
        try:
            if edit.old_runtimes is not self.runtimes:
                raise RunError(
                    "another edit came first, and this one was made for the graph before it"
                )
            edit.try_apply(self._episode_of, self.tick)
        except RunError as error:
            edit.refuse(error)
        else:
            if self.context.tape is not None and edit.tape_value is not None:
                self.context.tape.add("", "edit", edit.tape_value)
            edit.commit(self.execution)
            self.plan, self.runtimes, self.execution = edit.plan, edit.runtimes, edit.execution
        edit.done.set()
