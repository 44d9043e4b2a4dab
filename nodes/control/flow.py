"""Generic control nodes: hold, compare, count, combine, choose. Nothing here knows a game."""

from __future__ import annotations

from typing import Any as AnyValue
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from minibrains import ABSENT, Absent, Episode, Flag, Node, Number, On, Register, Variables, widget
from minibrains.errors import MinibrainsError

T = TypeVar("T")


class Previous(Register, Generic[T], category="control"):
    """Give out on each tick what arrived on the tick before: the register that lets a link go back.

    value:  anything
    Out:    the last value that arrived before this tick, `initial` before the first
    """

    initial: AnyValue = widget(doc="the value before the first; null: nothing is delivered until one has arrived")

    def reset(self, episode: Episode) -> None:
        self.held: AnyValue = ABSENT if self.initial is None else self.initial

    def emit(self) -> T | Absent:
        return self.held  # type: ignore[no-any-return]

    def latch(self, value: T) -> None:
        self.held = value


class Changed(Node, category="control"):
    """Let a value through only when it differs from the last one that was let through.

    value:  anything; arrays are equal if all their elements are
    Out:    the value, on the ticks on which it is another one
    """

    def reset(self, episode: Episode) -> None:
        self.last: AnyValue = ABSENT

    def tick(self, value: T) -> T | Absent:
        if _equal(self.last, value):
            return ABSENT
        self.last = value
        return value


class Cadence(NamedTuple):
    """Whether now is one of the ticks asked for."""

    now: Flag


_NOW, _NOT_NOW = Cadence(True), Cadence(False)


class Every(Node, category="control", clocked=True):
    """True on one tick in `ticks`: the decision clock of an agent that thinks now and then.

    now:  True on ticks `offset`, `offset + ticks`, … of the episode
    Source: first seed, a decision every 30 frames.
    """

    ticks: int = widget(default=30, min=1, doc="ticks from one True to the next")
    offset: int = widget(default=0, min=0, doc="the first tick that is True")

    def reset(self, episode: Episode) -> None:
        self.left = self.offset

    def tick(self) -> Cadence:
        if self.left:
            self.left -= 1
            return _NOT_NOW
        self.left = self.ticks - 1
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
    """One of two values, as a flag says.

    flag:  which one
    yes:   given out while the flag is true
    no:    given out while it is false
    Out:   one of the two, anew on each tick on which the flag or either value is delivered
    For what lasts, like the buttons held on a pad. What happens once, like an action, would happen again: see Override.
    """

    def tick(self, flag: Flag, yes: T, no: T) -> T:
        return yes if flag else no


class Variable(Node, category="control"):
    """One of the game's variables as a number.

    variables:  what the console gives
    Out:        the value of the one called `name`
    """

    name: str = widget(doc="the variable's name in the game's data.json")

    def tick(self, variables: Variables) -> Number:
        try:
            return variables[self.name]
        except KeyError:
            raise MinibrainsError(f"the game has no variable {self.name!r}; it has {', '.join(sorted(variables))}") from None


class Override(Node, category="control"):
    """A value, unless something more urgent arrives on the same tick.

    value:   what to give out otherwise
    urgent:  given out instead on the tick on which it is delivered: a PersonPad's, which delivers only while somebody plays,
             or a Constant's whose `now` is linked
    Out:     whichever was delivered, the urgent one first
    """

    def tick(self, value: On[T], urgent: On[T]) -> T | Absent:
        if urgent is not None:
            return urgent
        return ABSENT if value is None else value


class RewardSum(Node, category="control", clocked=True):
    """Sum up rewards from one decision to the next: what an agent that decides every few frames is given for each.

    rewards:  any number of reward links; every reward that is delivered counts once
    now:      True: give out the sum and begin again. Link the decision clock, and through an Any the end of the game, so
              that the rewards after the last decision are given out as well
    Out:      the sum of what was delivered since the last sum, this tick's rewards among it
    Source: second seed, frame skip with the reward summed.
    """

    def reset(self, episode: Episode) -> None:
        self.total = 0.0

    def tick(self, rewards: list[On[Number]], now: On[Flag]) -> Number | Absent:
        for reward in rewards:
            if reward is not None:
                self.total += reward
        if not now:
            return ABSENT
        total, self.total = self.total, 0.0
        return total


class Reroute(Node, category="control"):
    """The same value again: a knee in a link, for people's eyes.

    value:  anything
    Out:    the same value
    """

    def tick(self, value: T) -> T:
        return value


def _equal(a: AnyValue, b: AnyValue) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
