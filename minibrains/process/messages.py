"""Messages between processes: pickled values, and exceptions that arrive as they were raised."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from types import MappingProxyType
from typing import Any

from minibrains.errors import RunError, describe_error, text_of


def _read_only(items: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(items)


# Objects in widgets and on links are read-only mappings, which pickle does not support.
ForkingPickler.register(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def encode(value: Any, what: str) -> bytes:
    """Encode a value as bytes that another process can `decode`.

    Args:
        value: Anything that can be pickled.
        what: A name for the value in the error: "item 3".

    Raises:
        RunError: The value cannot be pickled.
    """
    try:
        return bytes(ForkingPickler.dumps(value, pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise RunError(
            f"{what} cannot be sent to another process: {describe_error(error)}"
        ) from error


def decode(data: bytes, what: str, where: str) -> Any:
    """Decode a value that another process has encoded.

    Args:
        data: The result of `encode`.
        what: A name for the value in the error: "what the node was given".
        where: The place of decoding in the error: "in its process".

    Raises:
        RunError: The value cannot be unpickled here.
    """
    try:
        return pickle.loads(data)
    except Exception as error:
        raise RunError(f"{what} cannot be read {where}: {describe_error(error)}") from error


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception on its way to another process."""

    message: str
    """The message, for a process in which the exception cannot be recreated."""
    trace: str
    """The traceback as text."""
    exception: bytes | None
    """The exception's class, arguments and attributes; None if they cannot be pickled."""
    causes: tuple[bytes, ...] = ()
    """The same for its chain of causes, from the nearest on."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Pack an exception."""
        message = f"{type(error).__name__}: {text_of(error)}"
        trace = "".join(traceback.format_exception(error))
        causes: list[bytes] = []
        for cause in _causes(error):
            packed = _pack(cause)
            if packed is None:
                break
            causes.append(packed)
        return cls(message, trace, _pack(error), tuple(causes))

    def unpack(self) -> BaseException:
        """Return the exception, or a RunError with its message;
        its last cause prints the original traceback.
        """
        error: BaseException
        try:
            error = _unpack(self.exception or b"")
            last = error
            for packed in self.causes:
                last.__cause__ = _unpack(packed)
                last = last.__cause__
        except Exception:
            error = last = RunError(self.message)
        last.__cause__ = _RemoteTraceback(self.trace)
        return error


def _causes(error: BaseException) -> list[BaseException]:
    """Return the chain of causes of an exception in this process, each of them once."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        if isinstance(cause, _RemoteTraceback) or cause in chain:
            break
        chain.append(cause)
    return chain[1:]


def _pack(error: BaseException) -> bytes | None:
    """Return an exception's class, arguments and attributes; None if they cannot be pickled."""
    arguments = error.args
    attributes = dict(vars(error))
    if isinstance(error, (ImportError, OSError)):
        # The data that these classes keep outside of `args` and `vars`, such as a file name, is
        # part of their pickles.
        reduced: Any = error.__reduce__()
        _, arguments, *state = reduced
        attributes.update(*state)
    attributes.pop("__notes__", None)
    try:
        packed = pickle.dumps((type(error), arguments, attributes))
        pickle.loads(packed)
    except Exception:
        return None
    return packed


def _unpack(packed: bytes) -> BaseException:
    """Return the exception that was given to `_pack`. Raises whatever recreating it raises."""
    cls, arguments, attributes = pickle.loads(packed)
    error: BaseException = cls.__new__(cls, *arguments)
    error.__setstate__(attributes)
    return error


class _RemoteTraceback(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
