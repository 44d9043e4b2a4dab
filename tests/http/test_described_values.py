"""Values on links, described for pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from minibrains import Run, RunSpec
from minibrains.graph.action_names import action_names
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


def test_actions_have_names() -> None:
    names = ("wait", "jump")
    assert describe_in_full(1, names) == {"number": 1, "name": "jump"}
    assert describe_in_full(np.int64(0), names) == {"number": 0, "name": "wait"}
    assert describe_in_full(2, names) == 2, "an action of another table"
    logits = describe_in_full(np.array([0.5, 1.5]), names)
    assert logits == {"type": "float64[2]", "numbers": [0.5, 1.5], "names": ["wait", "jump"]}
    assert "names" not in describe_in_full(np.zeros(3), names)


def test_the_sink_names_the_actions_of_a_run(tmp_path: Path) -> None:
    with Run(RunSpec("sf2_vector", ticks=1, runs=tmp_path)) as run:
        for _ in run:
            pass
        names = action_names(run.engine.plan.graph, run.engine.nodes)
    (table,) = set(names.values())
    assert len(table) == 44
    for socket in ("head.logits", "choose.logits", "choose.action", "sink.action"):
        assert names[socket] == table
    assert not {socket for socket in names if socket.startswith("console.")}


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
