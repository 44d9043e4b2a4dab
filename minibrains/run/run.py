"""Run: a workflow being played, from its first tick to its summary."""

from __future__ import annotations

import gc
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, ClassVar, Final, Literal

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
from minibrains.hooks import NO_LIMIT, Budget, Hook, Progress
from minibrains.host import map_here
from minibrains.process.launchers import choose_launcher
from minibrains.run.episode import EpisodeResult, episode_row, errors_since
from minibrains.run.folder import RunFolder
from minibrains.run.host import Map, RunHost
from minibrains.run.load_shedder import LoadShedder
from minibrains.run.memory import freeze_heap, without_collector
from minibrains.run.parallel import ParallelEpisodes
from minibrains.run.realtime import RealtimeClock
from minibrains.run.spec import RunSpec
from minibrains.run.summary import EngineStats, Results, summarise
from minibrains.savings import listen
from minibrains.tape.recording import Recorder, TapePlayer, tape_record
from minibrains.torch_node import restore_threads

State = Literal["done", "stopped", "failed"]

_PROGRESS_EVERY: Final = 0.1
"""Seconds from one look at the progress to the next."""
_EDIT_POLL: Final = 0.02
"""Seconds from one look whether an edit was applied to the next."""


class Run:
    """One run of a workflow. Iterate over it, and it plays an episode at a time.

    Making it checks the workflow and makes the nodes. Entering the `with` opens them, leaving it closes
    everything, whatever happened in between; after that `summary` says what came of it. It prints nothing
    and installs no signal handler. A process plays one run with an emulator at a time.

    Example:
        with Run(RunSpec("sf2", episodes=3)) as run:
            for episode in run:
                print(episode.score)
    """

    _open_engines: ClassVar[int] = 0
    """Of all runs of this process."""

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
    ) -> None:
        """Check the workflow and make its nodes.

        Args:
            spec: what is played.
            hooks: called in this order.
            registry: node types that were loaded before; None: the spec's are loaded.
            cache: outputs that the runs of this process share; None: those that earlier processes left on disk.
            folder: a run folder that was made before; None: one is made where the spec says.
            dir: where nodes write if there is no run folder. None: where it vanishes with the run.
            map: where `host.map` does its work.
            tape: what came from outside is read from it, and background nodes are not asked.

        Raises:
            WorkflowError: with everything that is wrong with the workflow.
        """
        if not isinstance(spec, RunSpec):
            raise MinibrainsError(f"a run is made of a RunSpec, found {spec!r}; write Run(RunSpec(…))")
        if spec.record and spec.runs is None and folder is None:
            raise MinibrainsError("record: a tape lies in a run folder; say where with runs, or do not record")
        self.spec = spec
        self.hooks = list(hooks)
        if registry is None:
            registry, broken = spec.load_node_types()
            for sentence in broken:
                self.say(sentence)
        self.registry = registry
        self.workflow = spec.load_workflow()
        """As it is kept in the run folder: without what hooks put into it."""
        self.settings = self.workflow.run
        self.results = Results()
        self.graph = self.check(self.workflow)
        self.error: BaseException | None = None
        """What went wrong first."""
        self.troubles: list[str] = []
        """A sentence for each thing that could not be closed."""
        self.summary: dict[str, Any] = {}
        """What came of the run; whole once it is closed."""
        self.folder = folder
        self.clock: Engine | RealtimeClock
        """What ticks: the engine itself, or a realtime clock around it."""
        self._dir = dir
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._map = map
        recorder = Recorder() if spec.record else None
        if recorder is not None:
            self.hooks.insert(0, recorder)
        self.engine = Engine(compile_graph(self.graph), cache or OutputCache(disk=disk_cache()), recorder or tape)
        self.clock = self.engine
        self._editing = threading.Lock()
        self._over = threading.Event()
        self._reported: set[str] = set()
        """Nodes of which it was said that they failed."""
        self._opened = False
        self._holds_process = False
        self._load_shedder: LoadShedder | None = None
        launcher = choose_launcher(str(spec.workers))
        self._parallel = ParallelEpisodes(self, launcher) if launcher is not None else None

    # -- life ---------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        self.open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(None if isinstance(error, GeneratorExit) else error)

    def open(self) -> None:
        """Make the run folder and open the nodes. What fails here closes the run, and is raised."""
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
        """Close everything and make the summary. Raises what could not be closed, unless `error` came before it."""
        if self._over.is_set():
            return
        self._over.set()
        self.error = error
        for hook in self.hooks:
            self._guarded(hook.before_close)
        self._close_engine()
        for hook in self.hooks:
            self._guarded(hook.after_close)
        self.summary = self._summarise()
        for hook in self.hooks:
            self._guarded(hook.on_summary)
        if self.error is not None and "error" not in self.summary:
            self.summary = self._summarise()
        if self._scratch is not None:
            self._scratch.cleanup()
        if error is None and self.error is not None:
            raise self.error

    @property
    def stopping(self) -> bool:
        """Whether the run ends after the current tick. May be set from any thread and from a signal handler."""
        return self.engine.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self.engine.stopping = stopping
        if self._parallel is not None:
            self._parallel.stopping = stopping

    @property
    def state(self) -> State:
        """What became of the run: "done", "stopped" (also if nobody asked for all of its episodes) or "failed"."""
        if self.error is not None and not isinstance(self.error, KeyboardInterrupt):
            return "failed"
        if self.error is not None or self.stopping or len(self.results.episodes) < self.settings.episodes:
            return "stopped"
        return "done"

    # -- episodes -----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[EpisodeResult]:
        """Play the episodes that were not played yet, one each time. Outside of a `with`, it opens and closes the run as well."""
        if self._over.is_set():
            raise RunError("this run is over; make another Run of the same spec")
        if self._opened:
            yield from self._play()
            return
        with self:
            yield from self._play()

    def _play(self) -> Iterator[EpisodeResult]:
        following = range(len(self.results.episodes), self.settings.episodes)
        if self._parallel is not None:
            yield from self._parallel.play(following)
            return
        for index in following:
            if self.stopping:
                return
            yield self.play_episode(index)

    def play_episode(self, index: int) -> EpisodeResult:
        """Play one episode, from 0. Raises what the engine raises; the episode is in `results` even then."""
        engine = self.engine
        before = engine.node_stats()
        engine.reset(index, self.settings.seed, self.settings.ticks)
        for hook in self.hooks:
            hook.before_episode(self, index)
        ended = "failed"
        try:
            ended = self._tick(index)
        finally:
            row = episode_row(engine.report(), engine.tick, ended)
            row |= errors_since(before, engine.node_stats())
            episode = EpisodeResult.of(index, row)
            self.add(episode, suppressing=ended == "failed")
        return episode

    def add(self, episode: EpisodeResult, suppressing: bool = False) -> None:
        """Take an episode that is over. `suppressing`: something went wrong before, and that is what shall be raised."""
        self.results.episodes.append(dict(episode.row))
        for hook in self.hooks:
            try:
                hook.after_episode(self, episode)
            except RunError:
                if not suppressing:
                    raise

    def _tick(self, index: int) -> str:
        """Tick to the end of the episode: "done", "limit" or "stopped"."""
        engine, limit = self.engine, self.settings.ticks
        chunk = 1
        shown = 0.0
        while not engine.stopping:
            budget = self._ask_hooks()
            if engine.stopping:
                break
            left = min(chunk, budget.ticks)
            if limit is not None:
                left = min(left, limit - engine.tick)
            if not left:
                return "limit"
            started = perf_counter()
            try:
                ended = self.clock.advance(left)
            finally:
                now = perf_counter()
                self.results.seconds += now - started
            # no more than double: ticks that were quick may have been catching up with a realtime clock
            fitting = int(left * budget.seconds / max(now - started, 1e-6))
            chunk = max(1, min(2 * left, fitting))
            self._tell_failures()
            if ended or engine.tick == limit or now - shown >= _PROGRESS_EVERY:
                shown = now
                self._tell_progress(index)
            if ended:
                return "done"
        return "stopped"

    def _ask_hooks(self) -> Budget:
        """Let every hook look at the run; returns how far it may go until the next look."""
        ticks, seconds = NO_LIMIT
        for hook in self.hooks:
            budget = hook.between_ticks(self)
            if budget is not None:
                ticks = min(ticks, budget.ticks)
                seconds = min(seconds, budget.seconds)
        if ticks < 1:
            raise RunError(f"a hook gave the run a budget of {ticks} ticks; expected at least 1, or None for no limit")
        return Budget(ticks, seconds)

    def _tell_progress(self, index: int) -> None:
        engine = self.engine
        rate = engine.ticks / self.results.seconds
        progress = Progress(index, engine.tick, rate, engine.report().get("score"))
        for hook in self.hooks:
            hook.on_progress(self, progress)

    def _tell_failures(self) -> None:
        """Say it when a node fails for the first time and the run goes on: the summary comes too late."""
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
            return EngineStats.of(self.engine)
        return EngineStats.of(self.engine, self._load_shedder.deadlines, self._load_shedder.changes)

    # -- for hooks ----------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Tell people a line. May be called on any thread."""
        for hook in self.hooks:
            hook.on_message(self, text)

    def check(self, workflow: Workflow) -> Graph:
        """Prepare and check a workflow, this run's own or one that it shall go on with. Raises WorkflowError."""
        workflow = self.registry.migrate(workflow)
        for hook in self.hooks:
            workflow = hook.prepare(workflow, self.registry)
        with listen(self.results.savings):
            return self.spec.check(workflow, self.registry)

    def edit(self, plan: Plan) -> str:
        """Go on with another plan from the coming tick on; returns what that changes, in words.

        Call it on another thread than the one that ticks: new nodes are opened here, beside the game.
        Raises MinibrainsError if the run has not begun or is over, or if a node refuses; then it goes on as before.
        """
        with self._editing:
            if not self.engine.execution.values:
                raise RunError("the run has not begun yet; edit it once it ticks")
            edit = self.engine.prepare(plan, tape_record(plan.graph), self.make_host)
            self.engine.edits.append(edit)
            for hook in self.hooks:
                hook.on_edit(self, edit)
            while not edit.done.wait(_EDIT_POLL):
                if self._over.is_set():
                    raise RunError("the run ended before the change could be made")
            for trouble in self.engine.finish_edit(edit):
                self.say(trouble)
            return edit.describe()

    def peek(self, output: str) -> Any:
        """Look at what an output, "node.socket", has now; None if nothing has been delivered yet, or nobody keeps it.

        For hooks, between two ticks. A console shows what it will give out on the coming tick. Of other nodes only outputs
        that are linked are kept, and they keep their last value until there is another.

        Raises:
            RunError: The graph has no such output.
        """
        node, _, socket = output.partition(".")
        checked = self.engine.plan.graph.nodes.get(node)
        if checked is None or socket not in checked.cls.schema.outputs:
            raise RunError(f"the graph has no output {output!r}; expected NODE.SOCKET")
        return peek(self.engine, node, socket)

    def make_host(self, runtime: NodeRuntime, engine: Engine) -> RunHost:
        """Make the host that a node is opened with."""
        return RunHost(runtime, self.dir, engine, self.say, self.results.metadata, self._map)

    @property
    def dir(self) -> Path:
        """Where nodes write."""
        if self._dir is None:  # only now: most runs without a run folder write nothing
            self._scratch = tempfile.TemporaryDirectory(prefix="minibrains-")
            self._dir = Path(self._scratch.name)
        return self._dir

    # -- opening and closing ------------------------------------------------------------------------

    def _make_folder(self) -> None:
        if self.folder is None and self.spec.runs is not None:
            self.folder = RunFolder(Path(self.spec.runs), self.workflow)
        if self.folder is not None:
            self._dir = self.folder.path
            self.hooks.append(self.folder)  # last: what it writes down is whole

    def _open_engine(self) -> None:
        self._holds_process = True
        Run._open_engines += 1
        with without_collector():
            self.engine.open(self.make_host)
        if self.settings.clock == "realtime":
            self._use_realtime_clock()
        freeze_heap()
        for hook in self.hooks:
            hook.after_open(self)

    def _close_engine(self) -> None:
        """Close the nodes, and say which could not be closed. On Ctrl-C nobody waits for one that is thinking."""
        if self._parallel is not None:
            self._parallel.close()
        else:
            self.results.stats[0] = self.stats()
            self.results.brains |= self.engine.plan.graph.brain_files()  # a live edit may have given it others
        timeout = 0.0 if isinstance(self.error, KeyboardInterrupt) else None
        for trouble in self.engine.close(timeout):
            self.say(trouble)
            self.troubles.append(trouble)
        self._release_process()
        if self.troubles and self.error is None:
            self.error = RunError("; ".join(self.troubles))

    def _release_process(self) -> None:
        """Set back what runs set in their process, when the last one that is open in it is closed."""
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
        return {**failure, "state": self.state, **summarise(self.graph, self.results, self.settings, self.folder)}

    def _use_realtime_clock(self) -> None:
        engine = self.engine
        if engine.frame_rate is None:
            fault = Fault("the realtime clock needs a running console, which says what a frame is", code="missing_console")
            raise WorkflowError([fault], self.graph.workflow.where)
        engine.context.realtime = True
        self.clock = RealtimeClock(engine, engine.frame_rate)
        self._load_shedder = LoadShedder(engine, self.clock.deadlines, self.say)
        self.hooks.insert(0, self._load_shedder)

    def _guarded(self, call: Any) -> None:
        """Do something for the end of the run; what it raises is the run's error, unless there was one before."""
        try:
            call(self)
        except BaseException as error:
            self.error = self.error or error
