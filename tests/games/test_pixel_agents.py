"""sf2 and sf2_pixels: a vision-language model and a small network that play Duel from pixels."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from minibrains import Run, RunSpec
from minibrains.brain_file import read_header
from minibrains.run.host import RunHost
from nodes.consoles.retro import RetroEmulator
from tests.support.command import Command

AGENTS = ("sf2", "sf2_pixels")
VALIDATION = {"console.states": ["validation/Level4.*"], "console.write": {"seed": "$seed"}}


def _play(workflow: str, episodes: int, ticks: int | None = None) -> list[dict[str, Any]]:
    """Play some validation matches, and return the rows of the episodes."""
    spec = RunSpec(workflow, episodes=episodes, ticks=ticks, widgets=VALIDATION)
    rows: list[dict[str, Any]] = []
    with Run(spec) as run:
        for episode in run:
            rows.append(dict(episode.row))
    return rows


@pytest.fixture
def noisy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let consoles deliver noise in the place of every variable of the game."""
    rng = random.Random(0)
    emit = RetroEmulator.emit

    def noisy(console: RetroEmulator) -> Any:
        shown = emit(console)
        noise = {name: rng.randrange(1 << 16) for name in shown.variables}
        return shown._replace(variables=noise)

    monkeypatch.setattr(RetroEmulator, "emit", noisy)


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_that_is_read_from_memory_reaches_the_pad(
    request: pytest.FixtureRequest, agent: str
) -> None:
    """With noise in all variables, the pads are equal, and so is the game."""
    before = _play(agent, episodes=2, ticks=1200)
    rules = _play("sf2_scripted", episodes=1, ticks=1200)
    request.getfixturevalue("noisy_variables")
    after = _play(agent, episodes=2, ticks=1200)
    for row, noisy in zip(before, after, strict=True):
        assert row["actions_sha256"] == noisy["actions_sha256"]
    misled = _play("sf2_scripted", episodes=1, ticks=1200)
    assert rules[0]["actions_sha256"] != misled[0]["actions_sha256"], "noise is not delivered"


@pytest.mark.parametrize("agent", AGENTS)
def test_no_node_learns_which_state_the_game_began_from(
    monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    asked: set[str] = set()

    def spied(host: RunHost) -> None:
        asked.add(host.node)

    monkeypatch.setattr(RunHost, "start", property(spied))
    _play(agent, episodes=2, ticks=60)
    assert not asked


def test_each_decision_is_written_with_its_question_and_its_picture(tmp_path: Path) -> None:
    with Run(RunSpec("sf2", episodes=1, ticks=100, widgets=VALIDATION, runs=tmp_path)) as run:
        for _ in run:
            pass
    written = (run.dir / "decisions.jsonl").read_text().splitlines()
    decisions = [json.loads(line) for line in written]
    assert len(decisions) >= 3
    for decision in decisions:
        assert decision["prompt"].endswith("Which action?")
        assert decision["text"]
        assert (run.dir / decision["image"]).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_it_wins_matches_on_a_stage_and_in_match_ups_that_it_has_not_seen(agent: str) -> None:
    """A quick check; docs/cloning.md and docs/sf2.md have the measurements."""
    rows = _play(agent, episodes=50)
    won = sum(bool(row["won"]) for row in rows)
    assert won >= 35


@pytest.mark.slow
def test_a_small_network_is_collected_for_trained_corrected_and_played(
    minibrains_process: Command, tmp_path: Path
) -> None:
    """The commands of docs/cloning.md, with less of everything."""
    data = ("--set", "writer.name=small", "--ticks", "900", "--episodes")
    name = "policy_head/small.safetensors"
    for command in (
        ("run", "duel_collect", *data, "3"),
        ("run", "duel_clone", "--set", "clone.data=small", "--set", "clone.name=small"),
        ("run", "duel_correct", "--brain", f"head={name}", *data, "1"),
        ("run", "sf2_pixels", "--brain", f"head={name}", "--ticks", "300", "--episodes", "1"),
    ):
        done = minibrains_process(*command)
        assert done.returncode == 0, done.stderr

    home = tmp_path / "home"
    files = list((home / "data/small").glob("*.parquet"))
    assert len(files) == 4, "corrections are added to what there is"
    header = read_header(home / "models" / name)
    assert json.loads(header.metadata["data"])["episodes"] == 3


@pytest.mark.slow
def test_a_language_model_is_taught_adapted_and_played(
    minibrains_process: Command, tmp_path: Path
) -> None:
    """The commands of docs/language-models.md and docs/sf2.md, with less of everything."""
    base, lora = "vlm/small.safetensors", "lora_adapter/styled.safetensors"
    short = ("--ticks", "900", "--episodes", "2")
    for command in (
        ("run", "sf2_distil", "--set", "writer.name=small", *short),
        ("run", "sf2_train_base", "--set", "train.data=small", "--set", "train.name=small"),
        (
            "run",
            "sf2_correct",
            "--set",
            "writer.name=small",
            "--brain",
            f"strategist={base}",
            *short,
        ),
        ("run", "sf2_style", "--set", "writer.name=styled", *short),
        (
            *("run", "sf2_instruct", "--brain", f"train={base}", "--set", "train.data=small"),
            *("--set", 'train.instructions={"styled": ["Attack!"]}'),
        ),
        (
            *("run", "sf2_train_lora", "--brain", f"train={base}"),
            *("--set", "train.data=styled", "--set", "train.name=styled"),
        ),
        (
            *("run", "sf2", "--brain", f"strategist={base}", "--brain", f"lora={lora}"),
            *("--ticks", "300", "--episodes", "1"),
        ),
        ("run", "sf2_merge", "--brain", f"merge={base}", "--brain", f"lora={lora}"),
    ):
        done = minibrains_process(*command)
        assert done.returncode == 0, done.stderr

    home = tmp_path / "home"
    files = list((home / "data/small").glob("*.parquet"))
    assert len(files) == 4, "corrections are added to what there is"
    assert (home / "models/vlm/sf2-merged.safetensors").is_file()
    instructed = read_header(home / "models/vlm/sf2-instructed.safetensors")
    assert json.loads(instructed.metadata["instructions"])["styled"]["episodes"] == 2


@pytest.mark.soak
def test_rounds_of_corrections_end_with_a_policy(
    minibrains_process: Command, tmp_path: Path
) -> None:
    few = {"rounds": 1, "matches": 1, "validation": 2, "name": "few", "data": "few"}
    settings: list[str] = []
    for widget, value in few.items():
        settings += ["--set", f"rounds.{widget}={value}"]
    data = ("--set", "writer.name=few", "--ticks", "900", "--episodes", "3")
    assert minibrains_process("run", "duel_collect", *data).returncode == 0
    done = minibrains_process("run", "duel_dagger", *settings)
    assert done.returncode == 0, done.stderr
    rounds = (tmp_path / "home/training/few/rounds.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in rounds] == [0, 1]
    assert (tmp_path / "home/models/policy_head/few-1.safetensors").is_file()
