"""Describe values on links for pages: in short, and in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

MAX_CHARACTERS: Final = 80
"""Largest length of a text in short."""
MAX_TEXT: Final = 20_000
"""The same in full."""
_MAX_PARTS: Final = 1000
"""Largest number of parts of a value that is described in full."""
_MAX_NUMBERS: Final = 256
"""Size of the largest array whose numbers are listed."""


def describe_value(value: Any) -> Any:
    """Describe a value for people: a number, a flag, or a text of at most 80 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, (bool, int)) and -(2**53) < value < 2**53:
        return value
    if isinstance(value, float):
        if np.isfinite(value):
            return value
        return str(value)
    if isinstance(value, np.generic):
        return describe_value(value.item())
    if isinstance(value, np.ndarray):
        text = f"{value.dtype}[{' '.join(map(str, value.shape))}]"
    elif isinstance(value, str):
        text = value[: MAX_CHARACTERS + 1]
    elif isinstance(value, Mapping):
        text = ", ".join(f"{key} {item}" for key, item in list(value.items())[:20])
    elif isinstance(value, (list, tuple)):
        text = ", ".join(str(describe_value(item)) for item in value[:20]) or "nothing"
    else:
        text = type(value).__name__
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 1]}…"


def describe_in_full(value: Any, names: Sequence[str] = ()) -> Any:
    """Describe a value for people in full, within limits.

    Numbers, flags and texts are themselves. The others are objects: `{"entries": [[name, value]]}`
    for mappings and named tuples, `{"items": [value]}` for sequences, `{"type": text, "numbers":
    [number]}` for arrays, where `numbers` is missing for large ones, and `{"type": text}` for
    anything else. Where the limit is reached, `"more"` is true. The number of an action is
    `{"number": number, "name": text}`, and an array with a number for each has their `names`.

    Args:
        value: The value.
        names: What actions are called, if it is the number of one, or has a number for each.
    """
    if isinstance(value, (int, np.integer)) and 0 <= value < len(names):
        return {"number": int(value), "name": names[int(value)]}
    described = _FullDescription().of(value)
    if isinstance(value, np.ndarray) and value.shape == (len(names),) and "numbers" in described:
        described["names"] = list(names)
    return described


class _FullDescription:
    def __init__(self) -> None:
        self._remaining = _MAX_PARTS

    def of(self, value: Any) -> Any:
        self._remaining -= 1
        if isinstance(value, (bool, int, float, np.generic)):
            return describe_value(value)
        if isinstance(value, str):
            if len(value) <= MAX_TEXT:
                return value
            return f"{value[:MAX_TEXT]}…"
        if isinstance(value, np.ndarray):
            return _describe_array(value)
        if isinstance(value, Mapping):
            return self._entries(value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._entries(zip(value._fields, value, strict=True))
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(value)
        return {"type": type(value).__name__}

    def _entries(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        entries: list[list[Any]] = []
        for name, value in pairs:
            if self._remaining <= 0:
                return {"entries": entries, "more": True}
            entries.append([str(name), self.of(value)])
        return {"entries": entries}

    def _items(self, values: Iterable[Any]) -> dict[str, Any]:
        items: list[Any] = []
        for value in values:
            if self._remaining <= 0:
                return {"items": items, "more": True}
            items.append(self.of(value))
        return {"items": items}


def _describe_array(array: np.ndarray) -> dict[str, Any]:
    described: dict[str, Any] = {"type": describe_value(array)}
    if array.size <= _MAX_NUMBERS and array.dtype.kind in "iufb":
        described["numbers"] = [describe_value(number) for number in array.flat]
    return described
