"""Episodes over workers: the same run as `play`, with an engine in each worker."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from minibrains.errors import RunError
from minibrains.graph.check import Graph
from minibrains.graph.workflow import RunSettings
from minibrains.process.workers import Death, Launcher, Pool, WorkerDied
from minibrains.run.episodes import Episodes, Played, Reached, Recipe, Said
from minibrains.run.folder import RunFolder
from minibrains.run.play import Progress, Say, lost_episode
from minibrains.run.summary import Results


class Spread:
    """A run over workers. `stopping` is as an engine's."""

    def __init__(self, launcher: Launcher, recipe: Recipe, settings: RunSettings, folder: RunFolder) -> None:
        self._settings, self._folder = settings, folder
        self._pool = Pool(launcher, Episodes(recipe, settings, folder.path / "workers"), self._hear)

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
        results.brains = graph.brain_files()
        results.workers = self._pool.count
        self._say, self._progress, self._results = say, progress, results
        self._began, self._done = 0.0, 0
        self._running: dict[int, Reached] = {}
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

    def _add(self, index: int, played: Played, rows: dict[int, Any], errors: dict[int, BaseException]) -> None:
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
        if isinstance(content, Said):
            self._say(f"worker {worker}: {content.text}")
        elif isinstance(content, Death):
            self._say(f"worker {worker} died ({content.how}); what it was doing is begun anew, once")
        elif isinstance(content, Reached):
            self._began = self._began or perf_counter()
            self._running[content.index] = content
            ticks = sum(reached.tick for reached in self._running.values())
            whole = ticks + sum(counts.ticks for counts in self._results.counts.values())
            seconds = perf_counter() - self._began
            self._progress(self._done, ticks, whole / seconds if seconds else 0.0, content.score)
