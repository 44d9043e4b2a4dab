"""Breakpoints: conditions on the values of outputs, which pause a run that people watch."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from minibrains.errors import Fault

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
CONDITION = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*(\S(?:.*\S)?)\s*")
_EXPECTED: Final = 'an operator and a value, such as "< 0", ">= 0.5", "== true" or "== \\"jump\\""'


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A condition on an output. The run is paused after the tick on which it begins to hold."""

    node: str
    socket: str
    operator: str
    value: float | bool | str
    item: str = ""
    """A part of a value that has several, such as a variable of the game; "": the whole value."""

    def __str__(self) -> str:
        output = ".".join(filter(None, (self.node, self.socket, self.item)))
        value = json.dumps(self.value, ensure_ascii=False)
        return f"{output} {self.operator} {value}"

    def holds(self, value: Any) -> bool:
        """Return whether a value of the output fulfils the condition; one that cannot be compared
        does not.
        """
        if getattr(value, "ndim", None) == 0:
            value = value.item()
        if isinstance(self.value, str):
            is_comparable = isinstance(value, str)
        else:
            is_comparable = isinstance(value, (bool, int, float))
        return is_comparable and bool(_OPERATORS[self.operator](value, self.value))


def read_breakpoints(data: Any, faults: list[Fault]) -> tuple[Breakpoint, ...]:
    """Read the conditions by output, such as `{"console.reward": "< 0"}`, or by item of one, such
    as `{"console.variables.score": "> 9"}`, and append what is wrong with them to `faults`.
    """
    if not isinstance(data, dict):
        message = '"breakpoints" is not an object of conditions'
        expected = '{"console.reward": "< 0"}'
        faults.append(Fault(message, expected=expected, found=repr(data), code="invalid_value"))
        return ()
    found = []
    for output, text in data.items():
        breakpoint = _read(output, text, faults)
        if breakpoint is not None:
            found.append(breakpoint)
    return tuple(found)


def _read(output: str, text: Any, faults: list[Fault]) -> Breakpoint | None:
    where = f"the breakpoint of {output!r}"
    condition = CONDITION.fullmatch(text) if isinstance(text, str) else None
    value = None if condition is None else _read_value(condition[2])
    if condition is None or value is None:
        message = f"{where} cannot be read"
        faults.append(Fault(message, expected=_EXPECTED, found=repr(text), code="invalid_value"))
        return None
    if isinstance(value, (bool, str)) and condition[1] not in ("==", "!="):
        message = f"{where} asks whether something is more or less than {json.dumps(value)}"
        faults.append(Fault(message, expected="a number, == or !=", code="invalid_value"))
        return None
    node, _, rest = output.partition(".")
    socket, _, item = rest.partition(".")
    return Breakpoint(node, socket, condition[1], value, item)


def _read_value(text: str) -> float | bool | str | None:
    """Return a number, a flag or a text in JSON; None if it is none of them."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if isinstance(value, (bool, int, float, str)):
        return value
    return None
