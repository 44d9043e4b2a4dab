"""What a pool and its workers say to each other. Each message travels as one pickle, whatever it travels on."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from typing import Any

from minibrains.errors import RunError

MAIN = 0
"""The place in a worker where episodes run, and whatever else there is while no episode does."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception on its way to another process: the class, what is in it, and its traceback as text."""

    cls: type[BaseException]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Pack an exception; one that cannot be pickled becomes a RunError with its words."""
        trace = "".join(traceback.format_exception(error))
        attributes = {name: value for name, value in vars(error).items() if name != "__notes__"}
        # args of an OSError lack its file name
        arguments = tuple(error.__reduce__()[1]) if isinstance(error, OSError) else error.args
        failure = cls(type(error), arguments, attributes, trace)
        try:
            pickle.loads(pickle.dumps(failure))
        except Exception:
            return cls(RunError, (f"{type(error).__name__}: {error}",), {}, trace)
        return failure

    def unpack(self) -> BaseException:
        """The exception again. Its cause prints as the traceback it had there."""
        error = self.cls.__new__(self.cls, *self.arguments)
        vars(error).update(self.attributes)
        error.__cause__ = _Remote(self.trace)
        return error


class _Remote(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


# -- to a worker


@dataclass(frozen=True, slots=True)
class Job:
    """Do this and reply. `function` is a pickled function; None is the worker's own task. `place` is MAIN or a map's."""

    number: int
    place: int
    function: bytes | None
    item: bytes


@dataclass(frozen=True, slots=True)
class Mapped:
    """The map asked for at `place` is done: its results in order, or what went wrong first."""

    place: int
    results: list[bytes]
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Stop:
    """End what you are doing after the current tick."""


@dataclass(frozen=True, slots=True)
class End:
    """Close everything and end; there is nothing more to do."""


# -- from a worker


@dataclass(frozen=True, slots=True)
class Reply:
    """A job is done, or raised."""

    number: int
    value: bytes
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class Map:
    """Apply a pickled function to pickled items on whoever is free; at `place` I help as well, until it is done."""

    place: int
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


def pickle_value(value: Any, what: str) -> bytes:
    """A value for another process. Raises RunError naming `what` if it cannot be pickled."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise RunError(f"host.map: {what} cannot be sent to another process: {type(error).__name__}: {error}") from None
