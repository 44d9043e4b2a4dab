"""The messages between a pool and its workers. Each is sent as one pickle, over any transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minibrains.process.messages import Failure

MAIN_LANE = 0
"""The lane in which a worker does its task. Each map that it waits for opens another one."""


# -- to a worker


@dataclass(frozen=True, slots=True)
class Job:
    """Do an item in a lane, and reply.

    `function` is a pickled function; None means the worker's task.
    """

    number: int
    lane: int
    function: bytes | None
    item: bytes


@dataclass(frozen=True, slots=True)
class MapResult:
    """The end of the map that a lane asked for: its results in order, or the first failure."""

    lane: int
    results: list[bytes]
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the current job after the current tick."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Close everything and exit."""


# -- from a worker


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a job: its result or its exception."""

    number: int
    value: bytes
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class MapRequest:
    """Apply a pickled function to pickled items on all free workers.

    Meanwhile the sender works on them in this lane too.
    """

    lane: int
    function: bytes
    items: list[bytes]


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the run itself: a line from a node, or the progress of an episode."""

    content: Any


@dataclass(frozen=True, slots=True)
class Closed:
    """Everything is closed; `errors` has a sentence for each thing that could not be closed."""

    errors: list[str]
