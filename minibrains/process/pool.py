"""A pool of workers: gives jobs to free workers, replaces workers that end, and repeats their jobs.

Whether a worker is a process on this machine or an actor on a Ray cluster is up to the launcher.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Literal, Protocol

from minibrains.errors import RunError
from minibrains.process.messages import Failure, decode, encode
from minibrains.process.pool_messages import (
    MAIN_LANE,
    Closed,
    Job,
    MapRequest,
    MapResult,
    Note,
    Reply,
    Shutdown,
    Stop,
)

Events = SimpleQueue["tuple[int, bytes | None]"]
"""Messages of workers, each with the worker's number; None once the worker has ended."""

_TRIES = 2
"""Number of times that a job is tried if its worker ends."""


class LaunchedWorker(Protocol):
    """The pool's end of one worker."""

    def post(self, data: bytes) -> None:
        """Queue a message without waiting. Does nothing if the worker has ended."""

    def kill(self) -> None:
        """Kill the worker, without waiting for its end."""

    def exit_reason(self) -> str:
        """Describe how it ended: "signal SIGKILL"."""


class Launcher(Protocol):
    """Starts workers."""

    count: int
    """Largest number of workers at a time, from 1."""

    def launch(self, number: int, task: bytes, events: Events) -> LaunchedWorker:
        """Start the worker `number` on a pickled Task.

        Raises MinibrainsError or OSError if that fails.
        """

    def close(self) -> None:
        """Release the resources of the launcher, after all workers have ended."""


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """The pool's own note about a worker that ended unexpectedly."""

    reason: str


class WorkerExited(RunError):
    """A job was given up because its worker ended on each try."""


@dataclass(slots=True, eq=False)
class _Work:
    """One item of a batch."""

    batch: _Batch
    index: int
    item: bytes
    tries: int = 0


@dataclass(slots=True, eq=False)
class _Batch:
    """Items to which the same function is applied."""

    function: bytes | None
    """The pickled function; None: the task of the workers."""
    owner: tuple[int, int] | None
    """The worker and the lane that wait for a map; None for the items of `imap_unordered`."""
    waiting: deque[_Work] = field(default_factory=deque)
    running: int = 0
    results: dict[int, bytes] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """True once no item is left to do."""
        return not self.waiting and not self.running


@dataclass(slots=True, eq=False)
class _PooledWorker:
    """Everything that the pool knows about a worker."""

    handle: LaunchedWorker
    lanes: dict[int, int | None] = field(default_factory=lambda: {MAIN_LANE: None})
    """Lane -> number of the job in it; None while the lane is free."""
    state: Literal["working", "ending", "closed"] = "working"

    def send(self, message: object) -> None:
        self.handle.post(encode(message, "what the pool says"))


class Pool:
    """Workers for one task. Leaving the `with` block shuts them down, or kills them on Ctrl-C."""

    def __init__(self, launcher: Launcher, task: object, note: Callable[[int, Any], None]) -> None:
        """Prepare a pool; nothing is started yet.

        Args:
            launcher: Starts the workers.
            task: The Task of every worker.
            note: Called with a worker's number and its note, which is a WorkerLost if the worker
                ended unexpectedly.

        Raises:
            RunError: The task cannot be pickled.
        """
        self.deaths = 0
        """Number of workers that ended unexpectedly."""
        self.close_errors: list[str] = []
        """Sentences about what could not be closed; complete after the `with` block."""
        self._launcher = launcher
        self._task = encode(task, "the task of the workers")
        self._note = note
        self._events: Events = SimpleQueue()
        self._workers: dict[int, _PooledWorker] = {}
        self._launched = 0
        self._batches: list[_Batch] = []
        self._jobs: dict[int, _Work] = {}
        self._assigned = 0
        self._stopping = False
        self._stop_sent = False

    @property
    def count(self) -> int:
        """The largest number of workers at a time."""
        return self._launcher.count

    @property
    def stopping(self) -> bool:
        """Once set, for example by a signal handler, no item is begun any more,
        and workers stop after the current tick.
        """
        return self._stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._stopping = stopping
        # Wakes the thread that waits for an event; a SimpleQueue may be used in a signal handler.
        self._events.put((-1, None))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            if kind is None or issubclass(kind, Exception):
                self._end()
        finally:
            for worker in self._workers.values():
                worker.handle.kill()
            self._launcher.close()

    def imap_unordered(self, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Have the task do every item.

        Args:
            items: Anything that can be pickled.

        Yields:
            The index and the result of each item, as it ends. The result is an exception if the
            item raised one, and WorkerExited if its worker ended twice. Items not begun when
            `stopping` is set are left out.
        """
        pickled = [encode(item, f"item {index}") for index, item in enumerate(items)]
        batch = self._add(None, pickled, None)
        while True:
            if self._stopping:
                self._stop()
            if batch.done:
                break
            self._assign_all()
            self._take_event()
            for index, value in batch.results.items():
                yield index, decode(value, "a result", "outside of its worker")
            for index, failure in batch.failures.items():
                yield index, failure.unpack()
            batch.results.clear()
            batch.failures.clear()
        self._batches.remove(batch)

    # -- assigning work ----------------------------------------------------------------------------

    def _add(
        self, function: bytes | None, items: list[bytes], owner: tuple[int, int] | None
    ) -> _Batch:
        batch = _Batch(function, owner)
        batch.waiting.extend(_Work(batch, index, item) for index, item in enumerate(items))
        self._batches.append(batch)
        return batch

    def _assign_all(self) -> None:
        """Give waiting work to every free lane, and start workers for the rest."""
        for number, worker in self._workers.items():
            if worker.state != "working":
                continue
            for lane, job in worker.lanes.items():
                if job is None and (work := self._next_work(number, lane)):
                    self._assign(worker, lane, work)
        while len(self._workers) < self.count and (
            work := self._next_work(self._launched, MAIN_LANE)
        ):
            number = self._launched
            self._launched += 1
            handle = self._launcher.launch(number, self._task, self._events)
            worker = self._workers[number] = _PooledWorker(handle)
            self._assign(worker, MAIN_LANE, work)

    def _next_work(self, number: int, lane: int) -> _Work | None:
        """Return work for a free lane: that of the newest map first, which a worker waits for.

        A map's lane is for it alone.
        """
        for batch in reversed(self._batches):
            if batch.waiting and (lane == MAIN_LANE or batch.owner == (number, lane)):
                return batch.waiting.popleft()
        return None

    def _assign(self, worker: _PooledWorker, lane: int, work: _Work) -> None:
        self._assigned += 1
        self._jobs[self._assigned] = work
        worker.lanes[lane] = self._assigned
        work.tries += 1
        work.batch.running += 1
        worker.send(Job(self._assigned, lane, work.batch.function, work.item))

    # -- taking results ----------------------------------------------------------------------------

    def _take_event(self) -> None:
        number, data = self._events.get()
        worker = self._workers.get(number)
        if worker is None:
            return  # the wake-up of `stopping`
        if data is None:
            self._replace(number)
            return
        message = pickle.loads(data)
        if isinstance(message, Note):
            self._note(number, message.content)
        elif isinstance(message, MapRequest):
            worker.lanes[message.lane] = None
            self._answer_map(self._add(message.function, message.items, (number, message.lane)))
        elif isinstance(message, Closed):
            self.close_errors.extend(message.errors)
            worker.state = "closed"
        elif isinstance(message, Reply):
            work = self._jobs.pop(message.number)
            lane = next(lane for lane, job in worker.lanes.items() if job == message.number)
            worker.lanes[lane] = None
            self._finish(work, message.value, message.failure)

    def _finish(self, work: _Work, value: bytes, failure: Failure | None) -> None:
        batch = work.batch
        batch.running -= 1
        if failure is None:
            batch.results[work.index] = value
        else:
            batch.failures[work.index] = failure
        self._answer_map(batch)

    def _answer_map(self, batch: _Batch) -> None:
        """Answer a map that is done, or one with a failed item,
        whose running items are no longer needed.
        """
        if batch.owner is None or batch not in self._batches:
            return
        if batch.failures:
            batch.waiting.clear()
        if not batch.done:
            return
        self._batches.remove(batch)
        number, lane = batch.owner
        worker = self._workers[number]
        del worker.lanes[lane]
        if batch.failures:
            first = min(batch.failures)
            worker.send(MapResult(lane, [], batch.failures[first]))
        else:
            results = [batch.results[index] for index in range(len(batch.results))]
            worker.send(MapResult(lane, results, None))

    # -- the end of a worker, and of the pool ------------------------------------------------------

    def _replace(self, number: int) -> None:
        """Handle the end of a worker.

        If it was unexpected, another worker repeats its jobs, once.
        """
        worker = self._workers.pop(number)
        reason = worker.handle.exit_reason()
        if worker.state == "working":
            self.deaths += 1
            self._note(number, WorkerLost(reason))
        if worker.state == "ending":
            self.close_errors.append(
                f"worker {number} died ({reason}) before everything in it was closed"
            )
        self._batches = [
            batch for batch in self._batches if batch.owner is None or batch.owner[0] != number
        ]
        for job in worker.lanes.values():
            if job is not None:
                self._try_again(self._jobs.pop(job), reason)

    def _try_again(self, work: _Work, reason: str) -> None:
        if work.tries < _TRIES and not self._stopping:
            work.batch.running -= 1
            work.batch.waiting.appendleft(work)
            return
        what = (
            "the worker"
            if work.batch.owner is None
            else f"item {work.index} of host.map: its worker"
        )
        times = "twice" if work.tries == _TRIES else "and the run was being stopped"
        self._finish(work, b"", Failure.of(WorkerExited(f"{what} died {times} ({reason})")))

    def _end(self) -> None:
        self._stop()
        while self._workers:
            self._assign_all()  # a node may be waiting for its map, and can stop only after that
            if not any(batch.owner for batch in self._batches):
                self._shut_down_idle()
            self._take_event()

    def _shut_down_idle(self) -> None:
        for worker in self._workers.values():
            if worker.state == "working" and worker.lanes[MAIN_LANE] is None:
                worker.state = "ending"
                worker.send(Shutdown())

    def _stop(self) -> None:
        for batch in self._batches:
            if batch.owner is None:
                batch.waiting.clear()
        if not self._stop_sent:
            self._stop_sent = True
            for worker in self._workers.values():
                worker.send(Stop())
