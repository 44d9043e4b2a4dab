"""Every commit gives the results of the reference commit: actions, trajectories, scores, tapes,
brains.

tests/data/make_reference.py says how tests/data/reference.json and the tapes were made;
make_changed.py makes changed_since.json.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains.graph.catalog import find_brain_file
from minibrains.tape.tape import Event
from minibrains.tape.tape_file import TapeReader
from tests.support.paths import DATA, ROOT

REFERENCE: dict[str, Any] = json.loads((DATA / "reference.json").read_text())
CHANGED: dict[str, Any] = json.loads((DATA / "changed_since.json").read_text())
"""Workflows and brains that have other results since then, and why. `replay` is the exit code with
which the tape of such a workflow is refused."""
REFUSED = {name: entry["replay"] for name, entry in CHANGED.items() if "replay" in entry}
MADE_IN = Path("/nowhere/minibrains")
"""Where the tapes were made."""


@pytest.mark.slow
@pytest.mark.parametrize("workflow", REFERENCE["workflows"])
def test_a_workflow_plays_as_in_the_reference(
    workflow: str, summary: Callable[..., dict[str, Any]]
) -> None:
    expected = CHANGED.get(workflow, REFERENCE["workflows"][workflow])
    found = summary(workflow, *REFERENCE["arguments"])
    assert len(found["episodes"]) == len(expected["episodes"])
    for episode, before in zip(found["episodes"], expected["episodes"], strict=True):
        assert _same_part(episode, before) == before
    for name, sha256 in expected["logs"].items():
        assert _sha256(Path(found["run_dir"]) / name) == sha256
    for name in set(expected) - {"episodes", "logs", "because", "replay"}:
        assert found[name] == expected[name]


@pytest.mark.slow
@pytest.mark.parametrize("workflow", sorted(set(REFERENCE["workflows"]) - set(REFUSED)))
def test_a_tape_of_the_reference_replays(workflow: str, minibrains: Callable[..., Any]) -> None:
    expected = REFERENCE["workflows"][workflow]
    tape = DATA / "tapes" / f"{workflow}.tape"
    assert str(MADE_IN).encode() in tape.read_bytes(), (
        "it names files where they were when it was made"
    )
    assert not MADE_IN.exists(), "they are not there now"
    done = minibrains("replay", tape, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["equal"], found["difference"], found["tape"]) == (True, None, None)
    assert (found["first_tick"], found["ticks"]) == (0, expected["ticks"])
    assert found["episodes"] == len(expected["episodes"])
    assert found["checks"] >= found["episodes"]
    assert "the ROM is a different one" not in done.stderr


@pytest.mark.parametrize("workflow", sorted(REFUSED))
def test_a_tape_of_a_workflow_that_has_changed_is_refused(
    workflow: str, minibrains: Callable[..., Any]
) -> None:
    """With 1 if it decides differently from the start, with 2 if its brain is another one."""
    done = minibrains("replay", DATA / "tapes" / f"{workflow}.tape", "--json")
    assert done.returncode == REFUSED[workflow]
    if done.returncode == 1:
        found = json.loads(done.stdout)
        assert found["equal"] is False
        assert found["difference"]["from"] == 0
    else:
        assert "is no longer the brain of the run" in done.stderr


@pytest.mark.parametrize("brain", ["lora/sf2-untrained.safetensors", "prompt/sf2.safetensors"])
def test_a_tape_names_brains_in_folders_that_were_renamed_since(brain: str) -> None:
    """So the tape that replays above shows that former names are still found."""
    header = Event.decode(next(iter(TapeReader(DATA / "tapes" / "sf2_ram_text.tape"))))
    nodes = header.value["workflow"]["nodes"]
    assert brain in [node.get("brain") for node in nodes.values()]
    assert not (ROOT / "models" / brain).exists()


def test_every_workflow_of_the_reference_has_its_tape() -> None:
    tapes = [file.stem for file in (DATA / "tapes").iterdir()]
    assert sorted(tapes) == sorted(REFERENCE["workflows"])


@pytest.mark.parametrize("brain", REFERENCE["brains"])
def test_a_brain_is_the_one_of_the_reference(brain: str) -> None:
    changed = CHANGED.get(brain, {})
    file = find_brain_file(brain.removeprefix("models/"), None)
    assert _sha256(file) == changed.get("sha256", REFERENCE["brains"][brain])


def _same_part(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """What was found, as far as it was known in the reference commit."""
    return {name: value for name, value in found.items() if name in expected}


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
