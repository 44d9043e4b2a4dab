"""Odd values, and sound ones in which some are put: drawn by a numbered generator,
so that each can be had again.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any, Final

VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**64),
    10**400,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\NUL",
    "a\0b",
    "\x1b[31mred",
    "\ud800",
    "\u202e",
    "字" * 100,
    "x" * 10_000,
    "%s%n",
    "{0.__class__}",
    "{{ 1 }}",
    "$(id)",
    "<img src=x onerror=alert(1)>",
    "__proto__",
    "constructor",
    "1e999",
    "NaN",
    [],
    [[]],
    [None],
    [0] * 1000,
    ["a", 1, None],
    {},
    {"": {}},
    {"a": {"a": {"a": 1}}},
    {"__proto__": {"x": 1}},
)
"""What nobody expects in its place."""


def mutate(sound: Any, dice: random.Random, changes: int = 1) -> Any:
    """Return a copy of JSON data in which something was replaced, left out, added,
    repeated or moved, so many times.
    """
    data = copy.deepcopy(sound)
    for _ in range(changes):
        place = _choose_place(data, dice)
        if place is None:
            return dice.choice(VALUES)
        _change(*place, dice)
    return data


def _choose_place(data: Any, dice: random.Random) -> tuple[Any, Any] | None:
    """Return a container within the data, and a key or an index of it."""
    places: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        container = waiting.pop()
        entries = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in entries:
            places.append((container, key))
            if isinstance(value, (dict, list)):
                waiting.append(value)
    return dice.choice(places) if places else None


def _change(container: Any, key: Any, dice: random.Random) -> None:
    what = dice.choice(("replace", "replace", "remove", "add", "copy"))
    if what == "replace":
        container[key] = copy.deepcopy(dice.choice(VALUES))
    elif what == "remove":
        del container[key]
    elif isinstance(container, list):
        container.insert(dice.randrange(len(container) + 1), copy.deepcopy(container[key]))
    elif what == "add":
        container[_odd_name(dice)] = copy.deepcopy(dice.choice(VALUES))
    else:
        container[_odd_name(dice)] = copy.deepcopy(container[key])


def _odd_name(dice: random.Random) -> str:
    return str(dice.choice([value for value in VALUES if isinstance(value, str)]))


def mutate_bytes(sound: bytes, dice: random.Random) -> bytes:
    """Return bytes of which some were flipped, left out, repeated, or replaced by others."""
    data = bytearray(sound)
    for _ in range(dice.randrange(1, 4)):
        start = dice.randrange(len(data) + 1)
        end = min(len(data), start + dice.choice((1, 2, 8, 100)))
        what = dice.choice(("flip", "cut", "remove", "repeat", "replace"))
        if what == "flip" and start < len(data):
            data[start] ^= 1 << dice.randrange(8)
        elif what == "cut":
            del data[start:]
        elif what == "remove":
            del data[start:end]
        elif what == "repeat":
            data[start:start] = data[start:end]
        elif what == "replace":
            data[start:end] = dice.choice(
                (b"\0", b"\xff\xfe", b'"', b"}", b"[" * 2000, b"9" * 400, b"\xed\xa0\x80", b"NaN")
            )
    return bytes(data)


def as_json(value: Any) -> bytes:
    """Return a value as JSON, also with what JSON does not have: NaN,
    infinity and half surrogate pairs.
    """
    return json.dumps(value).encode()
