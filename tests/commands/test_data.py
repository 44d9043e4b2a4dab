"""The command `data`: lists data sets, counts labels, and how often a brain agrees with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.fights import write_fights, write_untrained_policy


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the command."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_data_sets_are_listed(minibrains: Command, home: Path) -> None:
    done = minibrains("data")
    assert (done.returncode, done.stdout) == (0, f"no data sets in {home / 'data'}\n")
    write_fights(2)
    (home / "data" / "empty").mkdir()
    done = minibrains("data")
    assert done.returncode == 0
    empty, fights = done.stdout.splitlines()
    assert "empty has no episodes; expected *.parquet" in empty
    assert fights == "fights: Duel-Genesis, 2 episodes, 80 samples"
    listed = json.loads(minibrains("data", "--json").stdout)
    assert [entry["samples"] for entry in listed] == [0, 80]


def test_a_data_set_is_counted_and_a_brain_is_asked(minibrains: Command, home: Path) -> None:
    data = write_fights(2)
    key = data.names()[0]
    data.correct({key: {0: None, 10: 0}})
    policy = write_untrained_policy(home / "models")
    found = json.loads(minibrains("data", "fights", "--json").stdout)
    assert (found["episodes"], found["samples"], found["asked"]) == (2, 79, 0)
    assert (found["corrected"], found["deleted"]) == (1, 1)
    assert sum(row["samples"] for row in found["labels"]) == 79
    done = minibrains("data", "fights", "--brain", policy, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["asked"] == 79
    assert sum(row["agreed"] for row in found["labels"]) == found["agreed"]
    text = minibrains("data", "fights", "--brain", policy).stdout
    assert f"the answer is the label in {found['agreed']} of 79 samples" in text
    assert "1 samples corrected by hand, 1 deleted" in text
    assert "else mostly" in text


def test_a_data_set_whose_samples_were_all_deleted_is_counted(minibrains: Command) -> None:
    data = write_fights(1)
    (key,) = data.names()
    data.correct({key: dict.fromkeys(data.label_by_tick(key))})
    done = minibrains("data", "fights")
    assert done.returncode == 0, done.stderr
    assert "0 episodes, 0 samples\n0 samples corrected by hand, 40 deleted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], "nothing has no episodes"),
        (["../data"], "'../data' cannot be the name of a data set"),
        (["--brain", "x.safetensors"], "--brain needs the name of the data set"),
        (["fights", "--brain", "recovery/sf2.safetensors"], "it is of the kind recovery"),
        (["fights", "--brain", "policy_head/duel.safetensors"], "it chooses among other actions"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    minibrains: Command, arguments: list[str], words: str
) -> None:
    write_fights(1)
    done = minibrains("data", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
