"""A worker of a pool: it does jobs, one after another, and replies."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import count
from queue import SimpleQueue
from typing import Any, Protocol

from minibrains.host import Item, Result, pickle_function
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


class Task(Protocol):
    """The task of a pool's workers. It is pickled once, and unpickled in each worker."""

    def load(self) -> None:
        """Import the modules that may define functions for `host.map`."""

    def do(self, worker: Worker, item: Any) -> Any:
        """Process one item, and return its result."""

    def stop(self) -> None:
        """Stop the current item after the current tick. Called from another thread."""

    def close(self) -> list[str]:
        """Close what was opened; return a sentence for each thing that could not be closed."""


class Worker:
    """A worker in a process of its own.

    `run` is its main loop; `deliver` may be called from any thread.
    """

    def __init__(self, number: int, task: Task, send: Callable[[bytes], None]) -> None:
        self.number = number
        self._task = task
        self._send = send
        self._lanes = count(MAIN_LANE + 1)
        self._inboxes: dict[int, SimpleQueue[Any]] = {MAIN_LANE: SimpleQueue()}

    def deliver(self, data: bytes) -> None:
        """Receive one message from the pool."""
        message = pickle.loads(data)
        if isinstance(message, Stop):
            self._task.stop()
        elif isinstance(message, (Job, MapResult)):
            self._inboxes[message.lane].put(message)
        else:
            self._inboxes[MAIN_LANE].put(message)

    def parent_lost(self) -> None:
        """Stop and end without a reply, because the pool is gone."""
        self._task.stop()
        self._inboxes[MAIN_LANE].put(Shutdown())

    def run(self) -> None:
        """Do jobs until the worker is shut down, then close everything."""
        while isinstance(message := self._inboxes[MAIN_LANE].get(), Job):
            self._do(message)
        self._post(Closed(self._task.close()))

    def note(self, content: Any) -> None:
        """Send a note to the run."""
        self._post(Note(content))

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply the function to every item, on this worker and on those that are free."""
        pickled_function = pickle_function(function)
        pickled_items = [
            encode(item, f"host.map: item {number}") for number, item in enumerate(items)
        ]
        lane = next(self._lanes)
        inbox = self._inboxes[lane] = SimpleQueue()
        self._post(MapRequest(lane, pickled_function, pickled_items))
        while isinstance(message := inbox.get(), Job):
            self._do(message)
        del self._inboxes[lane]
        done: MapResult = message
        if done.failure is not None:
            raise done.failure.unpack()
        return [
            decode(result, "host.map: a result", "in the worker that asked")
            for result in done.results
        ]

    def _do(self, job: Job) -> None:
        try:
            self._task.load()
            item = decode(job.item, "an item", "in a worker")
            if job.function is None:
                value = encode(self._task.do(self, item), "what a worker did")
            else:
                function = pickle.loads(job.function)
                value = encode(function(item), f"host.map: a result of {function.__qualname__}")
        except Exception as error:
            self._post(Reply(job.number, b"", Failure.of(error)))
        else:
            self._post(Reply(job.number, value, None))

    def _post(self, message: object) -> None:
        self._send(encode(message, "what a worker says"))
