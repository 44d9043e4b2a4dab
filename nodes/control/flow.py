"""Generic control nodes: hold, compare, count, combine, choose.

They are independent of any game.
"""

from __future__ import annotations

from typing import Any as AnyValue
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from minibrains import ABSENT, Absent, Episode, Flag, Node, Number, On, Register, Variables, widget
from minibrains.errors import MinibrainsError

T = TypeVar("T")


class Previous(Register, Generic[T], category="control"):
    """Deliver the last value that arrived before this tick: a unit delay, which allows feedback
    loops.

    value:  anything
    Out:    the last value that arrived before this tick, `initial` before the first
    """

    initial: AnyValue = widget(
        doc="the value before the first; null: nothing is delivered until one has arrived"
    )

    def reset(self, episode: Episode) -> None:
        self.held: AnyValue = ABSENT if self.initial is None else self.initial

    def emit(self) -> T | Absent:
        return self.held  # type: ignore[no-any-return]

    def latch(self, value: T) -> None:
        self.held = value


class Changed(Node, category="control"):
    """Let a value through only if it differs from the last one that was let through.

    value:  anything; arrays are equal if all their elements are
    Out:    the value, on the ticks on which it has changed
    """

    def reset(self, episode: Episode) -> None:
        self.last: AnyValue = ABSENT

    def tick(self, value: T) -> T | Absent:
        if _equal(self.last, value):
            return ABSENT
        self.last = value
        return value


class Cadence(NamedTuple):
    """The outputs of Every."""

    now: Flag


_NOW, _NOT_NOW = Cadence(True), Cadence(False)


class Every(Node, category="control", every_tick=True, renamed_attributes={"left": "remaining"}):
    """True on one tick in `ticks`: the decision clock of an agent that does
    not decide on every tick.

    now:  True on ticks `offset`, `offset + ticks`, … of the episode
    """

    ticks: int = widget(default=30, min=1, doc="the number of ticks from one True to the next")
    offset: int = widget(default=0, min=0, doc="the first tick that is True")

    def reset(self, episode: Episode) -> None:
        self.remaining = self.offset

    def tick(self) -> Cadence:
        if self.remaining:
            self.remaining -= 1
            return _NOT_NOW
        self.remaining = self.ticks - 1
        return _NOW


class All(Node, category="control"):
    """True while every linked flag is true; True if none is linked.

    flags:  any number of flags
    Out:    True if all of them are
    """

    def tick(self, flags: list[Flag]) -> Flag:
        return all(flags)


class Any(Node, category="control"):
    """True while at least one linked flag is true; False if none is linked.

    flags:  any number of flags
    Out:    True if one of them is
    """

    def tick(self, flags: list[Flag]) -> Flag:
        return any(flags)


class Switch(Node, category="control"):
    """Choose one of two values by a flag.

    flag:  selects the value
    yes:   the value while the flag is true
    no:    the value while it is false
    Out:   one of the two, again on each tick on which the flag or either value is delivered
    Use it for values that last, like the buttons held on a pad. An event, like an action, would
    be repeated: see Override.
    """

    def tick(self, flag: Flag, yes: T, no: T) -> T:
        return yes if flag else no


class Variable(Node, category="control"):
    """One of the game's variables as a number.

    variables:  the variables of the console
    Out:        the value of the one called `name`
    """

    name: str = widget(names="variable", doc="the variable's name in the game's data.json")

    def tick(self, variables: Variables) -> Number:
        try:
            return variables[self.name]
        except KeyError:
            raise MinibrainsError(
                f"the game has no variable {self.name!r}; it has {', '.join(sorted(variables))}"
            ) from None


class Override(Node, category="control"):
    """Pass a value on, unless a more urgent one arrives on the same tick.

    value:   the value to deliver otherwise
    urgent:  takes precedence on the tick on which it is delivered: a PersonPad's, which delivers
             only while a person plays, or a Constant's whose `now` is linked
    Out:     whichever was delivered, the urgent one first
    """

    def tick(self, value: On[T], urgent: On[T]) -> T | Absent:
        if urgent is not None:
            return urgent
        if value is not None:
            return value
        return ABSENT


class Reroute(Node, category="control"):
    """Pass the value through; use it to route a link.

    value:  anything
    Out:    the same value
    """

    def tick(self, value: T) -> T:
        return value


def _equal(a: AnyValue, b: AnyValue) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
