"""A pool of workers: deals jobs to whoever is free, replaces workers that die, has their jobs done again.

What a worker is, a process here or an actor on a Ray cluster, is the launcher's business.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Literal, Protocol

from minibrains.errors import RunError
from minibrains.process.messages import MAIN, Closed, End, Failure, Job, Map, Mapped, Note, Reply, Stop

Events = SimpleQueue["tuple[int, bytes | None]"]
"""Where links put what their workers say, with the worker's number; None once a worker has ended."""

_TRIES = 2
"""How often a job is begun whose worker dies."""


class Link(Protocol):
    """The pool's end of one worker."""

    def send(self, data: bytes) -> None:
        """Send a message; to a worker that is gone, do nothing."""

    def kill(self) -> None:
        """End the worker now."""

    def end(self) -> str:
        """How it ended, in words: "signal SIGKILL"."""


class Launcher(Protocol):
    """Starts workers."""

    count: int
    """Workers that may live at the same time, from 1."""

    def launch(self, number: int, task: bytes, events: Events) -> Link:
        """Start the worker `number` on a pickled Task. Raises MinibrainsError or OSError if that cannot be done."""

    def close(self) -> None:
        """Let go of what launching needed. All workers have ended."""


@dataclass(frozen=True, slots=True)
class Death:
    """What the pool itself notes of a worker that ended without being asked to."""

    how: str


class WorkerDied(RunError):
    """A job was given up because the process that did it died, on each try."""


@dataclass(slots=True, eq=False)
class _Work:
    """One item of a batch."""

    batch: _Batch
    index: int
    item: bytes
    tries: int = 0


@dataclass(slots=True, eq=False)
class _Batch:
    """Items with the same function. `owner` is the worker and the place that wait for a map, None for `deal`'s own."""

    function: bytes | None
    owner: tuple[int, int] | None
    waiting: deque[_Work] = field(default_factory=deque)
    results: dict[int, bytes] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    running: int = 0


@dataclass(slots=True, eq=False)
class _Seat:
    """A worker as the pool sees it. `places` are where it can do a job, with the number of the job that is there."""

    link: Link
    places: dict[int, int | None] = field(default_factory=lambda: {MAIN: None})
    life: Literal["working", "ending", "closed"] = "working"


class Pool:
    """Workers for one task. Leaving the `with` ends them: in good order, or at once on Ctrl-C."""

    def __init__(self, launcher: Launcher, task: object, note: Callable[[int, Any], None]) -> None:
        """`note` gets what workers tell, and their Death: the worker's number, and what it said. Nothing is started yet."""
        self.deaths = 0
        self.troubles: list[str] = []
        """Sentences about what could not be closed; whole after the `with`."""
        self._launcher = launcher
        self._task = pickle.dumps(task)
        self._note = note
        self._events: Events = SimpleQueue()
        self._seats: dict[int, _Seat] = {}
        self._launched = 0
        self._batches: list[_Batch] = []
        self._jobs: dict[int, _Work] = {}
        self._dealt = 0
        self._stopping = self._told = False

    @property
    def count(self) -> int:
        """Workers that may live at the same time."""
        return self._launcher.count

    @property
    def stopping(self) -> bool:
        """Set it (from a signal handler, say): no item is begun any more, and workers end after the current tick."""
        return self._stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._stopping = stopping
        self._events.put((-1, None))  # wakes who waits for an event; a SimpleQueue may be used in a signal handler

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            if kind is None or issubclass(kind, Exception):
                self._end()
        finally:
            for seat in self._seats.values():
                seat.link.kill()
            self._launcher.close()

    def deal(self, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Have the task do every item; gives (index, result) as they end. A result is an exception if it raised one.

        WorkerDied is the result of an item whose worker died twice. Items not begun when `stopping` is set are left out.
        """
        batch = self._add(None, [pickle.dumps(item) for item in items], None)
        while True:
            if self._stopping:
                self._stop()
            if not batch.waiting and not batch.running:
                break
            self._hand_out()
            self._take_event()
            for index, value in batch.results.items():
                yield index, pickle.loads(value)
            for index, failure in batch.failures.items():
                yield index, failure.unpack()
            batch.results.clear()
            batch.failures.clear()
        self._batches.remove(batch)

    def _end(self) -> None:
        self._stop()
        while self._seats:
            self._hand_out()  # a node may wait for its map, and can only stop after that
            if not any(batch.owner for batch in self._batches):
                for seat in self._seats.values():
                    if seat.life == "working" and seat.places[MAIN] is None:
                        seat.life = "ending"
                        _send(seat.link, End())
            self._take_event()

    def _stop(self) -> None:
        for batch in self._batches:
            if batch.owner is None:
                batch.waiting.clear()
        if not self._told:
            self._told = True
            for seat in self._seats.values():
                _send(seat.link, Stop())

    def _add(self, function: bytes | None, items: list[bytes], owner: tuple[int, int] | None) -> _Batch:
        batch = _Batch(function, owner)
        batch.waiting.extend(_Work(batch, index, item) for index, item in enumerate(items))
        self._batches.append(batch)
        return batch

    def _hand_out(self) -> None:
        """Give waiting work to every free place; start workers while that is not enough."""
        for number, seat in self._seats.items():
            if seat.life != "working":
                continue
            for place, job in seat.places.items():
                if job is None and (work := self._next(number, place)):
                    self._give(seat, place, work)
        while len(self._seats) < self.count and (work := self._next(self._launched, MAIN)):
            number, self._launched = self._launched, self._launched + 1
            self._seats[number] = seat = _Seat(self._launcher.launch(number, self._task, self._events))
            self._give(seat, MAIN, work)

    def _next(self, number: int, place: int) -> _Work | None:
        """Work for a free place: the newest map's first, somebody waits for that; and a map's own place is for it alone."""
        for batch in reversed(self._batches):
            if batch.waiting and (place == MAIN or batch.owner == (number, place)):
                return batch.waiting.popleft()
        return None

    def _give(self, seat: _Seat, place: int, work: _Work) -> None:
        self._dealt += 1
        self._jobs[self._dealt] = work
        seat.places[place] = self._dealt
        work.tries += 1
        work.batch.running += 1
        _send(seat.link, Job(self._dealt, place, work.batch.function, work.item))

    def _take_event(self) -> None:
        number, data = self._events.get()
        seat = self._seats.get(number)
        if seat is None:
            return  # the wake-up of `stopping`
        if data is None:
            self._bury(number)
            return
        message = pickle.loads(data)
        if isinstance(message, Note):
            self._note(number, message.content)
        elif isinstance(message, Map):
            seat.places[message.place] = None
            self._settle(self._add(message.function, message.items, (number, message.place)))
        elif isinstance(message, Closed):
            self.troubles.extend(message.troubles)
            seat.life = "closed"
        elif isinstance(message, Reply):
            work = self._jobs.pop(message.number)
            place = next(place for place, job in seat.places.items() if job == message.number)
            seat.places[place] = None
            self._finish(work, message.value, message.failure)

    def _finish(self, work: _Work, value: bytes, failure: Failure | None) -> None:
        batch = work.batch
        batch.running -= 1
        if failure is None:
            batch.results[work.index] = value
        else:
            batch.failures[work.index] = failure
        self._settle(batch)

    def _settle(self, batch: _Batch) -> None:
        """Answer a map that is done, or of which an item failed: what is still running of it is for nobody then."""
        if batch.owner is None or batch not in self._batches:
            return
        number, place = batch.owner
        if batch.failures:
            batch.waiting.clear()
        if not batch.running and not batch.waiting:
            self._batches.remove(batch)
            del self._seats[number].places[place]
            failure = batch.failures[min(batch.failures)] if batch.failures else None
            results = [] if failure else [batch.results[index] for index in range(len(batch.results))]
            _send(self._seats[number].link, Mapped(place, results, failure))

    def _bury(self, number: int) -> None:
        """A worker has ended. If it was not asked to, what it was doing is done again, by another, once."""
        seat = self._seats.pop(number)
        how = seat.link.end()
        if seat.life == "working":
            self.deaths += 1
            self._note(number, Death(how))
        if seat.life == "ending":
            self.troubles.append(f"worker {number} died ({how}) before everything in it was closed")
        for batch in [batch for batch in self._batches if batch.owner and batch.owner[0] == number]:
            self._batches.remove(batch)
        for work in [self._jobs.pop(job) for job in seat.places.values() if job is not None]:
            if work.tries < _TRIES and not self._stopping:
                work.batch.running -= 1
                work.batch.waiting.appendleft(work)
            else:
                times = "twice" if work.tries == _TRIES else "and the run was being stopped"
                what = "the worker" if work.batch.owner is None else f"item {work.index} of host.map: its worker"
                self._finish(work, b"", Failure.of(WorkerDied(f"{what} died {times} ({how})")))


def _send(link: Link, message: object) -> None:
    link.send(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
