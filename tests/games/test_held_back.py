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

from minibrains import Budget, GameError, Hook, Run, RunSpec
from minibrains.engine.compile import compile_graph
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.games import catalog as games
from minibrains.hooks import DEFAULT_BUDGET
from minibrains.tape.recording import recorded_workflow
from nodes.consoles.catalog_console import CatalogConsole
from nodes.consoles.retro import RetroEmulator
from tests.support.command import Command

PACK = """
from minibrains import Node, Variables


class Collector(Node, collects_data=True):
    def tick(self, variables: Variables) -> None:
        pass
"""


def _collect(state: str, write: Mapping[str, Any] | None = None) -> None:
    console = RetroEmulator(
        game="Duel-Genesis", states=("Level1.KazeVsBron", state), write=write or {}
    )
    console.check_collectors(["writer"])


@pytest.mark.parametrize("state", ["Level4.KazeVsTarn", "Level2.MiraVsBron"])
def test_a_held_back_state_is_refused_to_who_collects(state: str) -> None:
    with pytest.raises(
        GameError,
        match=rf"writer collects or trains, and the state '{state}' is held back by .*splits\.json",
    ):
        _collect(state)


def test_other_states_are_not() -> None:
    _collect("Level4.BronVsTarn", {"seed": "$seed", "enemy_level": 8})


@pytest.mark.parametrize("variable", ["agent_character", "enemy_character", "stage", "start"])
def test_nor_is_one_made_by_writing_into_another(variable: str) -> None:
    with pytest.raises(GameError, match=f"writing '{variable}' makes another state"):
        _collect("Level4.BronVsTarn", {variable: 1})


def test_another_name_does_not_hide_a_held_back_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bundled_dir("games") / "Duel-Genesis", tmp_path / "games/Duel-Genesis")
    duel = tmp_path / "games/Duel-Genesis"
    shutil.copyfile(duel / "Level4.KazeVsTarn.state", duel / "Mine.state")
    monkeypatch.setattr(games, "folders", lambda: [tmp_path / "games"])
    with pytest.raises(GameError, match="the state 'Mine' is held back"):
        _collect("Mine")


def test_a_workflow_that_collects_on_held_back_states_is_refused(tmp_path: Path) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_expert.json").read_text())
    workflow["nodes"]["console"]["set"]["states"] = ["Level4.TarnVsKaze"]
    workflow["nodes"]["writer"] = {
        "type": "pack.Collector@1",
        "in": {"variables": "console.variables"},
    }
    (tmp_path / "collect.json").write_text(json.dumps(workflow))
    (tmp_path / "pack.py").write_text(PACK)
    command = [
        sys.executable, "-m", "server", "run", "collect.json", "--pack", "pack.py", "--ticks", "60",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        "writer collects or trains, and the state 'Level4.TarnVsKaze' is held back" in done.stderr
    )


def test_a_workflow_that_collects_from_a_held_back_style_is_refused(
    minibrains: Command, tmp_path: Path
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_expert.json").read_text())
    workflow["nodes"]["fighter"]["set"]["style"] = "turtle"
    workflow["nodes"]["writer"] = {
        "type": "pack.Collector@1",
        "in": {"variables": "console.variables"},
    }
    (tmp_path / "collect.json").write_text(json.dumps(workflow))
    (tmp_path / "pack.py").write_text(PACK)
    refused = minibrains(
        "run", tmp_path / "collect.json", "--pack", tmp_path / "pack.py", "--ticks", "60"
    )
    assert refused.returncode == 2
    assert "fighter: writer must not learn from the style 'turtle'" in refused.stderr


def test_the_log_of_decisions_collects(minibrains: Command) -> None:
    changes = ["--set", 'console.states=["Level4.TarnVsKaze"]']
    for command in ("check", "run"):
        refused = minibrains(command, "sf2_ram_text", *changes)
        assert refused.returncode == 2
        assert (
            "decisions collects or trains, and the state 'Level4.TarnVsKaze' is held back"
            in refused.stderr
        )
        assert "Or mute the nodes that collect: --mute decisions" in refused.stderr
    muted = ("--ticks", "40", "--mute", "decisions")
    assert minibrains("run", "sf2_ram_text", *changes, *muted).returncode == 0


@pytest.mark.parametrize(
    ("widgets", "sentence"),
    [
        ({"console.states": ["Level4.TarnVsKaze"]}, "the state 'Level4.TarnVsKaze' is held back"),
        ({"console.write": {"stage": 3}}, "writing 'stage' makes another state"),
    ],
)
def test_a_console_that_does_not_refuse_is_caught_when_it_begins(
    widgets: Mapping[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CatalogConsole, "check_collectors")
    widgets = {"console.states": ["Level4.KazeVsBron"], **widgets}
    run = Run(RunSpec("duel_colors", episodes=1, ticks=40, widgets=widgets))
    with pytest.raises(GameError, match=f"learn collects or trains, and {sentence}"):
        list(run)
    assert run.engine.tick == 0


class Adds(Hook):
    """Adds a log of decisions to the running graph, and keeps what is said against it."""

    refusal = ""

    def between_ticks(self, run: Run) -> Budget:
        workflow = run.workflow.with_node(
            "log", {"type": "DecisionLog@2", "in": {"image": "console.frame"}}
        )
        graph = run.check(workflow)
        if not self.refusal:
            with pytest.raises(WorkflowError) as error:
                run.engine.prepare(compile_graph(graph), recorded_workflow(graph), run.make_host)
            self.refusal = str(error.value)
        return DEFAULT_BUDGET


def test_nothing_that_collects_is_added_to_a_game_that_began_in_such_a_state() -> None:
    adds = Adds()
    widgets = {"console.states": ["Level4.TarnVsKaze"]}
    with Run(RunSpec("duel_expert", episodes=1, ticks=40, widgets=widgets), [adds]) as run:
        (episode,) = run
    assert episode.ticks == 40
    assert "log collects or trains, and the state 'Level4.TarnVsKaze' is held back" in adds.refusal
    assert "--mute log" in adds.refusal
