"""Events, which are the records of a tape."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from minibrains.codec import pack, unpack
from minibrains.errors import MinibrainsError

Kind = Literal[
    "header", "episode", "result", "failed", "input", "edit", "pace", "check", "snapshot"
]
_KINDS = frozenset(get_args(Kind))


class Event(NamedTuple):
    """A value that reached a run from outside, or a check or snapshot for its replay."""

    tick: int
    """The tick of the whole run, from 0."""
    node: str
    """The node that it belongs to; empty for the run itself."""
    kind: Kind
    value: Any

    def encode(self) -> bytes:
        """Return the record of this event.

        Raises TypeError if the value cannot travel on a link.
        """
        return pack(list(self))

    @classmethod
    def decode(cls, record: bytes) -> Event:
        """Return the event of a record. Raises MinibrainsError if this version does not know it."""
        try:
            found = unpack(record)
        except ValueError as error:
            raise MinibrainsError(f"a record of the tape is not an event: {error}") from None
        match found:
            case [int(tick), str(node), str(kind), value] if (
                type(tick) is int and tick >= 0 and kind in _KINDS
            ):
                return cls(tick, node, kind, value)  # type: ignore[arg-type]  # one of _KINDS
        raise MinibrainsError(
            "a record of the tape is not an event that this Minibrains knows; "
            "was it made by a newer one?"
        )
