"""The scripts of docs/environment.md, docs/reinforcement.md and docs/cloning.md do what the pages
say.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nodes.policies.network import PolicyHeadBrain
from nodes.policies.vector import VectorPolicyBrain
from tests.support.page_scripts import read_scripts

ENVIRONMENT = read_scripts("environment.md")
PLAYING = read_scripts("reinforcement.md")
CLONING = read_scripts("cloning.md")
SCRIPTS = {**ENVIRONMENT, **PLAYING}


def run_script(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder."""
    command = [sys.executable, "-W", "ignore", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "look.py",
        "several.py",
        "with_sb3.py",
        "with_sac.py",
        "remember.py",
        "own_loop.py",
    ],
)
def test_a_script_of_a_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, printed = SCRIPTS[name]
    (tmp_path / name).write_text(text)
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    done = run_script(name, tmp_path)
    assert done.returncode == 0, done.stderr
    if done.stdout:
        assert done.stdout == printed
    else:
        brain = VectorPolicyBrain.load(tmp_path / "mine.safetensors")
        assert brain.actions == 44


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with_sb3.py", "own_loop.py"])
def test_a_script_of_the_page_on_pictures(name: str, tmp_path: Path) -> None:
    text, _ = SCRIPTS[name]
    text = text.replace("duel_vector", "airstriker_pixels")
    text = text.replace('widgets={"console.states": ["Level1.KazeVsBron"]}, ', "")
    (tmp_path / name).write_text(text)
    done = run_script(name, tmp_path)
    assert done.returncode == 0, done.stderr
    if name == "own_loop.py":
        assert PolicyHeadBrain.load(tmp_path / "mine.safetensors").actions == 6


def test_all_scripts_were_found() -> None:
    scripts = ["look.py", "several.py", "with_sb3.py", "with_sac.py", "own_loop.py"]
    assert list(ENVIRONMENT) == scripts
    assert list(PLAYING) == ["remember.py"]
    assert list(CLONING) == ["play_buttons.py"]  # tests/nodes/test_buttons.py runs it
