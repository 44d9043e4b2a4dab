"""Episodes over workers: the same run as `play`, with an engine in each worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from minibrains.errors import RunError
from minibrains.workflow import RunSettings
from server.engine.check import Graph
from server.engine.engine import Engine
from server.run.folder import RunFolder
from server.run.host import RunHost
from server.run.messages import Failure
from server.run.play import Progress, Say, Session, lost_episode
from server.run.summary import Counts, Results, name_brains
from server.run.worker import Worker
from server.run.workers import Death, Launcher, Pool, WorkerDied


class Recipe(Protocol):
    """How a worker gets its engine."""

    def load(self) -> object:
        """Import the node types."""

    def make(self) -> Engine:
        """Make the engine; not opened yet."""


@dataclass(frozen=True, slots=True)
class _Said:
    text: str


@dataclass(frozen=True, slots=True)
class _Reached:
    index: int
    tick: int
    score: float | None


@dataclass(frozen=True, slots=True)
class _Played:
    """An episode as it comes back. `failure`: what the engine raised; without `row` the run was stopped before."""

    worker: int
    row: dict[str, Any] | None
    counts: Counts
    facts: dict[str, str]
    failure: Failure | None


@dataclass
class _Episodes:
    """The task of each worker: episodes by index, with an engine that is made for the first."""

    recipe: Recipe
    settings: RunSettings
    folder: Path
    _session: Session | None = None
    _stopping: bool = False
    _facts: dict[str, str] = field(default_factory=dict)

    def load(self) -> None:
        self.recipe.load()

    def do(self, worker: Worker, index: int) -> _Played:
        results, failure = Results(), None
        session = self._ready(worker)
        worker.note(_Reached(index, 0, None))
        if not session.engine.stopping:
            try:
                session.play_episode(
                    index, results, lambda index, tick, rate, score: worker.note(_Reached(index, tick, score))
                )  # fmt: skip
            except Exception as error:
                failure = Failure.of(error)
        row = results.episodes[0] if results.episodes else None
        return _Played(worker.number, row, session.counts(), self._facts, failure)

    def stop(self) -> None:
        self._stopping = True
        if self._session is not None:
            self._session.engine.stopping = True

    def close(self) -> list[str]:
        return self._session.close() if self._session is not None else []

    def _ready(self, worker: Worker) -> Session:
        if self._session is None:
            folder = self.folder / str(worker.number)

            def say(text: str) -> None:
                worker.note(_Said(text))

            self._session = session = Session(self.recipe.make(), self.settings, say)
            session.engine.stopping = self._stopping
            session.open(lambda node, engine: RunHost(node, folder, engine, say, self._facts, worker.map))
        return self._session


class Spread:
    """A run over workers. `stopping` is as an engine's."""

    def __init__(self, launcher: Launcher, recipe: Recipe, settings: RunSettings, folder: RunFolder) -> None:
        self._settings, self._folder = settings, folder
        self._pool = Pool(launcher, _Episodes(recipe, settings, folder.path / "workers"), self._hear)

    @property
    def stopping(self) -> bool:
        return self._pool.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._pool.stopping = stopping

    def play(self, graph: Graph, results: Results, say: Say, progress: Progress) -> None:
        """Play the episodes into `results` and the run folder, both in the order of their index.

        Ends early, in good order, once `stopping` is set. Raises what an engine raised, once the other workers have
        stopped; RunError if an episode was given up because its workers died, once the others are played.
        """
        results.brains = name_brains(graph)
        results.workers = self._pool.count
        self._say, self._progress, self._results = say, progress, results
        self._began, self._done = 0.0, 0
        self._running: dict[int, _Reached] = {}
        rows: dict[int, dict[str, Any]] = {}
        errors: dict[int, BaseException] = {}
        try:
            with self._pool:
                for index, played in self._pool.deal(range(self._settings.episodes)):
                    self._running.pop(index, None)
                    if isinstance(played, WorkerDied):
                        rows[index] = lost_episode(f"episode {index + 1} was given up: {played}")
                    elif isinstance(played, BaseException):
                        errors[index] = played
                    else:
                        self._add(index, played, rows, errors)
                    if errors:
                        self._pool.stopping = True
                    while len(results.episodes) in rows:
                        self._keep(rows.pop(len(results.episodes)))
        finally:
            results.deaths = self._pool.deaths
            for index in sorted(rows):
                self._keep(rows[index])
            for trouble in self._pool.troubles:
                say(trouble)
        if errors:
            raise errors[min(errors)]
        troubles = [*(episode["error"] for episode in results.episodes if "error" in episode), *self._pool.troubles]
        if troubles:
            raise RunError("; ".join(troubles))

    def _add(self, index: int, played: _Played, rows: dict[int, Any], errors: dict[int, BaseException]) -> None:
        results = self._results
        results.counts[played.worker] = played.counts
        results.facts.update(played.facts)
        results.seconds = perf_counter() - self._began
        self._done += 1
        if played.row is not None:
            rows[index] = played.row
        if played.failure is not None:
            errors[index] = played.failure.unpack()

    def _keep(self, row: dict[str, Any]) -> None:
        self._results.episodes.append(row)
        self._folder.append_episode(row)

    def _hear(self, worker: int, content: Any) -> None:
        if isinstance(content, _Said):
            self._say(f"worker {worker}: {content.text}")
        elif isinstance(content, Death):
            self._say(f"worker {worker} died ({content.how}); what it was doing is begun anew, once")
        elif isinstance(content, _Reached):
            self._began = self._began or perf_counter()
            self._running[content.index] = content
            ticks = sum(reached.tick for reached in self._running.values())
            whole = ticks + sum(counts.ticks for counts in self._results.counts.values())
            seconds = perf_counter() - self._began
            self._progress(self._done, ticks, whole / seconds if seconds else 0.0, content.score)
