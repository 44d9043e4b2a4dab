"""`sweep`: variants of one workflow, by a widget or a brain, in the same episodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import MinibrainsError
from minibrains.evaluation.statistics import wilson
from minibrains.evaluation.sweep import Axis, read_axis
from tests.support.command import Command

STATES = ("--states", "validation/Level4.*", "--json")
TRAINED = "vector_policy/duel.safetensors"
UNTRAINED = "vector_policy/duel-untrained.safetensors"
GRID = (
    *("--vary", "choose.mode=greedy,sample"),
    *("--vary-brain", f"head={TRAINED},{UNTRAINED}"),
    *("--ticks", "300"),
)
"""Four variants, in short episodes."""


def test_what_is_varied_is_read_from_the_command_line() -> None:
    assert read_axis("head.every=4,8") == Axis("head.every", (4, 8))
    assert read_axis("a.b=x,1.5,true") == Axis("a.b", ("x", 1.5, True))
    assert read_axis('a.b=[[1, 2], "x,y"]') == Axis("a.b", ([1, 2], "x,y"))
    assert read_axis("head=a.safetensors,b.safetensors", is_brain=True).is_brain


@pytest.mark.parametrize("text", ["a.b", "a.b=", "a=1"])
def test_what_names_no_values_of_a_widget_is_refused(text: str) -> None:
    with pytest.raises(MinibrainsError, match="cannot be read"):
        read_axis(text)


def test_what_names_no_brain_file_is_refused() -> None:
    with pytest.raises(MinibrainsError, match="cannot be read"):
        read_axis("a.b=f", is_brain=True)


def sweep(minibrains: Command, *arguments: str) -> dict[str, Any]:
    done = minibrains("sweep", "duel_vector", *arguments, *STATES)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.slow
def test_each_variant_plays_the_same_episodes_and_is_resumed(
    minibrains: Command, tmp_path: Path
) -> None:
    out = ("--out", str(tmp_path))
    result = sweep(minibrains, *GRID, "--episodes", "2", *out)
    variants = result["variants"]

    # each combination is a variant
    assert [variant["values"] for variant in variants] == [
        {"choose.mode": "greedy", "head": TRAINED},
        {"choose.mode": "greedy", "head": UNTRAINED},
        {"choose.mode": "sample", "head": TRAINED},
        {"choose.mode": "sample", "head": UNTRAINED},
    ]
    brains = [variant["brains"]["head"]["sha256"] for variant in variants]
    assert brains[0] == brains[2]
    assert brains[1] == brains[3]
    assert brains[0] != brains[1]

    # each has played two episodes, and has its interval
    for variant in variants:
        assert variant["n"] == 2
        low, high = wilson(variant["won"], variant["distinct"])
        assert variant["low"] == round(low, 6)
        assert variant["high"] == round(high, 6)

    # the files
    assert json.loads(Path(result["files"]["json"]).read_text()) == result
    assert Path(result["files"]["png"]).read_bytes().startswith(b"\x89PNG")

    # the same sweep plays nothing again
    files = {path: path.read_bytes() for path in (tmp_path / "episodes").iterdir()}
    assert len(files) == 4
    assert sweep(minibrains, *GRID, "--episodes", "2", *out) == result
    for path, before in files.items():
        assert path.read_bytes() == before

    # with more episodes, only those that are missing are played
    more = sweep(minibrains, *GRID, "--episodes", "3", *out)
    assert [variant["n"] for variant in more["variants"]] == [3, 3, 3, 3]
    for path, before in files.items():
        now = path.read_bytes()
        assert now.startswith(before)
        assert now.count(b"\n") == before.count(b"\n") + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "needs something to vary"),
        (("--vary", "console.noop_max=1,2"), "console.noop_max is the same for all players"),
        (("--vary", "choose.mode=greedy", "--vary", "choose.mode=sample"), "varied twice"),
        (("--vary", "choose.temperature=" + ",".join(map(str, range(201)))), "at most 200"),
        (("--vary", "choose.nothing=1,2"), "nothing"),
        (("--vary-brain", "head=nowhere.safetensors"), "nowhere"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    minibrains: Command, arguments: tuple[str, ...], message: str
) -> None:
    done = minibrains("sweep", "duel_vector", *arguments, *STATES, "--episodes", 1)
    assert done.returncode not in (0, 130)
    assert message in json.dumps(json.loads(done.stdout))


def test_states_that_are_held_back_are_not_swept(minibrains: Command) -> None:
    arguments = ("--vary", "choose.mode=greedy,sample", "--episodes", 1)
    done = minibrains("sweep", "duel_vector", *arguments, "--states", "held_back")
    assert "amounts to training" in done.stderr
