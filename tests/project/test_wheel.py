"""What a person gets with pip: the wheel in an empty environment, far from the checkout, plays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACK = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "greetings"
version = "1"

[project.entry-points."minibrains.packs"]
greet = "greetings"
""",
    "greetings.py": '''
from minibrains import Node, Text, widget


class Hello(Node):
    """Say hello."""

    name: str = widget(default="world")

    def tick(self) -> Text:
        return f"hello {self.name}"
''',
}


def _run(*command: object, cwd: Path, status: int = 0) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_plays_in_an_empty_environment(tmp_path: Path) -> None:
    _run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        tmp_path,
        ROOT,
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for file in (
        "workflows/airstriker.json",
        "models/action_table/airstriker.safetensors",
        "games/README.md",
    ):
        assert f"minibrains/shipped/{file}" in names
    assert "minibrains/shipped/web/index.html" in names
    assert "minibrains/shipped/web/play.html" in names
    for data in (ROOT / "games").glob("*/data.json"):
        assert f"minibrains/shipped/games/{data.parent.name}/data.json" in names
    assert not [name for name in names if name.startswith("minibrains/shipped/games/source")]
    assert not [
        name
        for name in names
        if name.startswith(("tests/", "runs/", "docs/"))
        or "node_modules" in name
        or "/src/" in name
    ]

    _run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv/bin/python"
    pip = (
        python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint",
        ROOT / "constraints.txt",
    )  # fmt: skip
    _run(*pip, "torch", cwd=tmp_path)
    _run(*pip, wheel, cwd=tmp_path)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for command in ([python, "-m", "server"], [tmp_path / "venv/bin/minibrains"]):
        result = json.loads(
            _run(
                *command,
                "run",
                "workflows/airstriker.json",
                "--episodes",
                1,
                "--json",
                cwd=elsewhere,
            )
        )
        assert result["episodes"][0]["score"] > 0
        assert Path(result["run_dir"]).parent == elsewhere / "runs"
        assert Path(result["workflow"]).is_relative_to(tmp_path / "venv")
    assert "airstriker_pixels" in _run(
        python, "-m", "server", "check", "airstriker_pixels", cwd=elsewhere
    )

    _check_packs(python, elsewhere)


def _check_packs(python: Path, folder: Path) -> None:
    """An installed package's nodes are there by its entry point, unless --no-packs is given."""
    for name, text in PACK.items():
        (folder / name).write_text(text)
    _run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        folder,
        folder,
        cwd=folder,
    )
    (wheel,) = folder.glob("greetings-*.whl")
    _run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=folder)
    (folder / "greetings.py").unlink()

    nodes = {
        "hello": {"type": "greet.Hello@1"},
        "log": {"type": "Log@1", "in": {"value": "hello.text"}},
    }
    (folder / "hello_pack.json").write_text(
        json.dumps({"minibrains": 1, "run": {"ticks": 5}, "nodes": nodes})
    )
    result = json.loads(
        _run(python, "-m", "server", "run", "hello_pack.json", "--json", cwd=folder)
    )
    line = json.loads((Path(result["run_dir"]) / "log.jsonl").read_text())
    assert line == {"episode": 0, "tick": 0, "value": "hello world"}
    refused = _run(
        python,
        "-m",
        "server",
        "run",
        "hello_pack.json",
        "--no-packs",
        "--json",
        cwd=folder,
        status=2,
    )
    assert "the node type 'greet.Hello' is not known" in json.loads(refused)["error"]["message"]
