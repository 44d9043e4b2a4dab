"""`evaluate --opponents FILE`: named opponents in one table, with the mean reward."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from minibrains.evaluation.report import describe, figures
from minibrains.evaluation.statistics import wilson
from minibrains.files import bundled_dir
from nodes.fighting.features import SwapSides
from tests.support.command import Command

ALONE = ("--states", "validation", "--baselines", "0", "--json")
OPPONENTS = {
    "level 4": {"states": "Level4.*"},
    "rusher": {"opponent": "training/rusher"},
    "simple": {"workflow": "duel_simple", "set": {"fighter.player": "level 4, table"}},
    "own brain": {"workflow": "mine.json", "brains": {"fighter": "copy.safetensors"}},
}


@pytest.fixture
def opponents(tmp_path: Path) -> Path:
    """A file of opponents; one of them is a workflow beside it, with a brain beside it."""
    shutil.copy(
        bundled_dir("models") / "simple_players/duel.safetensors", tmp_path / "copy.safetensors"
    )
    mine = json.loads((bundled_dir("workflows") / "duel_simple.json").read_text())
    mine["nodes"]["box"] = mine["nodes"].pop("console")
    mine["nodes"]["fighter"]["in"]["variables"] = "box.variables"
    mine["nodes"]["score"]["in"]["rewards"] = ["box.reward"]
    (tmp_path / "mine.json").write_text(json.dumps(mine))
    file = tmp_path / "opponents.json"
    file.write_text(json.dumps(OPPONENTS))
    return file


@pytest.mark.slow
def test_a_file_names_opponents_for_one_table(
    opponents: Path, tmp_path: Path, minibrains: Command
) -> None:
    arguments = ("evaluate", "duel_expert", *ALONE, "--episodes", "2", "--ticks", "120")
    done = minibrains(*arguments, "--opponents", opponents.name)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    low, high = wilson(0, 2)
    row = {"won": 0, "n": 2, "share": 0.0, "low": low, "high": round(high, 6), "reward": 0.0}
    assert result["table"] == dict.fromkeys(OPPONENTS, row)

    sections = result["opponents"]
    protocols = [section["protocol"] for section in sections]
    assert [protocol["opponent"] for protocol in protocols] == [
        "",
        "training/rusher",
        "workflow/duel_simple",
        "workflow/mine",
    ]
    assert protocols[0]["states"].keys() < protocols[1]["states"].keys()
    assert all(state.startswith("Level4.") for state in protocols[0]["states"])
    brain = protocols[3]["nodes"]["opponent_fighter"]["brain"]
    digest = sections[3]["players"][0]["brains"]["opponent_fighter"]["sha256"]
    assert brain == {"file": "copy.safetensors", "sha256": digest}

    lines = describe(result).splitlines()
    assert lines[1].startswith("duel_expert against")
    assert [line[:9].rstrip() for line in lines[2:6]] == list(OPPONENTS)

    # the same seed gives the same numbers, wherever the files are
    again = tmp_path / "again"
    again.mkdir()
    for name in ("mine.json", "copy.safetensors"):
        shutil.copy(tmp_path / name, again)
    moved = {
        "workflow": str(again / "mine.json"),
        "brains": {"fighter": str(again / "copy.safetensors")},
    }
    (again / "opponents.json").write_text(json.dumps({"own brain": moved}))
    done = minibrains(*arguments, "--opponents", "again/opponents.json", "--out", "again")
    assert done.returncode == 0, done.stderr
    repeated = json.loads(done.stdout)
    assert repeated["table"]["own brain"] == result["table"]["own brain"]
    (file,) = repeated["files"]["episodes"]
    here = tmp_path / "evaluations/episodes" / Path(file).name
    assert (tmp_path / file).read_bytes() == here.read_bytes()


@pytest.mark.slow
def test_a_workflow_at_the_other_pad_plays_as_at_its_own(
    tmp_path: Path, minibrains: Command
) -> None:
    """It beats somebody who does nothing, whoever that is, and its victories are defeats here."""
    file = tmp_path / "opponents.json"
    file.write_text(json.dumps({"simple": {"workflow": "duel_simple"}}))
    done = minibrains(
        "evaluate", "duel_nothing", *ALONE, "--episodes", "2", "--opponents", file.name
    )
    assert done.returncode == 0, done.stderr
    (section,) = json.loads(done.stdout)["opponents"]
    player = section["players"][0]
    assert (player["lost"], player["won"], player["reward"]) == (2, 0, -2.0)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "opponents.json names nobody; expected a JSON object of names"),
        ({"a": 1}, 'a: it is 1; expected {"states": PATTERN}'),
        ({"a": {"state": "Level4.*"}}, 'a: it has state; expected {"states": PATTERN}'),
        ({"a": {"states": "Level11.*"}}, "a: no state of validation/* matches 'Level11.*'"),
        ({"a": {"opponent": "training/rushr"}}, "a: there is no opponent 'training/rushr'"),
        ({"a": {"workflow": "duel_expret"}}, "Did you mean 'duel_expert'?"),
        ({"a": {"workflow": "duel_nothing"}}, "console.pad1: nothing is linked to it"),
        (
            {"a": {"workflow": "sf2_pixels"}},
            "it cannot read this output of the console; expected variables, found console.frame",
        ),
        ({"a": {"workflow": "duel_expert", "brains": {"fighter": 1}}}, "a: expected text, found 1"),
    ],
)
def test_opponents_that_cannot_play_are_refused_before_a_game(
    content: dict[str, Any], words: str, tmp_path: Path, minibrains: Command
) -> None:
    (tmp_path / "opponents.json").write_text(json.dumps(content))
    arguments = ("--episodes", "1", "--opponents", "opponents.json")
    done = minibrains("evaluate", "duel_expert", *ALONE, *arguments)
    assert done.returncode == 2
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "evaluations").exists()


def test_a_file_of_opponents_that_is_not_there_is_named(minibrains: Command) -> None:
    arguments = ("--episodes", "1", "--opponents", "oponents.json")
    done = minibrains("evaluate", "duel_expert", *ALONE, *arguments)
    assert done.returncode == 2
    assert "--opponents: there is no file oponents.json" in done.stderr


def test_the_mean_reward_is_that_of_the_reward_nodes_or_else_of_the_game() -> None:
    row = {"ended": "done", "won": True, "drawn": False, "ticks": 9, "start": None}
    failed = {**row, "ended": "failed", "score": 90.0, "reward": 900.0}
    rows = [{**row, "score": 1.0}, {**row, "score": 2.0}, failed]
    assert (figures(rows[:2])["reward"], figures(rows[:2])["reward_of"]) == (1.5, "score")
    rows = [{**row, "score": 1.0, "reward": 30.0}, {**row, "score": 2.0, "reward": 10.0}, failed]
    assert (figures(rows)["reward"], figures(rows)["reward_of"]) == (20.0, "reward")
    assert figures([{**row, "score": None}])["reward"] is None


def test_each_fighter_sees_itself_as_the_agent() -> None:
    node = SwapSides()
    variables = {"agent_x": 1, "enemy_x": 2, "agent_only": 3, "time": 4}
    seen = node.tick(variables)
    assert seen == {"agent_x": 2, "enemy_x": 1, "agent_only": 3, "time": 4}
    assert node.tick(seen) == variables
