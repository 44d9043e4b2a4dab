"""Run: a workflow being played, from its first tick to its summary."""

from __future__ import annotations

import gc
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from minibrains.disk_cache import disk_cache
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.engine.output_cache import OutputCache
from minibrains.engine.peek import peek
from minibrains.engine.plan import Plan
from minibrains.errors import Fault, MinibrainsError, RunError, WorkflowError, as_error
from minibrains.graph.check import Graph
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow
from minibrains.hooks import DEFAULT_BUDGET, Budget, Hook, NodeProgress, Progress
from minibrains.host import map_here
from minibrains.process.launchers import choose_launcher
from minibrains.run.episode import EpisodeResult, episode_row, errors_since
from minibrains.run.folder import RunFolder
from minibrains.run.host import Map, RunHost
from minibrains.run.load_shedder import LoadShedder
from minibrains.run.memory import freeze_heap, without_garbage_collection
from minibrains.run.parallel import ParallelEpisodes
from minibrains.run.realtime import RealtimeClock
from minibrains.run.spec import RunSpec
from minibrains.run.summary import EngineStats, Results, summarise
from minibrains.savings import collect_savings
from minibrains.tape.recent import RecentTape
from minibrains.tape.recording import Recorder, TapePlayer, recorded_workflow
from minibrains.torch_node import restore_threads

if TYPE_CHECKING:
    from minibrains.run.fork import ForkPoint

State = Literal["done", "stopped", "failed"]

_PROGRESS_EVERY: Final = 0.1
"""Seconds between two reports of the progress."""
_FREEZE_AFTER: Final = 1.0
"""Seconds of ticking after which the heap is frozen: a run that is over sooner would gain less than
it takes."""
_EDIT_POLL: Final = 0.02
"""Seconds between two checks whether an edit was applied."""


class Run:
    """One run of a workflow. Iterating over it plays one episode at a time.

    The constructor checks the workflow and makes the nodes. Entering the `with` block opens them;
    leaving it closes everything, even after an error; then `summary` holds the results. A run
    prints nothing and installs no signal handler. A process can play only one run with an emulator
    at a time.

    Example:
        >>> from minibrains import Run, RunSpec
        >>> with Run(RunSpec("airstriker_random", episodes=2, ticks=60)) as run:
        ...     for episode in run:
        ...         print(episode.index, episode.score, episode.ended)
        0 0.0 limit
        1 0.0 limit
        >>> run.summary["ticks"]
        120
    """

    _open_engines: ClassVar[int] = 0
    """Number of open engines of all runs in this process."""

    def __init__(
        self,
        spec: RunSpec,
        hooks: Iterable[Hook] = (),
        *,
        registry: Registry | None = None,
        cache: OutputCache | None = None,
        folder: RunFolder | None = None,
        dir: Path | None = None,
        map: Map = map_here,
        tape: TapePlayer | None = None,
        fork: ForkPoint | None = None,
        recent: RecentTape | None = None,
    ) -> None:
        """Check the workflow and make its nodes.

        Args:
            spec: Everything that the run is made from.
            hooks: Hooks, called in this order.
            registry: Node types that were loaded before; None: load those of the spec.
            cache: A cache of outputs that runs of this process share; None: a new one, with the
                cache on disk.
            folder: An existing run folder; None: make one where the spec says.
            dir: The folder for nodes if there is no run folder; None: a temporary one.
            map: The implementation of `host.map`.
            tape: A tape to replay: values from outside are read from it, and background nodes are
                not called.
            fork: A tick of a recorded run, from which this one plays the rest of the episode, with
                the workflow of the spec. It is recorded.
            recent: Gets the last ticks of the run, so that they can be shown again; None: they are
                not kept.

        Raises:
            WorkflowError: The workflow is wrong; lists every fault.
        """
        if not isinstance(spec, RunSpec):
            raise MinibrainsError(
                f"a run is made of a RunSpec, found {spec!r}; write Run(RunSpec(…))"
            )
        if fork is not None:
            spec = replace(spec, record=True)
        if spec.record and spec.runs is None and folder is None:
            raise MinibrainsError(
                "record: a tape needs a run folder; set runs, or leave out record"
            )
        self.spec = spec
        self.hooks = list(hooks)
        if registry is None:
            registry, broken = spec.load_node_types()
            for sentence in broken:
                self.say(sentence)
        self.registry = registry
        self.workflow = spec.load_workflow()
        """The workflow as written to the run folder, without the nodes that hooks added."""
        if fork is not None:
            self.workflow = fork.settings(self.workflow)
        self.settings = self.workflow.run
        self.results = Results()
        self.graph = self.check(self.workflow)
        self.info = spec.info(self.workflow, self.graph)
        """The name, hash and command of the workflow, for the nodes."""
        self.error: BaseException | None = None
        """The first error, if any."""
        self.close_errors: list[str] = []
        """Sentences about things that could not be closed."""
        self.summary: dict[str, Any] = {}
        """The results of the run, as in summary.json; complete once the run is closed."""
        self.folder = folder
        self.ticker: Engine | RealtimeClock
        """The object that ticks: the engine itself, or a realtime clock around it."""
        self._dir = dir
        self._has_frozen_heap = False
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._map = map
        self._fork = fork
        self.recorder: Recorder | None = None
        """The hook that writes the tape, or keeps its end in memory, if there is one."""
        if fork is not None:
            self.recorder = Recorder(fork.before, fork.player(), recent)
            plan, tape = fork.plan(spec, registry), fork.player()
        else:
            plan = compile_graph(self.graph)
            if spec.record or recent is not None:
                self.recorder = Recorder(recent=recent, to_file=spec.record)
        if self.recorder is not None:
            self.hooks.insert(0, self.recorder)
        # a fork writes its tape once it has been restored
        self.engine = Engine(plan, cache or OutputCache(disk=disk_cache()), tape or self.recorder)
        self.ticker = self.engine
        self._editing = threading.Lock()
        self._over = threading.Event()
        self.writing_results = False
        """True once everything is closed, while the summary is made and written: what would
        interrupt that should wait."""
        self._reported: set[str] = set()
        """Nodes whose first failure was reported."""
        self._opened = False
        self._holds_process = False
        self._load_shedder: LoadShedder | None = None
        self._parallel: ParallelEpisodes | None = None
        launcher = choose_launcher(str(spec.workers))
        if launcher is not None:
            self._parallel = ParallelEpisodes(self, launcher)

    # -- life cycle --------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        self.open()
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(None if isinstance(error, GeneratorExit) else error)

    def open(self) -> None:
        """Make the run folder and open the nodes. An error closes the run and is raised."""
        if self._opened:
            raise RunError("this run was opened before; make another Run of the same spec")
        self._opened = True
        try:
            self._make_folder()
            for hook in self.hooks:
                hook.before_open(self)
            self.results.brains = self.graph.brain_files()
            if self._parallel is None:
                self._open_engine()
            else:
                self._parallel.open()
        except BaseException as error:
            self.close(error)
            raise

    def close(self, error: BaseException | None = None) -> None:
        """Close everything and make the summary.

        Raises the first error of closing, unless there was an `error` before.
        """
        if self._over.is_set():
            return
        self._over.set()
        self.error = error
        try:
            for hook in self.hooks:
                self._guarded(hook.before_close)
            self._close_engine()
            for hook in self.hooks:
                self._guarded(hook.after_close)
        except KeyboardInterrupt as interrupt:
            # nothing more is waited for, and the run is summed up all the same
            self.error = self.error or interrupt
        self.writing_results = True
        self.summary = self._summarise()
        for hook in self.hooks:
            self._guarded(hook.on_summary)
        if self.error is not None and "error" not in self.summary:
            self.summary = self._summarise()
        if self._scratch is not None:
            self._scratch.cleanup()
        self.writing_results = False
        if error is None and self.error is not None:
            raise self.error

    @property
    def stopping(self) -> bool:
        """True if the run is to end after the current tick.

        May be set from any thread and from a signal handler.
        """
        return self.engine.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self.engine.stopping = stopping
        if self._parallel is not None:
            self._parallel.stopping = stopping

    @property
    def state(self) -> State:
        """The state of the run: "done", "stopped" (also if not all episodes
        were played) or "failed".
        """
        if self.error is not None and not isinstance(self.error, KeyboardInterrupt):
            return "failed"
        if (
            self.error is not None
            or self.stopping
            or len(self.results.episodes) < self.settings.episodes
        ):
            return "stopped"
        return "done"

    # -- episodes ----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[EpisodeResult]:
        """Play the remaining episodes, one per iteration.

        Outside of a `with` block, open and close the run as well.
        """
        if self._over.is_set():
            raise RunError("this run is over; make another Run of the same spec")
        if self.spec.train is not None:
            raise RunError(
                "a run with train has no agent; play it with WorkflowEnv, or leave it out"
            )
        if self._opened:
            yield from self._play()
            return
        with self:
            yield from self._play()

    def _play(self) -> Iterator[EpisodeResult]:
        following = range(len(self.results.episodes), self.settings.episodes)
        if self._fork is not None:
            yield self.play_episode(self._fork.episode[0])
            return
        if self._parallel is not None:
            yield from self._parallel.play(following)
            return
        for index in following:
            if self.stopping:
                return
            if self.is_done(index):
                yield self.skip_episode(index)
            else:
                yield self.play_episode(index)

    def is_done(self, index: int) -> bool:
        """Return whether an earlier run has stored everything of an episode.

        `index` counts from 0. Raises what the engine raises.
        """
        return self.engine.is_done(index, self.settings.seed, self.settings.ticks)

    def skip_episode(self, index: int) -> EpisodeResult:
        """Add an episode that need not be played; `index` counts from 0."""
        episode = EpisodeResult.of(index, episode_row({}, 0, "skipped"))
        self.add(episode)
        return episode

    def play_episode(self, index: int) -> EpisodeResult:
        """Play one episode; `index` counts from 0.

        Raises what the engine raises; the episode is in `results` even then.
        """
        engine = self.engine
        before = engine.node_stats()
        if self._fork is None:
            engine.reset(index, self.settings.seed, self.settings.ticks)
        else:
            self._fork.restore(self)
        for hook in self.hooks:
            hook.before_episode(self, index)
        ended = "failed"
        try:
            end = self._tick(index)
            engine.finish_episode(episode_row(engine.report(), engine.tick, end))
            ended = end
        finally:
            row = episode_row(engine.report(), engine.tick, ended)
            row |= errors_since(before, engine.node_stats())
            episode = EpisodeResult.of(index, row)
            self.add(episode, suppressing=ended == "failed")
        return episode

    def add(self, episode: EpisodeResult, suppressing: bool = False) -> None:
        """Add an episode that is over.

        `suppressing`: raise no errors of hooks, because an earlier error will be raised.
        """
        self.results.episodes.append(dict(episode.row))
        for hook in self.hooks:
            try:
                hook.after_episode(self, episode)
            except RunError:
                if not suppressing:
                    raise

    def _tick(self, index: int) -> str:
        """Tick to the end of the episode; return "done", "limit" or "stopped"."""
        engine, limit = self.engine, self.settings.ticks
        chunk = 1
        shown = 0.0
        while not engine.stopping:
            budget = self._ask_hooks()
            if engine.stopping:
                break
            ticks = min(chunk, budget.ticks)
            if limit is not None:
                ticks = min(ticks, limit - engine.tick)
            if not ticks:
                return "limit"
            started = perf_counter()
            try:
                ended = self.ticker.advance(ticks)
            finally:
                now = perf_counter()
                self.results.seconds += now - started
            # at most double: quick ticks may just have been a realtime clock catching up
            fitting = int(ticks * budget.seconds / max(now - started, 1e-6))
            chunk = max(1, min(2 * ticks, fitting))
            self._tell_failures()
            if self.results.seconds >= _FREEZE_AFTER and not self._has_frozen_heap:
                self._freeze_heap()
            if ended or engine.tick == limit or now - shown >= _PROGRESS_EVERY:
                shown = now
                self._tell_progress(index)
            if ended:
                return "done"
        return "stopped"

    def _ask_hooks(self) -> Budget:
        """Call `between_ticks` of every hook; return how far the run may go until the next call."""
        ticks, seconds = DEFAULT_BUDGET
        for hook in self.hooks:
            budget = hook.between_ticks(self)
            if budget is not None:
                ticks = min(ticks, budget.ticks)
                seconds = min(seconds, budget.seconds)
        if ticks < 1:
            raise RunError(
                f"a hook gave the run a budget of {ticks} ticks; expected at least 1, "
                "or None for no limit"
            )
        return Budget(ticks, seconds)

    def _tell_progress(self, index: int) -> None:
        engine = self.engine
        if self._fork is not None:
            index = 0  # its only episode
        rate = self._played / self.results.seconds
        progress = Progress(index, engine.tick, rate, engine.report().get("score"))
        for hook in self.hooks:
            hook.on_progress(self, progress)

    def _tell_failures(self) -> None:
        """Report the first failure of each node while the run goes on:
        the summary would be too late.
        """
        execution = self.engine.execution
        if not any(execution.reasons):
            return
        for name, reason in zip(execution.owners, execution.reasons, strict=True):
            if reason and name not in self._reported:
                self._reported.add(name)
                self.say(f"{name} failed, and the run goes on: {reason}")

    def stats(self) -> EngineStats:
        """Return the statistics of the engine so far."""
        if self._load_shedder is None:
            return EngineStats.of(self.engine, self._played)
        shedder = self._load_shedder
        return EngineStats.of(self.engine, self._played, shedder.deadlines, shedder.changes)

    @property
    def _played(self) -> int:
        """The number of ticks that were played here, without those before a fork."""
        if self._fork is None:
            return self.engine.total_ticks
        return max(0, self.engine.total_ticks - self._fork.tick)

    # -- for hooks ---------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show people a line of text. May be called on any thread."""
        for hook in self.hooks:
            hook.on_message(self, text)

    def show_progress(self, progress: NodeProgress) -> None:
        """Show people how far a node is. May be called on any thread."""
        for hook in self.hooks:
            hook.on_node_progress(self, progress)

    def check(self, workflow: Workflow) -> Graph:
        """Let the hooks prepare a workflow, this run's own or that of a live edit, and check it.

        Raises WorkflowError.
        """
        workflow = self.registry.migrate(workflow)
        for hook in self.hooks:
            workflow = hook.prepare(workflow, self.registry)
        with collect_savings(self.results.savings):
            return self.spec.check(workflow, self.registry)

    def edit(self, plan: Plan) -> str:
        """Switch to another plan from the next tick on; return a description of the changes,
        for people.

        Call it on another thread than the one that ticks: new nodes are opened here, while the game
        goes on. Raises MinibrainsError if the run has not begun or is over, or if a node refuses;
        the run then goes on as before.
        """
        with self._editing:
            if not self.engine.execution.values:
                raise RunError("the run has not begun yet; edit it once it ticks")
            edit = self.engine.prepare(plan, recorded_workflow(plan.graph), self.make_host)
            self.engine.edits.append(edit)
            for hook in self.hooks:
                hook.on_edit(self, edit)
            while not edit.done.wait(_EDIT_POLL):
                if self._over.is_set():
                    raise RunError("the run ended before the change could be made")
            for error in self.engine.finish_edit(edit):
                self.say(error)
            return edit.describe()

    def peek(self, output: str) -> Any:
        """Return the current value of an output, "node.socket"; None if nothing was delivered yet,
        or the value is not kept.

        For hooks, between two ticks. A console shows its output of the coming tick. Other nodes'
        outputs are kept only if they are linked; they keep their last value until there is another.

        Raises:
            RunError: The graph has no such output.
        """
        node, _, socket = output.partition(".")
        checked = self.engine.plan.graph.nodes.get(node)
        if checked is None or socket not in checked.cls.schema.outputs:
            raise RunError(f"the graph has no output {output!r}; expected NODE.SOCKET")
        return peek(self.engine, node, socket)

    def make_host(self, runtime: NodeRuntime, engine: Engine) -> RunHost:
        """Return the host for opening a node."""
        return RunHost(
            runtime,
            self.dir,
            engine,
            self.say,
            self.show_progress,
            self.results.metadata,
            self.info,
            self.spec,
            self._map,
        )

    @property
    def dir(self) -> Path:
        """The folder for the files of nodes."""
        # created only now, because most runs without a run folder write nothing
        if self._dir is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="minibrains-")
            self._dir = Path(self._scratch.name)
        return self._dir

    # -- opening and closing -----------------------------------------------------------------------

    def _make_folder(self) -> None:
        if self.folder is None and self.spec.runs is not None:
            self.folder = RunFolder(Path(self.spec.runs), self.workflow)
        if self.folder is not None:
            self._dir = self.folder.path
            self.hooks.append(self.folder)  # last, so that what it writes is complete

    def _open_engine(self) -> None:
        self._holds_process = True
        Run._open_engines += 1
        with without_garbage_collection():
            self.engine.open(self.make_host)
        if self.settings.clock == "realtime":
            self._use_realtime_clock()
            self._freeze_heap()  # at once, because later it would miss deadlines
        for hook in self.hooks:
            hook.after_open(self)

    def _freeze_heap(self) -> None:
        freeze_heap()
        self._has_frozen_heap = True

    def _close_engine(self) -> None:
        """Close the nodes, and report those that could not be closed.

        On Ctrl-C, thinking nodes are not waited for.
        """
        if self._parallel is not None:
            self._parallel.close()
        else:
            self.results.stats[0] = self.stats()
            # a live edit may have changed them
            self.results.brains |= self.engine.plan.graph.brain_files()
        timeout = 0.0 if isinstance(self.error, KeyboardInterrupt) else None
        for error in self.engine.close(timeout):
            self.say(error)
            self.close_errors.append(error)
        self._release_process()
        if self.close_errors and self.error is None:
            self.error = RunError("; ".join(self.close_errors))

    def _release_process(self) -> None:
        """Undo the process-wide settings of runs,
        when the last open run of this process is closed.
        """
        if not self._holds_process:
            return
        self._holds_process = False
        Run._open_engines -= 1
        if Run._open_engines == 0:
            gc.unfreeze()
            restore_threads()

    def _summarise(self) -> dict[str, Any]:
        failure: dict[str, Any] = {}
        if self.error is not None:
            failure = as_error(self.error)
        return {
            **failure,
            "state": self.state,
            **summarise(self.graph, self.results, self.settings, self.folder),
        }

    def _use_realtime_clock(self) -> None:
        engine = self.engine
        if engine.frame_rate is None:
            fault = Fault(
                "the realtime clock needs a running console, which says what a frame is",
                code="missing_console",
            )
            raise WorkflowError([fault], self.graph.workflow.where)
        engine.context.realtime = True
        self.ticker = RealtimeClock(engine, engine.frame_rate)
        self._load_shedder = LoadShedder(engine, self.ticker.deadlines, self.say)
        self.hooks.insert(0, self._load_shedder)

    def _guarded(self, call: Any) -> None:
        """Make a call at the end of the run; its exception becomes the run's error,
        unless there was one before.
        """
        try:
            call(self)
        except BaseException as error:
            self.error = self.error or error
