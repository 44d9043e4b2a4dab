"""The scripts of docs/environment.md do what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nodes.policies.network import PolicyHeadBrain
from nodes.policies.vector import VectorPolicyBrain

PAGE = (Path(__file__).parents[2] / "docs/environment.md").read_text()
BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```\n\n((?:    [^\n]*\n)*)", re.M | re.S)
SCRIPTS = {name: (text, printed) for name, text, printed in BLOCK.findall(PAGE)}


@pytest.mark.parametrize(
    "name",
    [
        "look.py",
        "several.py",
        "with_sb3.py",
        pytest.param("with_sac.py", marks=pytest.mark.slow),
        "own_loop.py",
    ],
)
def test_a_script_of_the_page(name: str, tmp_path: Path) -> None:
    text, printed = SCRIPTS[name]
    (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", name], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if done.stdout:
        assert done.stdout == re.sub("^    ", "", printed, flags=re.M)
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
    done = subprocess.run(
        [sys.executable, "-W", "ignore", name], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if name == "own_loop.py":
        assert PolicyHeadBrain.load(tmp_path / "mine.safetensors").actions == 6


def test_all_scripts_were_found() -> None:
    assert list(SCRIPTS) == ["look.py", "several.py", "with_sb3.py", "with_sac.py", "own_loop.py"]
