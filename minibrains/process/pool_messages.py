"""What a pool and its workers say to each other. Each message travels as one pickle, whatever it travels on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minibrains.process.messages import Failure

MAIN_LANE = 0
"""The lane of a worker in which its task is done. Each map that it waits for opens one more."""


# -- to a worker


@dataclass(frozen=True, slots=True)
class Job:
    """Do this in a lane, and reply. `function` is a pickled function; None is the worker's own task."""

    number: int
    lane: int
    function: bytes | None
    item: bytes


@dataclass(frozen=True, slots=True)
class MapResult:
    """The map asked for in a lane is done: its results in order, or what went wrong first."""

    lane: int
    results: list[bytes]
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Stop:
    """End what you are doing after the current tick."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Close everything and end; there is nothing more to do."""


# -- from a worker


@dataclass(frozen=True, slots=True)
class Reply:
    """A job is done, or raised."""

    number: int
    value: bytes
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class MapRequest:
    """Apply a pickled function to pickled items on whoever is free. In this lane I help as well, until it is done."""

    lane: int
    function: bytes
    items: list[bytes]


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the run's own eyes: what a node says, how far an episode is."""

    content: Any


@dataclass(frozen=True, slots=True)
class Closed:
    """Everything is closed; `troubles` has a sentence for each thing that could not be."""

    troubles: list[str]
