"""Values on links, described for pages."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from server.http.described_values import MAX_TEXT, describe_in_full, describe_value


class Two(NamedTuple):
    """A value with two parts."""

    number: float
    words: tuple[str, ...]


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (3, 3),
        (True, True),
        (float("nan"), "nan"),
        (np.float32(0.5), 0.5),
        ("a text", "a text"),
        ({"a": 0.25, "b": 0.75}, {"entries": [["a", 0.25], ["b", 0.75]]}),
        (Two(1.0, ("x",)), {"entries": [["number", 1.0], ["words", {"items": ["x"]}]]}),
        (np.arange(3), {"type": "int64[3]", "numbers": [0, 1, 2]}),
        (np.zeros((20, 20), np.uint8), {"type": "uint8[20 20]"}),
        (object(), {"type": "object"}),
    ],
)
def test_a_value_in_full(value: Any, described: Any) -> None:
    assert describe_in_full(value) == described


def test_a_value_in_full_has_limits() -> None:
    assert describe_in_full("x" * (MAX_TEXT + 1)) == "x" * MAX_TEXT + "…"
    nested: Any = list(range(300))
    for _ in range(4):
        nested = [nested] * 300
    described = describe_in_full(nested)
    assert described["more"] is True
    assert len(json.dumps(described)) < 10_000


def test_a_value_in_short_has_at_most_80_characters() -> None:
    assert describe_value("x" * 81) == "x" * 79 + "…"
