"""`new-node`: the file it writes is checked, tested, and runs in a workflow as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.cli import main
from server.commands.new_node import snake_case
from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def written(here: Path) -> Any:
    assert main(["new-node", "EdgeFilter"]) == 0
    return here / "edge_filter.py"


def tool(*arguments: Any) -> Any:
    """A Python tool in a process of its own, in the current folder, which finds the checkout."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_says(capsys: pytest.CaptureFixture[str], written: Any) -> None:
    out, err = capsys.readouterr()
    assert err == ""
    for words in [
        "python -m pytest edge_filter.py",
        "python -m server run WORKFLOW --pack edge_filter.py",
        '"type": "edge_filter.EdgeFilter@1"',
        '[project.entry-points."minibrains.packs"]',
    ]:
        assert words in out


def test_its_own_test_passes(written: Any) -> None:
    assert "1 passed" in tool("pytest", "-p", "no:cacheprovider", written)


@pytest.mark.parametrize(
    "name", ["EdgeFilter", "SmoothTheSpeedOfTheEnemyOverTheLastFewSecondsOfTheRound", "X"]
)
def test_ruff_has_nothing_to_say(here: Path, name: str) -> None:
    assert main(["new-node", name]) == 0
    for options in (["--isolated"], ["--config", ROOT / "pyproject.toml"]):
        tool("ruff", "check", "--no-cache", *options, here)
        tool("ruff", "format", "--no-cache", "--check", *options, here)


def test_it_runs_in_a_workflow(here: Path, written: Any) -> None:
    workflow = here / "workflow.json"
    smooth = {
        "type": "edge_filter.EdgeFilter@1",
        "set": {"share": 0.25},
        "in": {"value": "console.reward"},
    }
    score = {"type": "Score@1", "in": {"rewards": "smooth.number"}}
    nodes = {"console": {"type": "RetroEmulator@3"}, "smooth": smooth, "score": score}
    workflow.write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    summary = json.loads(tool("server", "run", workflow, "--pack", written, "--ticks", 3, "--json"))
    assert summary["nodes"]["smooth"]["runs"] == 3
    assert summary["episodes"][0]["score"] == 0.0


def test_it_is_listed(capsys: pytest.CaptureFixture[str], written: Any) -> None:
    capsys.readouterr()
    assert main(["nodes", "edge_filter.EdgeFilter", "--pack", str(written), "--json"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert [len(description[part]) for part in ("inputs", "outputs", "widgets")] == [1, 1, 1]


def test_an_existing_file_is_never_overwritten(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "edge_filter.py").write_text("mine")
    assert main(["new-node", "EdgeFilter"]) == 2
    assert "edge_filter.py is already there" in capsys.readouterr().err
    assert (here / "edge_filter.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("edgeFilter", "expected CamelCase"),
        ("edge_filter", "expected CamelCase"),
        ("Edge-Filter", "expected CamelCase"),
        ("../Edge", "expected CamelCase"),
        ("Kästchen", "expected CamelCase"),
        ("", "expected CamelCase"),
        ("None", "expected CamelCase"),
        ("Class", "expected CamelCase"),
        ("Number", "choose another, like MyNumber"),
        ("Random", "would hide the Python module 'random'"),
        ("Numpy", "would hide the Python module 'numpy'"),
        ("Server", "would hide the Python module 'server'"),
    ],
)
def test_names_that_will_not_do(
    capsys: pytest.CaptureFixture[str], here: Path, name: str, words: str
) -> None:
    assert main(["new-node", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert list(here.iterdir()) == []


def test_a_folder_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    def refused(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    assert main(["new-node", "EdgeFilter"]) == 2
    assert "edge_filter.py cannot be written: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("EdgeFilter", "edge_filter"),
        ("HTTPReader", "http_reader"),
        ("Every3Ticks", "every3_ticks"),
        ("VLM", "vlm"),
        ("X", "x"),
    ],
)
def test_file_names(name: str, stem: str) -> None:
    assert snake_case(name) == stem
