"""States that are held back stay unseen by whatever collects or trains."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from minibrains import GameError
from minibrains.files import shipped
from minibrains.games import catalog as games
from minibrains.testing import ScratchHost, opened
from nodes.consoles.retro import RetroEmulator

PACK = """
from minibrains import Node, Variables


class Collector(Node, collects=True):
    def tick(self, variables: Variables) -> None:
        pass
"""


def _open(folder: Path, state: str, write: Mapping[str, Any] | None = None, collectors: tuple[str, ...] = ("writer",)) -> None:
    console = RetroEmulator(game="Duel-Genesis", states=("Level1.KazeVsBron", state), write=write or {})
    with opened(console, ScratchHost(folder, collectors=collectors)):
        pass


@pytest.mark.parametrize("state", ["Level4.KazeVsMira", "Level2.KazeVsBron.Observatory"])
def test_a_held_back_state_is_refused_to_who_collects(state: str, tmp_path: Path) -> None:
    with pytest.raises(GameError, match=rf"writer collects or trains, and the state '{state}' is held back by .*splits\.json"):
        _open(tmp_path, state)
    _open(tmp_path, state, collectors=())


def test_other_states_are_not(tmp_path: Path) -> None:
    _open(tmp_path, "Level4.BronVsTarn", {"seed": "$seed", "enemy_level": 8})


@pytest.mark.parametrize("variable", ["agent_character", "enemy_character", "stage", "start"])
def test_nor_is_one_made_by_writing_into_another(variable: str, tmp_path: Path) -> None:
    with pytest.raises(GameError, match=f"writing '{variable}' makes another state"):
        _open(tmp_path, "Level4.BronVsTarn", {variable: 1})


def test_another_name_does_not_hide_a_held_back_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(shipped("games") / "Duel-Genesis", tmp_path / "games/Duel-Genesis")
    duel = tmp_path / "games/Duel-Genesis"
    shutil.copyfile(duel / "Level4.KazeVsMira.state", duel / "Mine.state")
    monkeypatch.setattr(games, "folders", lambda: [tmp_path / "games"])
    with pytest.raises(GameError, match="the state 'Mine' is held back"):
        _open(tmp_path, "Mine")


def test_a_workflow_that_collects_on_held_back_states_is_refused(tmp_path: Path) -> None:
    workflow = json.loads((shipped("workflows") / "duel_expert.json").read_text())
    workflow["nodes"]["console"]["set"]["states"] = ["Level4.TarnVsBron"]
    workflow["nodes"]["writer"] = {"type": "pack.Collector@1", "in": {"variables": "console.variables"}}
    (tmp_path / "collect.json").write_text(json.dumps(workflow))
    (tmp_path / "pack.py").write_text(PACK)
    command = [sys.executable, "-m", "server", "run", "collect.json", "--pack", "pack.py", "--ticks", "60"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "writer collects or trains, and the state 'Level4.TarnVsBron' is held back" in done.stderr


def test_the_log_of_decisions_collects(minibrains: Command) -> None:
    held_back = ["run", "sf2", "--set", 'console.states=["Level4.TarnVsBron"]', "--ticks", "40"]
    refused = minibrains(*held_back)
    assert refused.returncode == 2
    assert "decisions collects or trains, and the state 'Level4.TarnVsBron' is held back" in refused.stderr
    assert "Or leave that out: --mute decisions" in refused.stderr
    assert minibrains(*held_back, "--mute", "decisions").returncode == 0
