"""Texts that no file and no terminal can take as they are, and errors that are no Exceptions:
the run is summed up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.paths import DATA

PACK = DATA / "odd_pack.py"
SAID = r"half \ud800 a pair, \x1b[31mred"


@pytest.mark.parametrize("panics", [False, True])
@pytest.mark.parametrize("place", ["open", "reset", "tick", "close"])
def test_an_error_in_odd_words_leaves_a_summary_and_a_traceback(
    minibrains: Command, tmp_path: Path, place: str, panics: bool
) -> None:
    done = _run(minibrains, tmp_path, place=place, panics=panics)
    assert done.returncode == 1
    assert SAID in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    (folder,) = tmp_path.glob("runs/*")
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["state"] == "failed"
    assert "half \ud800 a pair" in summary["error"]["message"]
    assert r"half \ud800 a pair" in (folder / "error.txt").read_text()
    if place in ("open", "tick"):
        assert summary["error"]["message"].startswith("odd")


def test_a_run_that_goes_on_says_why_in_words_that_can_be_printed(
    minibrains: Command, tmp_path: Path
) -> None:
    done = _run(minibrains, tmp_path, on_error="hold", panics=True)
    assert done.returncode == 0
    assert f"odd failed 1 times, and the run went on: Panic: {SAID}" in done.stdout
    assert "\x1b" not in done.stderr + done.stdout


def test_control_characters_in_names_do_not_reach_the_terminal(
    minibrains: Command, tmp_path: Path
) -> None:
    nodes = {
        "x\x1b[31m": {"type": "Log@1"},
        "log": {"type": "Log@1", "in": {"\x9b31m\u202e": "log.\x07"}},
    }
    (tmp_path / "odd.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    for command in ("check", "run"):
        done = minibrains(command, "./odd.json")
        assert done.returncode == 2
        assert r"x\x1b[31m" in done.stderr
        assert not set(done.stderr + done.stdout) & {"\x1b", "\x9b", "\x07", "\u202e"}


def _run(minibrains: Command, folder: Path, on_error: str = "stop", **widgets: Any) -> Any:
    nodes = {
        "clock": {"type": "Every@1"},
        "odd": {"type": "odd_pack.Fails@1", "set": widgets, "every": 2, "on_error": on_error},
    }
    (folder / "odd.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    return minibrains("run", "./odd.json", "--pack", PACK, "--ticks", 6)
