"""Episodes played by several workers, each with a run and an engine of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from minibrains.errors import RunError
from minibrains.graph.registry import Registry
from minibrains.hooks import Hook, NodeProgress, Progress
from minibrains.process.messages import Failure
from minibrains.process.pool import Launcher, Pool, WorkerExited, WorkerLost
from minibrains.process.worker import Worker
from minibrains.run.episode import EpisodeResult, lost_episode
from minibrains.run.spec import RunSpec
from minibrains.run.summary import EngineStats

if TYPE_CHECKING:
    from minibrains.run.run import Run


# -- in a worker


@dataclass(frozen=True, slots=True)
class LogLine:
    """A sentence for people."""

    text: str


@dataclass(frozen=True, slots=True)
class EpisodeProgress:
    """The progress of an episode."""

    index: int
    tick: int
    score: float | None


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode that a worker has played.

    `failure` is the engine's error; without a `row`, the run was stopped before.
    """

    worker: int
    row: dict[str, Any] | None
    stats: EngineStats
    metadata: dict[str, str]
    failure: Failure | None


class _TellPool(Hook):
    """Sends messages and progress from the run in a worker to the pool."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def on_message(self, run: Run, text: str) -> None:
        self._worker.note(LogLine(text))

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        self._worker.note(progress)

    def on_progress(self, run: Run, progress: Progress) -> None:
        self._worker.note(EpisodeProgress(progress.episode, progress.tick, progress.score))


@dataclass
class EpisodeTask:
    """The task of each worker: episodes by index, in a run that is made for the first one,
    and again after a failure.
    """

    spec: RunSpec
    dir: Path
    """The parent of the workers' folders, in which nodes write; each is named by the worker's
    number."""
    _registry: Registry | None = None
    _run: Run | None = None
    _stopping: bool = False
    _close_errors: list[str] = field(default_factory=list)

    def load(self) -> None:
        if self._registry is None:
            self._registry, _ = self.spec.load_node_types()

    def do(self, worker: Worker, index: int) -> PlayedEpisode:
        run = self._open_run(worker)
        worker.note(EpisodeProgress(index, 0, None))
        failure = None
        if not run.stopping:
            try:
                if run.is_done(index):
                    run.skip_episode(index)
                else:
                    run.play_episode(index)
            except Exception as error:
                failure = Failure.of(error)
        row = None
        if run.results.episodes:
            row = run.results.episodes.pop()
        stats = run.stats()
        if failure is not None:  # the state of its nodes is unknown now
            self._run = None
            self._close(run)
        return PlayedEpisode(worker.number, row, stats, run.results.metadata, failure)

    def stop(self) -> None:
        self._stopping = True
        if self._run is not None:
            self._run.stopping = True

    def close(self) -> list[str]:
        if self._run is not None:
            self._close(self._run)
        return self._close_errors

    def _open_run(self, worker: Worker) -> Run:
        from minibrains.run.run import Run  # not at the top: run.py imports this module

        if self._run is None:
            dir = self.dir / str(worker.number)
            # set before it is opened, which takes a while, because `stop` may be called meanwhile
            self._run = Run(
                self.spec, [_TellPool(worker)], registry=self._registry, dir=dir, map=worker.map
            )
            self._run.stopping = self._stopping
            try:
                self._run.open()
            except BaseException:
                self._run = None
                raise
        return self._run

    def _close(self, run: Run) -> None:
        try:
            run.close()
        except RunError:
            self._close_errors += run.close_errors


# -- in the process of the pool


class ParallelEpisodes:
    """The episodes of a run, dealt to the workers of a pool."""

    def __init__(self, run: Run, launcher: Launcher) -> None:
        self._run = run
        self._launcher = launcher
        self._pool: Pool | None = None
        self._playing: Generator[EpisodeResult] | None = None
        self._began = 0.0
        self._done = 0
        self._running: dict[int, EpisodeProgress] = {}

    @property
    def stopping(self) -> bool:
        """True once the run is to stop after the current ticks."""
        return self._pool is not None and self._pool.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        if self._pool is not None:
            self._pool.stopping = stopping

    def open(self) -> None:
        """Make the pool; a worker starts when there is work for it."""
        run = self._run
        task = EpisodeTask(run.spec.for_worker(run.graph.workflow, run.info), run.dir / "workers")
        self._pool = Pool(self._launcher, task, self._on_note)
        self._pool.stopping = run.stopping
        run.results.workers = self._pool.count

    def play(self, indices: Sequence[int]) -> Iterator[EpisodeResult]:
        """Play these episodes and yield them in their order,
        each as soon as those before it are over.

        Ends early once the run is stopping. Raises the error of an engine after the other workers
        have stopped, and RunError if an episode was given up because its workers died, after the
        others are played.
        """
        self._playing = self._play(indices)
        return self._playing

    def close(self) -> None:
        """End the workers at once, if not all episodes were played."""
        if self._playing is not None:
            self._playing.close()

    def _play(self, indices: Sequence[int]) -> Generator[EpisodeResult]:
        assert self._pool is not None
        run, pool = self._run, self._pool
        rows: dict[int, dict[str, Any]] = {}
        errors: dict[int, BaseException] = {}
        lost: list[str] = []
        following = 0
        try:
            with pool:
                for position, played in pool.imap_unordered(indices):
                    index = indices[position]
                    self._running.pop(index, None)
                    if isinstance(played, WorkerExited):
                        lost.append(f"episode {index + 1} was given up: {played}")
                        rows[index] = lost_episode(lost[-1])
                    elif isinstance(played, BaseException):
                        errors[index] = played
                    else:
                        self._take(index, played, rows, errors)
                    if errors:
                        pool.stopping = True
                    while following < len(indices) and indices[following] in rows:
                        yield self._add(indices[following], rows)
                        following += 1
        finally:
            run.results.deaths = pool.deaths
            run.close_errors += pool.close_errors
            for index in sorted(rows):
                self._add(index, rows)
        if errors:
            raise errors[min(errors)]
        if lost:
            raise RunError("; ".join([*lost, *pool.close_errors]))

    def _take(
        self,
        index: int,
        played: PlayedEpisode,
        rows: dict[int, Any],
        errors: dict[int, BaseException],
    ) -> None:
        results = self._run.results
        results.stats[played.worker] = played.stats
        results.metadata.update(played.metadata)
        results.seconds = perf_counter() - self._began
        self._done += 1
        if played.row is not None:
            rows[index] = played.row
        if played.failure is not None:
            errors[index] = played.failure.unpack()

    def _add(self, index: int, rows: dict[int, dict[str, Any]]) -> EpisodeResult:
        episode = EpisodeResult.of(index, rows.pop(index))
        self._run.add(episode)
        return episode

    def _on_note(self, worker: int, content: Any) -> None:
        if isinstance(content, LogLine):
            self._run.say(f"worker {worker}: {content.text}")
        elif isinstance(content, WorkerLost):
            self._run.say(f"worker {worker} died ({content.reason}); its work is restarted, once")
        elif isinstance(content, NodeProgress):
            self._run.show_progress(content)
        elif isinstance(content, EpisodeProgress):
            self._began = self._began or perf_counter()
            self._running[content.index] = content
            self._tell_progress(content.score)

    def _tell_progress(self, score: float | None) -> None:
        ticks = sum(running.tick for running in self._running.values())
        finished = sum(stats.ticks for stats in self._run.results.stats.values())
        seconds = perf_counter() - self._began
        rate = 0.0
        if seconds:
            rate = (finished + ticks) / seconds
        progress = Progress(self._done, ticks, rate, score)
        for hook in self._run.hooks:
            hook.on_progress(self._run, progress)
