"""What processes send each other: pickled values, and exceptions that arrive as they were raised."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType
from typing import Any

from minibrains.errors import RunError, in_words, text_of


def _read_only(items: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(items)


# Objects in widgets and on links are read-only mappings, which pickle does not know.
ForkingPickler.register(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def encode(value: Any, what: str) -> bytes:
    """Return `value` as bytes that another process can read with `decode`.

    Args:
        value: Anything that can be pickled.
        what: What the value is, for the error: "item 3".

    Raises:
        RunError: The value cannot be pickled.
    """
    try:
        return bytes(ForkingPickler.dumps(value, pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise RunError(f"{what} cannot be sent to another process: {in_words(error)}") from error


def decode(data: bytes, what: str, where: str) -> Any:
    """Return the value that another process has encoded.

    Args:
        data: What `encode` returned.
        what: What the value is, for the error: "what the node was given".
        where: Where it is read, for the error: "in its process".

    Raises:
        RunError: The value cannot be unpickled here.
    """
    try:
        return pickle.loads(data)
    except Exception as error:
        raise RunError(f"{what} cannot be read {where}: {in_words(error)}") from error


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception on its way to another process."""

    words: str
    """What went wrong, for a process in which the exception cannot be made again."""
    trace: str
    """The traceback as text."""
    exception: bytes | None
    """The exception's class, arguments and attributes; None if they cannot be pickled."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Pack an exception."""
        words = f"{type(error).__name__}: {text_of(error)}"
        trace = "".join(traceback.format_exception(error))
        attributes = {name: value for name, value in vars(error).items() if name != "__notes__"}
        arguments = error.args
        if isinstance(error, OSError):
            # The args of an OSError lack its file name.
            arguments = tuple(error.__reduce__()[1])
        try:
            exception = pickle.dumps((type(error), arguments, attributes))
            pickle.loads(exception)
        except Exception:
            exception = None
        return cls(words, trace, exception)

    def unpack(self) -> BaseException:
        """Return the exception, or a RunError with its words; its cause prints the traceback it had there."""
        error: BaseException
        try:
            cls, arguments, attributes = pickle.loads(self.exception or b"")
            error = cls.__new__(cls, *arguments)
            vars(error).update(attributes)
        except Exception:
            error = RunError(self.words)
        error.__cause__ = _RemoteTraceback(self.trace)
        return error


class _RemoteTraceback(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
