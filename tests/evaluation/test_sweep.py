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
TRAINED, UNTRAINED = "vector_policy/duel.safetensors", "vector_policy/duel-untrained.safetensors"


def test_what_is_varied_is_read_from_the_command_line() -> None:
    assert read_axis("head.every=4,8") == Axis("head.every", (4, 8))
    assert read_axis("a.b=x,1.5,true") == Axis("a.b", ("x", 1.5, True))
    assert read_axis('a.b=[[1, 2], "x,y"]') == Axis("a.b", ([1, 2], "x,y"))
    assert read_axis("head=a.safetensors,b.safetensors", is_brain=True).is_brain
    for text in ("a.b", "a.b=", "a=1"):
        with pytest.raises(MinibrainsError, match="cannot be read"):
            read_axis(text)
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
    grid = ("--vary", "choose.mode=greedy,sample", "--vary-brain", f"head={TRAINED},{UNTRAINED}")
    result = sweep(minibrains, *grid, "--episodes", "2", "--ticks", "300", *out)
    values = [variant["values"] for variant in result["variants"]]
    assert values == [
        {"choose.mode": "greedy", "head": TRAINED},
        {"choose.mode": "greedy", "head": UNTRAINED},
        {"choose.mode": "sample", "head": TRAINED},
        {"choose.mode": "sample", "head": UNTRAINED},
    ]
    for variant in result["variants"]:
        assert variant["n"] == 2
        low, high = wilson(variant["won"], variant["distinct"])
        assert (variant["low"], variant["high"]) == (round(low, 6), round(high, 6))
    brains = [variant["brains"]["head"]["sha256"] for variant in result["variants"]]
    assert brains[0] == brains[2] != brains[1] == brains[3]
    assert json.loads(Path(result["files"]["json"]).read_text()) == result
    assert Path(result["files"]["png"]).read_bytes().startswith(b"\x89PNG")

    # the same sweep plays nothing again, and more episodes only those that are missing
    files = {path: path.read_bytes() for path in (tmp_path / "episodes").iterdir()}
    assert len(files) == 4
    assert sweep(minibrains, *grid, "--episodes", "2", "--ticks", "300", *out) == result
    assert {path: path.read_bytes() for path in files} == files
    more = sweep(minibrains, *grid, "--episodes", "3", "--ticks", "300", *out)
    for path, before in files.items():
        assert path.read_bytes().startswith(before)
        assert path.read_bytes().count(b"\n") == before.count(b"\n") + 1
    assert [variant["n"] for variant in more["variants"]] == [3, 3, 3, 3]


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
