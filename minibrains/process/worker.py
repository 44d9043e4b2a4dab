"""One worker from the inside: it takes jobs, one after the other, and replies."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import count
from queue import SimpleQueue
from typing import Any, Protocol

from minibrains.host import Item, Result, pickle_function
from minibrains.process.messages import MAIN, Closed, End, Failure, Job, Map, Mapped, Note, Reply, Stop, pickle_value


class Task(Protocol):
    """What the workers of a pool are there for. Made once, pickled, and unpickled in each worker."""

    def load(self) -> None:
        """Import the modules that functions given to `host.map` may come from."""

    def do(self, worker: Worker, item: Any) -> Any:
        """Do one item."""

    def stop(self) -> None:
        """End what is being done after the current tick. Called from another thread."""

    def close(self) -> list[str]:
        """Close what was opened; returns a sentence for each thing that could not be."""


class Worker:
    """Lives in a process of its own. `deliver` may be called from any thread, `run` is its life."""

    def __init__(self, number: int, task: Task, send: Callable[[bytes], None]) -> None:
        self.number = number
        self._task = task
        self._send = send
        self._maps = count(MAIN + 1)
        self._inboxes: dict[int, SimpleQueue[Any]] = {MAIN: SimpleQueue()}

    def deliver(self, data: bytes) -> None:
        """Take one message from the pool."""
        message = pickle.loads(data)
        if isinstance(message, Stop):
            self._task.stop()
        else:
            self._inboxes[getattr(message, "place", MAIN)].put(message)

    def orphan(self) -> None:
        """The pool is gone: stop and end, without anybody to reply to."""
        self._task.stop()
        self._inboxes[MAIN].put(End())

    def run(self) -> None:
        """Do jobs until the end, then close everything."""
        while isinstance(message := self._inboxes[MAIN].get(), Job):
            self._do(message)
        self._tell(Closed(self._task.close()))

    def note(self, content: Any) -> None:
        """Tell the run something."""
        self._tell(Note(content))

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function applied to every item, on this worker and on those that are free."""
        name = pickle_function(function)
        pickles = [pickle_value(item, f"item {number}") for number, item in enumerate(items)]
        place, inbox = next(self._maps), SimpleQueue[Any]()
        self._inboxes[place] = inbox
        self._tell(Map(place, name, pickles))
        while isinstance(message := inbox.get(), Job):
            self._do(message)
        del self._inboxes[place]
        done: Mapped = message
        if done.failure is not None:
            raise done.failure.unpack()
        return [pickle.loads(result) for result in done.results]

    def _do(self, job: Job) -> None:
        try:
            self._task.load()
            item = pickle.loads(job.item)
            if job.function is None:
                value = pickle.dumps(self._task.do(self, item), pickle.HIGHEST_PROTOCOL)
            else:
                function = pickle.loads(job.function)
                value = pickle_value(function(item), f"a result of {function.__qualname__}")
        except Exception as error:
            self._tell(Reply(job.number, b"", Failure.of(error)))
        else:
            self._tell(Reply(job.number, value, None))

    def _tell(self, message: object) -> None:
        self._send(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
