"""Widgets: the parameters of a node that a person sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from minibrains.errors import NodeClassError
from minibrains.values import describe_type, is_value_type, read_value


@dataclass(frozen=True, slots=True)
class Widget:
    """One widget of a node class: a parameter that a person sets."""

    name: str
    annotation: Any
    default: Any
    required: bool = False
    min: float | None = None
    max: float | None = None
    doc: str = ""
    rebuild: bool = False
    """A change in a running graph needs a new node; otherwise it is set in place."""

    def describe(self) -> str:
        """Return what the widget takes, in words: `int from 1 to 60`, `one of 'repeat', 'release'`."""
        text = describe_type(self.annotation)
        if self.min is not None and self.max is not None:
            return f"{text} from {self.min} to {self.max}"
        if self.min is not None:
            return f"{text} of at least {self.min}"
        if self.max is not None:
            return f"{text} of at most {self.max}"
        return text

    def read(self, value: Any) -> Any:
        """Return the value as the node gets it: lists become tuples, objects read-only.

        Raises:
            ValueError: it is of another type, or out of range.
        """
        result = read_value(self.annotation, value)
        if isinstance(result, bool) or not isinstance(result, (int, float)):
            return result
        if self.min is not None and result < self.min:
            raise ValueError
        if self.max is not None and result > self.max:
            raise ValueError
        return result


_REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class WidgetField:
    """What `widget(…)` returns: the declaration, before it is known which field it is for."""

    default: Any
    min: float | None
    max: float | None
    doc: str
    rebuild: bool


def widget(
    *,
    default: Any = _REQUIRED,
    min: float | None = None,
    max: float | None = None,
    doc: str = "",
    rebuild: bool = False,
) -> Any:
    """Declare a widget: `size: int = widget(default=84, min=1, max=512, doc="pixels")`.

    Args:
        default: its value where a workflow does not set it; without one it must be set
        min: the least number it takes
        max: the greatest number it takes
        doc: what it is for, with the unit
        rebuild: `open` makes something of it, so a change in a running graph needs a new node
    """
    return WidgetField(default, min, max, doc, rebuild)


def read_widget(where: str, name: str, annotation: Any, declared: WidgetField) -> Widget:
    """Return the widget that a field of a node class declares. Raises NodeClassError, with `where` in its sentence."""
    if not is_value_type(annotation):
        raise NodeClassError(
            f"{where}: {annotation!r} is no widget type; "
            "expected int, float, str, bool, Literal, tuple[…, ...] or Mapping[str, …]"
        )
    if isinstance(declared.default, (list, dict, set, bytearray)):
        raise NodeClassError(f"{where} has a mutable default {declared.default!r}; use a tuple or MappingProxyType")
    required = declared.default is _REQUIRED
    result = Widget(name, annotation, None, required, declared.min, declared.max, declared.doc, declared.rebuild)
    if required:
        return result
    try:
        return replace(result, default=result.read(declared.default))
    except ValueError:
        raise NodeClassError(f"{where}: the default {declared.default!r} is not {result.describe()}") from None
