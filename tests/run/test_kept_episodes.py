"""Episodes that a node has from an earlier run are skipped, and nodes learn how one ended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minibrains import Hook, Run, RunSpec
from minibrains.brain_file import hash_file
from minibrains.games.catalog import find_game
from minibrains.run.film import Film
from tests.support.paths import DATA

PACK = DATA / "keeping_pack.py"


def _spec(folder: Path, **entry: Any) -> RunSpec:
    workflow = {
        "minibrains": 1,
        "run": {"episodes": 2, "ticks": 20},
        "nodes": {
            "console": {"type": "RetroEmulator@3", "set": {"states": ["Level1"]}},
            "keeper": {
                "type": "keeping_pack.Keeper@1",
                "set": {"file": str(folder / "kept.jsonl")},
                "in": {"variables": "console.variables"},
                **entry,
            },
        },
    }
    return RunSpec(workflow, packs=(PACK,), command="python -m server run mine.json")


def _kept(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "kept.jsonl").read_text().splitlines()]


def _played(spec: RunSpec, *hooks: Hook) -> list[tuple[int, str, int]]:
    return [(episode.index, episode.ended, episode.ticks) for episode in Run(spec, hooks)]


EXECUTORS: dict[str, dict[str, Any]] = {
    "within the tick": {},
    "on a thread": {"background": "thread"},
    "in a process": {"background": "process"},
}


@pytest.mark.slow
@pytest.mark.parametrize("place", EXECUTORS)
def test_what_is_there_is_not_played_again(tmp_path: Path, place: str) -> None:
    spec = _spec(tmp_path, **EXECUTORS[place])
    assert _played(spec) == [(0, "limit", 20), (1, "limit", 20)]
    assert _played(replace(spec, episodes=3)) == [
        (0, "skipped", 0),
        (1, "skipped", 0),
        (2, "limit", 20),
    ]
    kept = _kept(tmp_path)
    assert [line["episode"] for line in kept] == [0, 1, 2]
    state = find_game(("Airstriker-Genesis-v0",)).state_file("Level1")
    for line in kept:
        assert (line["ended"], line["ticks"], line["state"]) == ("limit", 20, "Level1")
        assert line["state_sha256"] == hash_file(state)
        assert (line["workflow"], line["command"]) == ("workflow", spec.command)


@pytest.mark.slow
def test_workers_skip_them_as_well(tmp_path: Path) -> None:
    spec = replace(_spec(tmp_path), workers=2)
    assert _played(spec) == [(0, "limit", 20), (1, "limit", 20)]
    assert _played(spec) == [(0, "skipped", 0), (1, "skipped", 0)]
    assert _played(replace(spec, workers=1)) == [(0, "skipped", 0), (1, "skipped", 0)]
    assert len({line["sha256"] for line in _kept(tmp_path)}) == 1


def test_a_run_of_skipped_episodes_is_done(tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    _played(spec)
    with Run(spec) as run:
        for _ in run:
            pass
    assert run.summary["state"] == "done"
    assert run.summary["ticks"] == 0
    assert run.summary["distinct_episodes"] is None


def _hash(spec: RunSpec, *hooks: Hook) -> str:
    return Run(spec, hooks).info.sha256


def test_the_hash_is_of_what_the_games_follow_from(tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    first = _hash(spec)
    assert first == _hash(replace(spec, seed=4, episodes=9, command="other"))
    assert isinstance(spec.workflow, dict)
    laid_out = {**spec.workflow, "title": "Mine", "layout": {"console": [1, 2]}}
    assert first == _hash(replace(spec, workflow=laid_out))
    assert first == _hash(spec, Film(tmp_path / "film.mp4")), "the nodes of hooks do not count"
    assert first != _hash(replace(spec, ticks=21))
    assert first != _hash(replace(spec, widgets={"console.noop_max": 1}))


def test_the_name_of_a_brain_does_not_count_but_its_contents_do() -> None:
    spec = RunSpec("airstriker_pixels")
    run = Run(spec)
    assert run.workflow.hash({"head": "a" * 64}) != run.workflow.hash({"head": "b" * 64})
    file = run.graph.brain_files()["head"]["file"]
    assert _hash(replace(spec, brains={"head": file})) == run.info.sha256
