"""Annotations that say how a node reads its inputs and delivers its outputs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Absent(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Returned as an output: nothing is delivered there on this tick. Declare it: `-> Action |
Absent`."""


class OnDelivery:
    """Marker for an input that is read as an event; see `On`."""


class OnDemand:
    """Marker for an output that is given as a function; see `Lazy`."""


On = Annotated[T | None, OnDelivery()]
"""An input read as an event: the value on the tick it is delivered, None on every other tick."""

Lazy = Annotated[Callable[[], T], OnDemand()]
"""A register's output given as a function, which is called only on ticks on which something reads
the output."""


class Aged(NamedTuple, Generic[T]):
    """An input read with its age: the last value and the number of ticks since it was delivered."""

    value: T
    """The last value."""
    age: int
    """The number of ticks since it was delivered; 0 on the tick of its delivery."""
