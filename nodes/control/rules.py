"""Rules that are built on the canvas: a constant, a comparison, a negation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Generic, Literal, TypeVar

from minibrains import ABSENT, Absent, Flag, Node, Number, On, widget

T = TypeVar("T")

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
        ">=": operator.ge,
        ">": operator.gt,
    }
)


class Constant(Node, Generic[T], category="control"):
    """A constant value: a number, a text, an action, the buttons of a pad.

    now:  True: deliver the value on this tick, for nodes that read events; without a link, it is
          delivered once and remains
    Out:  `value`. The inputs that it is linked to determine its type
    """

    value: T = widget(
        doc='a number, true or false, a text, or a list of buttons like ["DOWN", "LEFT"]'
    )

    def tick(self, now: On[Flag] = None) -> T | Absent:
        # with a link, it runs only when a flag is delivered; None: there is no link
        return ABSENT if now is False else self.value


class Compare(Node, category="control"):
    """Compare a number with a limit.

    number:  the number to compare
    limit:   the limit; without a link: the widget `value`
    Out:     True while the comparison holds
    """

    op: Literal["<", "<=", "==", "!=", ">=", ">"] = widget(
        default="<", doc="the comparison: number op limit"
    )
    value: float = widget(default=0.0, doc="the limit, if nothing is linked to it")

    def tick(self, number: Number, limit: Number | None = None) -> Flag:
        if limit is None:
            limit = self.value
        return _COMPARISONS[self.op](number, limit)


class Not(Node, category="control"):
    """The opposite of a flag.

    flag:  True or False
    Out:   False or True
    """

    def tick(self, flag: Flag) -> Flag:
        return not flag
