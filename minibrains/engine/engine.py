"""A plan in motion: open, reset, tick, close."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import compress
from time import perf_counter
from typing import Any

from minibrains.engine.background import Thinker, Thought, close_node
from minibrains.engine.bind import Tape, World, bind, nothing
from minibrains.engine.counts import NodeTimes, Spent, count, seconds_since
from minibrains.engine.kept import KeptOutputs, Still, StillFailed, work_out
from minibrains.engine.live_edit import Edit
from minibrains.engine.make import NodeFailed, make_nodes
from minibrains.engine.motion import Motion
from minibrains.engine.node_process import NodeDied
from minibrains.engine.plan import TICK_SLOT, Plan
from minibrains.engine.timing import TickTimes
from minibrains.errors import BrainError, Fault, MinibrainsError, RunError, WorkflowError
from minibrains.graph.check import check_sizes
from minibrains.host import Episode, Host
from minibrains.node import Node, check_names

MakeHost = Callable[[str, "Engine"], Host]


class Engine:
    """Ticks a plan. One engine has one set of nodes and plays one episode after another.

    A tick has three phases. Emit: every register gives out its outputs. Step: the due nodes run, in plan
    order. Latch: every register takes its inputs. On a terminal tick nothing is latched.
    """

    def __init__(self, plan: Plan, kept: KeptOutputs | None = None, tape: Tape | None = None) -> None:
        """`kept`: shared by the runs of a process. `tape`: written to, or read from if it `replays`."""
        self.plan = plan
        self.nodes = make_nodes(plan, plan.graph.nodes)
        self.sizes: dict[str, dict[str, int]] = {}
        self.tick = 0
        self.ticks = 0
        """Ticks of all episodes."""
        self.stopping = False
        """Set it (from a signal handler, say) and the run ends after the current tick."""
        self.edits: deque[Edit] = deque()
        """Prepared edits; they are applied between two ticks."""
        self.times = TickTimes()
        self.world = World(tape)
        self.motion = Motion(plan)
        self.episode = (0, 0)
        """Index and seed of the episode that is played."""
        self._kept = kept or KeptOutputs()
        self._still: dict[str, Still] = {}
        self._thinkers: dict[str, Thinker] = {}
        self._thoughts: dict[str, Thought] = {}
        self._opened: list[str] = []
        self._silenced: set[str] = set()
        """Nodes that had not answered `report` when Ctrl-C came."""

    @property
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock; None in a graph without a console."""
        return self.world.frame_rate

    @frame_rate.setter
    def frame_rate(self, rate: float) -> None:
        self.world.frame_rate = rate

    @property
    def held(self) -> float:
        """Seconds for which the clock stood still while hold nodes were thinking."""
        return self.world.held

    # -- life ---------------------------------------------------------------------------------------

    def open(self, make_host: MakeHost) -> None:
        """Open every node, registers first, check the shapes that only now became known, work out the still part."""
        for name in self._registers_first():
            if self._is_awake(self.plan, name):
                self._opened.append(name)
                self._open(self.plan, name, self.nodes[name], make_host)
        if self.sizes:
            check_sizes(self.plan.graph, self.sizes)
        self._think_with(self.plan, self.nodes, self.nodes, self._thinkers, self._thoughts)
        self._pace(self.plan)
        self._still = self._work_out(self.plan, self.nodes, self._thinkers)
        bind(self.motion, self.world, self.nodes, self._still, self._thinkers, self._thoughts)

    def reset(self, index: int, seed: int) -> None:
        """Start episode `index` of a run with this seed."""
        self.tick = 0
        self.episode = index, seed
        for thought in self._thoughts.values():
            thought.forget()
        self.motion.reset()
        for name in self._with_state():
            try:
                self._life(name).reset(Episode(index, seed, name))
                check_names(self.nodes[name])
            except Exception as error:
                self._bear(name, None, error)

    def report(self) -> dict[str, Any]:
        """What the nodes say of the episode: registers first, so that a Score node has the last word.

        A node that is thinking is not asked, and neither is one that hung when it was asked before.
        """
        report: dict[str, Any] = {}
        asked = set(self._opened) - self._silenced
        for name in self._registers_first():
            silent = self.plan.graph.nodes[name].cls.report is Node.report
            if name in asked and not silent and not self._is_thinking(name):
                try:
                    report.update(self._life(name).report())
                except Exception as error:
                    self._bear(name, self.tick, error)
                except BaseException:
                    self._silenced.add(name)
                    raise
        return report

    def close(self, patience: float | None = None) -> list[str]:
        """Close every opened node, whatever happens in the others; returns a sentence for each that failed.

        One that is thinking gets `patience` seconds (5). Edits that were not applied are refused, and what they opened is closed.
        """
        sentences: list[str] = []
        while self.edits:
            edit = self.edits.popleft()
            edit.refuse(RunError("the run is over"))
            sentences.extend(edit.close())
            edit.done.set()
        while self._opened:
            name = self._opened.pop()
            thinker = self._thinkers.pop(name, None)
            troubles = list(close_node(name, self.nodes[name], thinker, patience))
            # if the workflow lets a node fail, one that never came back was counted when it was given up
            borne = thinker is not None and thinker.stuck and self.plan.graph.nodes[name].entry.on_error != "stop"
            sentences.extend([] if borne else troubles)
        return sentences

    # -- ticking ------------------------------------------------------------------------------------

    def advance(self, ticks: int) -> bool:
        """Do up to `ticks` ticks of the episode. True if it ended; False also after `stopping` and after an edit."""
        motion, edits = self.motion, self.edits
        values, marks, template, size, waiting = motion.values, motion.marks, motion.template, motion.size, motion.due
        steps, latches, terminals, fired = motion.steps, motion.latches, self.plan.terminals, motion.fired
        runs, spent, add, world = motion.runs, motion.spent, self.times.add, self.world
        held = world.held
        ended = False
        for now in range(self.tick, self.tick + ticks):
            values[TICK_SLOT] = now
            marks[:size] = template
            if waiting:
                for due in waiting:
                    marks[due] = 1
                waiting.clear()
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
                except BaseException as error:
                    if index >= 0:
                        clock = perf_counter()
                        spent[index] += clock - last
                        runs[index] += 1
                        last = clock
                    if not isinstance(error, Exception):
                        raise
                    self._failed(index, error)
            if fired:
                for slot in fired:
                    values[slot] = None
                fired.clear()
            if world.held != held:  # the clock stood still for so long
                started += world.held - held
                held = world.held
            add(last - started)
            self.tick = now + 1
            self.ticks += 1
            if ended or self.stopping or edits:
                break
        while edits:
            self._apply(edits.popleft())
        return ended

    def node_times(self) -> Mapping[str, NodeTimes]:
        """What every node has done so far. A register runs when it emits; gates are the engine's own."""
        return count(self.motion, self.nodes, self.ticks, self._thinkers, self._thoughts)

    def thinking(self) -> set[str]:
        """The nodes that are thinking at this moment. May be asked from any thread."""
        return {name for name, thinker in self._thinkers.copy().items() if thinker.busy}

    def spent(self) -> Spent:
        """Seconds of every step so far, for `spent_since`: cheap enough to be asked on every tick."""
        return self.motion, self.motion.spent.copy()

    def spent_since(self, before: Spent) -> dict[str, float]:
        """Seconds of each node since `before`, or since an edit after it. Gates are the engine's own."""
        motion, then = before
        return dict.fromkeys(self.nodes, 0.0) | (seconds_since(motion, then) if motion is self.motion else {})

    # -- keeping ------------------------------------------------------------------------------------

    def state(self, background: bool = True) -> dict[str, Any]:
        """Everything the next tick depends on; between two ticks.

        Waits for nodes that are thinking. Without `background` it leaves those nodes out: in a replay what
        they thought is on the tape. Raises RunError if a node's state cannot be copied.
        """
        for thought in self._thoughts.values() if background else ():
            thought.finish()
        names = [name for name in self._with_state() if background or name not in self._thinkers]
        nodes: dict[str, Any] = {}
        for name in names:
            try:
                nodes[name] = self._life(name).state()
            except Exception as error:
                raise self._failure(name, self.tick, error) from error
        thoughts = {name: thought.state() for name, thought in self._thoughts.items() if background}
        return {
            "tick": self.tick,
            "ticks": self.ticks,
            "episode": self.episode,
            "motion": self.motion.state(),
            "nodes": nodes,
            "thoughts": thoughts,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Become what `state()` described."""
        if self.episode != tuple(state["episode"]) or not self.tick:
            self.reset(*state["episode"])
        for name, kept in state["nodes"].items():
            self._life(name).load_state(kept)
        for name, thought in self._thoughts.items():
            thought.load_state(state["thoughts"][name])
        self.motion.load_state(state["motion"])
        self.tick, self.ticks = state["tick"], state["ticks"]

    # -- live edit ----------------------------------------------------------------------------------

    def prepare(self, plan: Plan, source: Any, make_host: MakeHost) -> Edit:
        """Make ready to go on with another plan; everything slow happens here, beside the game. Then put it into `edits`.

        `source` is what the tape shall have of it. Raises what opening a workflow raises; then nothing has changed.
        """
        edit = Edit.between(self.plan, plan, self.nodes, source)
        sizes, self.sizes = self.sizes, {name: said for name, said in self.sizes.items() if name not in edit.fresh}
        try:
            for name in edit.fresh:
                if self._is_awake(plan, name):
                    edit.opened.append(name)
                    self._open(plan, name, edit.nodes[name], make_host)
            if self.sizes:
                check_sizes(plan.graph, {name: said for name, said in self.sizes.items() if name in plan.graph.nodes})
            edit.thinkers = {name: t for name, t in self._thinkers.items() if edit.nodes.get(name) is self.nodes[name]}
            edit.thoughts = {name: t for name, t in self._thoughts.items() if name in edit.thinkers}
            self._think_with(plan, edit.nodes, edit.fresh, edit.thinkers, edit.thoughts)
            edit.still = self._work_out(plan, edit.nodes, edit.thinkers)
            bind(edit.motion, self.world, edit.nodes, edit.still, edit.thinkers, edit.thoughts)
        except BaseException:
            edit.refuse(RunError("it could not be made ready"))
            edit.close()
            raise
        finally:
            edit.sizes, self.sizes = self.sizes, sizes
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
            self._make_fit(edit)
        except RunError as error:
            edit.refuse(error)
            edit.done.set()
            return
        if self.world.tape is not None:
            self.world.tape.add("", "edit", edit.source)
        stays = {name for name, node in edit.nodes.items() if self.nodes.get(name) is node}
        edit.retire({name: self.nodes[name] for name in self._opened if name not in stays}, self._thinkers)
        self._opened = [name for name in self._opened if name in stays] + edit.opened
        edit.motion.carry(self.motion, stays | edit.heirs, edit.again(self._still, self._thoughts), edit.still)
        self.plan, self.motion, self.nodes, self.sizes = edit.plan, edit.motion, edit.nodes, edit.sizes
        self._still, self._thinkers, self._thoughts = edit.still, edit.thinkers, edit.thoughts
        self._pace(edit.plan)
        edit.done.set()

    def _make_fit(self, edit: Edit) -> None:
        """All of an edit that a node may refuse. Raises RunError."""
        if edit.base is not self.plan:
            raise RunError("another edit came first, and this one was made for the graph before it")
        name = ""
        try:
            for name in edit.opened:
                life = edit.thinkers.get(name) or edit.nodes[name]
                life.reset(Episode(*self.episode, name))
                check_names(edit.nodes[name])
                if name in edit.heirs:
                    if name in self._thoughts:
                        self._thoughts[name].finish()
                    life.load_state(self._life(name).state())
                    if name in self._thoughts and name in edit.thoughts:
                        edit.thoughts[name].inherit(self._thoughts[name])
            for name, widgets in edit.settings.items():
                if name in self._opened:
                    self._life(name).set(**widgets)
        except Exception as error:
            for changed in edit.settings.keys() & self._opened:
                before = self.plan.graph.nodes[changed].widgets
                with suppress(Exception):
                    self._life(changed).set(**{widget: before[widget] for widget in edit.settings[changed]})
            raise NodeFailed(name, edit.plan.graph.nodes[name].entry.type, self.tick, error) from error

    # -- preparing ----------------------------------------------------------------------------------

    def _is_awake(self, plan: Plan, name: str) -> bool:
        """In a replay, what nodes think beside the tick comes from the tape; they themselves are not opened."""
        if self.world.tape is None or not self.world.tape.replays or plan.graph.nodes[name].cls.background is None:
            return True
        return any(step.still for step in plan.steps if step.node == name)

    def _open(self, plan: Plan, name: str, node: Any, make_host: MakeHost) -> None:
        try:
            node.open(make_host(name, self))
            check_names(node)
        except Exception as error:
            if isinstance(error, MinibrainsError) and not isinstance(error, RunError):
                raise WorkflowError([Fault(str(error), name)], plan.graph.workflow.where) from error
            raise NodeFailed(name, plan.graph.nodes[name].entry.type, None, error) from error
        node.settle()

    def _work_out(self, plan: Plan, nodes: Mapping[str, Any], thinkers: Mapping[str, Thinker]) -> dict[str, Still]:
        try:
            return work_out(plan, {**nodes, **thinkers}, self._kept)
        except StillFailed as error:
            cause = error.__cause__ or error
            raise NodeFailed(error.node, plan.graph.nodes[error.node].entry.type, None, cause) from cause

    def _think_with(
        self, plan: Plan, nodes: Mapping[str, Any], new: Iterable[str], thinkers: dict[str, Thinker], thoughts: dict[str, Thought]
    ) -> None:
        """Give every background node in `new` its thread, and every one that continues its way to its outputs."""
        for name, checked in plan.graph.nodes.items():
            if checked.cls.background is None or not self._is_awake(plan, name):
                continue
            if name in new:
                thinkers[name] = Thinker(nodes[name], name)
                thinkers[name].timeout = checked.entry.timeout
            if not checked.continues:
                thoughts.pop(name, None)
            elif name not in thoughts:
                thoughts[name] = Thought(thinkers[name])

    def _pace(self, plan: Plan) -> None:
        """How long each background node may take, and when its results are given out, is for the workflow to say."""
        for name, thinker in self._thinkers.items():
            thinker.timeout = plan.graph.nodes[name].entry.timeout
        for name, thought in self._thoughts.items():
            thought.latency = plan.graph.nodes[name].entry.latency or 1

    def _life(self, name: str) -> Any:
        """Where a node is asked: itself, or the thread it thinks on."""
        return self._thinkers.get(name) or self.nodes[name]

    def _with_state(self) -> list[str]:
        """The opened nodes that an episode changes; one that is stuck in a thought need not be asked if it is none of them."""
        return [name for name in self._opened if self.plan.graph.nodes[name].cls.reset is not Node.reset]

    def _is_thinking(self, name: str) -> bool:
        thought, thinker = self._thoughts.get(name), self._thinkers.get(name)
        return (thought is not None and thought.job is not None) or (thinker is not None and thinker.occupied)

    def _registers_first(self) -> list[str]:
        return sorted(self.nodes, key=lambda name: not self.plan.graph.nodes[name].register)

    def _failure(self, name: str, tick: int | None, error: Exception) -> NodeFailed:
        return NodeFailed(name, self.plan.graph.nodes[name].entry.type, tick, error)

    def _bear(self, name: str, tick: int | None, error: Exception) -> None:
        """A node could not be asked something. If its process died and the run goes on, the next one will be asked."""
        if not isinstance(error, NodeDied) or self.plan.graph.nodes[name].entry.on_error == "stop":
            raise self._failure(name, tick, error) from error
        self.motion.bear(self.motion.owners.index(name), error)

    def _failed(self, index: int, error: Exception) -> None:
        """A step raised, or (-1) a terminal output did when it was asked whether it is true."""
        motion, steps = self.motion, self.plan.steps
        if index < 0:
            names = " or ".join(name for name, node in self.nodes.items() if getattr(node, "terminal", None))
            raise RunError(f"{names}: whether the episode ends cannot be told on tick {self.tick}: {error}") from error
        name = motion.owners[index]
        if self.plan.graph.nodes[name].entry.on_error != "hold" or isinstance(error, BrainError):
            self.ticks += 1
            raise self._failure(name, self.tick, error) from error
        motion.bear(index, error)
        if index < motion.size and steps[index].role == "emit":
            for step in steps:
                if step.role == "read" and step.node == name:
                    motion.values[step.inputs[0].sources[0].slot] = nothing
