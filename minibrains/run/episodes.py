"""Episodes in a worker: the task of each, and what it tells of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from minibrains.engine.engine import Engine
from minibrains.graph.workflow import RunSettings
from minibrains.process.messages import Failure
from minibrains.process.worker import Worker
from minibrains.run.host import RunHost
from minibrains.run.play import Session
from minibrains.run.summary import Counts, Results


class Recipe(Protocol):
    """How a worker gets its engine."""

    def load(self) -> object:
        """Import the node types."""

    def make(self) -> Engine:
        """Make the engine; not opened yet."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence for people."""

    text: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far an episode is."""

    index: int
    tick: int
    score: float | None


@dataclass(frozen=True, slots=True)
class Played:
    """An episode as it comes back. `failure`: what the engine raised; without `row` the run was stopped before."""

    worker: int
    row: dict[str, Any] | None
    counts: Counts
    facts: dict[str, str]
    failure: Failure | None


@dataclass
class Episodes:
    """The task of each worker: episodes by index, with an engine that is made for the first, and anew after a failure."""

    recipe: Recipe
    settings: RunSettings
    folder: Path
    _session: Session | None = None
    _stopping: bool = False
    _facts: dict[str, str] = field(default_factory=dict)
    _troubles: list[str] = field(default_factory=list)

    def load(self) -> None:
        self.recipe.load()

    def do(self, worker: Worker, index: int) -> Played:
        results, failure = Results(), None
        session = self._ready(worker)
        worker.note(Reached(index, 0, None))
        if not session.engine.stopping:
            try:
                session.play_episode(
                    index, results, lambda index, tick, rate, score: worker.note(Reached(index, tick, score))
                )  # fmt: skip
            except Exception as error:
                failure = Failure.of(error)
        row = results.episodes[0] if results.episodes else None
        counts = session.counts()
        if failure is not None:  # what its nodes are like now is anybody's guess
            self._session = None
            self._troubles += session.close()
        return Played(worker.number, row, counts, self._facts, failure)

    def stop(self) -> None:
        self._stopping = True
        if self._session is not None:
            self._session.engine.stopping = True

    def close(self) -> list[str]:
        return [*self._troubles, *(self._session.close() if self._session is not None else [])]

    def _ready(self, worker: Worker) -> Session:
        if self._session is None:
            folder = self.folder / str(worker.number)

            def say(text: str) -> None:
                worker.note(Said(text))

            self._session = session = Session(self.recipe.make(), self.settings, say)
            session.engine.stopping = self._stopping
            session.open(lambda node, engine: RunHost(node, folder, engine, say, self._facts, worker.map))
        return self._session
