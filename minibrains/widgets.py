"""Widgets: the settings of a node that a person can change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from minibrains.errors import NodeClassError
from minibrains.values import describe_type, is_value_type, parse_value

Named = Literal["game", "state", "variable"]
"""The things that the text of a widget may name: a game, a save state of the console's game or a
pattern for such states, or a variable of the game."""


@dataclass(frozen=True, slots=True)
class Widget:
    """One widget of a node class: a setting that a person can change."""

    name: str
    annotation: Any
    default: Any
    required: bool = False
    min: float | None = None
    max: float | None = None
    doc: str = ""
    rebuild: bool = False
    """True if a change in a running graph needs a new node; otherwise the widget is set in
    place."""
    names: Named | None = None
    """The kind of thing that its text names, which editors then offer; None: none of these."""

    def describe(self) -> str:
        """Describe the values of the widget in words: `int from 1 to 60`, `one of 'repeat',
        'release'`.
        """
        text = describe_type(self.annotation)
        if self.min is not None and self.max is not None:
            return f"{text} from {self.min} to {self.max}"
        if self.min is not None:
            return f"{text} of at least {self.min}"
        if self.max is not None:
            return f"{text} of at most {self.max}"
        return text

    def read(self, value: Any) -> Any:
        """Convert a JSON value to the form for the node: lists become tuples,
        objects become read-only.

        Raises:
            ValueError: The value has another type, or is out of range.
        """
        result = parse_value(self.annotation, value)
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
    """The result of `widget(…)`: a declaration that does not know its field yet."""

    default: Any
    min: float | None
    max: float | None
    doc: str
    rebuild: bool
    names: Named | None


def widget(
    *,
    default: Any = _REQUIRED,
    min: float | None = None,
    max: float | None = None,
    doc: str = "",
    rebuild: bool = False,
    names: Named | None = None,
) -> Any:
    """Declare a widget: `size: int = widget(default=84, min=1, max=512, doc="pixels")`.

    Args:
        default: The value if a workflow does not set the widget; without a default it must be set.
        min: The smallest number allowed.
        max: The largest number allowed.
        doc: The purpose of the widget, with the unit.
        rebuild: Whether `open` depends on it, so that a change in a running graph needs a new node.
        names: What its text names, so that the editor offers what there is on the machine:
            `"game"`, `"state"` or `"variable"`.
    """
    return WidgetField(default, min, max, doc, rebuild, names)


def read_widget(where: str, name: str, annotation: Any, declared: WidgetField) -> Widget:
    """Return the widget that a field of a node class declares.

    Raises NodeClassError, whose message begins with `where`.
    """
    if not is_value_type(annotation):
        raise NodeClassError(
            f"{where}: {annotation!r} is not a widget type; "
            "expected int, float, str, bool, Literal, tuple[…, ...] or Mapping[str, …]"
        )
    if isinstance(declared.default, (list, dict, set, bytearray)):
        raise NodeClassError(
            f"{where} has a mutable default {declared.default!r}; use a tuple or MappingProxyType"
        )
    required = declared.default is _REQUIRED
    result = Widget(
        name,
        annotation,
        None,
        required,
        declared.min,
        declared.max,
        declared.doc,
        declared.rebuild,
        declared.names,
    )
    if required:
        return result
    try:
        return replace(result, default=result.read(declared.default))
    except ValueError:
        raise NodeClassError(
            f"{where}: the default {declared.default!r} is not {result.describe()}"
        ) from None
