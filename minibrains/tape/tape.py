"""What stands on a tape: events."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from minibrains.codec import pack, unpack
from minibrains.errors import MinibrainsError

Kind = Literal["header", "episode", "result", "failed", "input", "edit", "pace", "check", "snapshot"]
_KINDS = frozenset(get_args(Kind))


class Event(NamedTuple):
    """Something that came to a run from outside, or was noted down to compare a replay with."""

    tick: int
    """From 0, over the whole run."""
    node: str
    """The node it came to; empty for the run itself."""
    kind: Kind
    value: Any

    def encode(self) -> bytes:
        """One record of a tape. Raises TypeError if the value is none that can travel on a link."""
        return pack(list(self))

    @classmethod
    def decode(cls, record: bytes) -> Event:
        """The event that became this record. Raises MinibrainsError if it is none that this version knows."""
        try:
            found = unpack(record)
        except ValueError as error:
            raise MinibrainsError(f"a record of the tape is no event: {error}") from None
        match found:
            case [int(tick), str(node), str(kind), value] if type(tick) is int and tick >= 0 and kind in _KINDS:
                return cls(tick, node, kind, value)  # type: ignore[arg-type]  # one of _KINDS
        raise MinibrainsError("a record of the tape is no event that this Minibrains knows; was it made by a newer one?")
