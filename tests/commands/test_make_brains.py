"""`make-brains`: the shipped brains are made anew, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains import Run, RunSpec
from minibrains.brain_file import read_header
from minibrains.files import bundled_dir
from server.cli import main
from server.commands.make_brains import FROM_WORKFLOWS, MAKERS, TRAINED, duel_tiles, meadow_tiles
from tests.support.paths import ROOT

MODELS = bundled_dir("models")
SLOW = ("tile_codebook/duel.safetensors", "tile_codebook/meadow.safetensors")
"""Learned by playing for more than ten seconds."""


@pytest.mark.slow
def test_the_shipped_brains_are_made_byte_for_byte(
    minibrains_process: Callable[..., Any], tmp_path: Path
) -> None:
    names = [name for name in (*MAKERS, *FROM_WORKFLOWS) if name not in SLOW]
    done = minibrains_process("make-brains", *names, "--into", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    expected = [f"{_sha256(MODELS / name)}  {name}" for name in names]
    assert done.stdout.splitlines() == expected
    for name in names:
        assert _sha256(tmp_path / "made" / name) == _sha256(MODELS / name)


@pytest.mark.soak
@pytest.mark.parametrize("name", SLOW)
def test_a_codebook_is_learned_byte_for_byte(name: str, tmp_path: Path) -> None:
    assert main(["make-brains", name, "--into", str(tmp_path)]) == 0
    assert _sha256(tmp_path / name) == _sha256(MODELS / name)


def test_the_codebook_of_duel_is_learned_from_what_is_to_be_seen() -> None:
    states = ["Level1.KazeVsBron"]
    stages = duel_tiles.empty_stages(states, seed=0)
    codebook = duel_tiles.learn(stages, states, seed=0)
    shares = duel_tiles.measure(codebook, stages, states, seed=0)
    assert shares["unknown"] < 0.05, (
        "of what it learned from, all is known but what is not a tile of a codebook"
    )
    assert shares["label_right"] > 0.98
    assert len(codebook.tiles) <= duel_tiles.TILES


def test_the_codebook_of_meadow_tells_where_the_hero_can_walk() -> None:
    codebook = meadow_tiles.learn(["Game1.Step0.Home"], seed=0)
    shares = meadow_tiles.measure(codebook, meadow_tiles.GAME, ["Game2.Step0.Home"], seed=1)
    assert shares["known"] > 0.95
    assert shares["walkable_right"] > 0.95
    assert shares["walkable_right_of_known"] > 0.99


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)  # of peft
def test_the_command_in_the_header_of_a_brain_makes_it(
    minibrains: Callable[..., Any], tmp_path: Path
) -> None:
    """That of the adapter has the former name of its folder."""
    file = MODELS / "lora_adapter/sf2-untrained.safetensors"
    command = read_header(file).metadata["made_by"].split()
    assert command[:3] == ["python", "-m", "server"]
    done = minibrains(*command[3:], "--into", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{_sha256(file)}  lora_adapter/sf2-untrained.safetensors\n"


def test_every_shipped_brain_has_a_maker() -> None:
    files = [path.relative_to(MODELS).as_posix() for path in MODELS.rglob("*.safetensors")]
    assert sorted(files) == sorted([*MAKERS, *FROM_WORKFLOWS, *TRAINED])


def test_a_trained_brain_is_named_with_the_page_that_says_how(
    minibrains: Callable[..., Any],
) -> None:
    for name, page in TRAINED.items():
        done = minibrains("make-brains", name)
        assert done.returncode == 2
        assert done.stderr.strip().endswith(f"{name} is trained for a while; {page} says how")
        assert (ROOT / page).is_file()
        metadata = read_header(MODELS / name).metadata
        assert metadata["made_by"] in (ROOT / page).read_text()


def test_a_brain_that_a_workflow_makes_names_it_in_its_header() -> None:
    for name, brain in FROM_WORKFLOWS.items():
        metadata = read_header(MODELS / name).metadata
        workflow = Run(RunSpec(brain.workflow)).info
        assert metadata["made_by"] == f"python -m server run {brain.workflow}"
        assert metadata["workflow_sha256"] == workflow.sha256
        assert metadata["license"] == "MIT"


def test_a_brain_that_is_not_shipped_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["make-brains", "vlm/sf3-untrained.safetensors", "--into", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "there is no shipped brain 'vlm/sf3-untrained.safetensors' to make" in said
    assert "Did you mean" in said
    assert not any(tmp_path.iterdir())


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
