"""The command `fork`: play a recorded run on from one of its ticks, and compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Command


@pytest.fixture
def recorded(minibrains: Command, tmp_path: Path) -> Path:
    """The folder of a recorded run of 240 ticks."""
    done = minibrains(
        "run", "airstriker_random", "--episodes", 1, "--ticks", 240, "--seed", 5, "--record",
        "--runs", tmp_path / "played",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "played").iterdir()
    return folder


def test_both_outcomes_and_the_first_difference_are_printed(
    recorded: Path, minibrains: Command, tmp_path: Path
) -> None:
    same = minibrains("fork", recorded, "--tick", 100, "--runs", tmp_path / "same")
    assert same.returncode == 0, same.stderr
    assert "from tick 100; the two are identical up to the end of the shorter one" in same.stdout

    other = minibrains(
        "fork", recorded, "--tick", 100, "--set", "random.hold=3", "--json",
        "--runs", tmp_path / "other",
    )  # fmt: skip
    assert other.returncode == 0, other.stderr
    result = json.loads(other.stdout)
    assert (result["tick"], result["episode"]) == (100, 1)
    assert 100 < result["first_difference"] < 240
    assert (result["recorded"]["ticks"], result["recorded"]["ended"]) == (240, "limit")
    assert result["episodes"][0]["ticks"] == 240
    assert result["ticks"] == 140, "those that were played here"

    # its tape is that of a whole run
    replayed = minibrains("replay", result["run_dir"])
    assert replayed.returncode == 0, replayed.stdout
    assert "equal: ticks 0 to 240" in replayed.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--tick", 241), "--tick 241: the run can be played to tick 240"),
        (("--tick", 240), "the game is over at tick 240: limit"),
        (("--tick", 5, "--set", "nobody.hold=3"), "there is no node 'nobody'"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_sentence(
    arguments: tuple[object, ...], sentence: str, recorded: Path, minibrains: Command
) -> None:
    done = minibrains("fork", recorded, *arguments)
    assert done.returncode != 0
    assert sentence in done.stderr
