"""A package that is not installed: one sentence with its name and pip's command,
whatever was to be done.
"""

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import describe_error
from minibrains.packages import PACKAGES, install_command, install_extra_command
from tests.support.command import Command
from tests.support.paths import ROOT

WITHOUT = """
import os
import sys
from importlib.machinery import PathFinder


class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = name.partition(".")[0] == os.environ["MISSING"]
        return None if missing else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
MODEL = ("run", "sf2_ram_text", "--ticks", "40")
MODEL_IN_PROCESS = ("run", "sf2_realtime", "--ticks", "40")
GAME = ("run", "duel_random", "--ticks", "10")
EVALUATION = ("evaluate", "duel_random", "--states", "Level4.*", "--episodes", "1")


@pytest.fixture
def without(minibrains_process: Command, tmp_path: Path) -> Any:
    """Do a command where a package is not installed, in its child processes too."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])

    def do(package: str, *arguments: Any) -> Any:
        return minibrains_process(*arguments, env={"PYTHONPATH": path, "MISSING": package})

    return do


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("numpy", ("nodes",)),
        ("numpy", ("check", "sf2_ram_text")),
        ("numpy", GAME),
        ("numpy", ("serve", "--port", "0")),
        ("aiohttp", ("serve", "--port", "0")),
        ("tqdm", EVALUATION),
        ("msgpack", GAME),
        ("stable_retro", GAME),
        ("stable_retro", ("check", "airstriker")),
        ("safetensors", MODEL),
        ("safetensors", MODEL_IN_PROCESS),
        ("torch", MODEL),
        ("torch", MODEL_IN_PROCESS),
        ("transformers", MODEL),
        ("transformers", MODEL_IN_PROCESS),
        ("peft", ("make-brains", "lora_adapter/sf2-untrained.safetensors")),
        ("PIL", MODEL),
        ("PIL", MODEL_IN_PROCESS),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    without: Any, package: str, arguments: Any
) -> None:
    done = without(package, *arguments)
    assert done.returncode == 2, done.stderr
    assert install_command(PACKAGES[package]) in done.stderr
    assert "Traceback" not in done.stderr
    assert "fault in Minibrains" not in done.stderr


def test_a_package_that_lacks_a_name_is_not_called_missing() -> None:
    with pytest.raises(ImportError) as caught:
        from numpy import nosuchname  # type: ignore[attr-defined]  # noqa: F401
    assert describe_error(caught.value).startswith("ImportError: cannot import name 'nosuchname'")


def test_the_command_works_in_any_folder_and_keeps_the_pinned_versions() -> None:
    pip = [sys.executable, "-m", "pip", "install", "--constraint", str(ROOT / "constraints.txt")]
    assert shlex.split(install_command("numpy")) == [*pip, "numpy"]
    assert shlex.split(install_extra_command("learn")) == [*pip, "--editable", f"{ROOT}[learn]"]


def test_it_is_said_as_json_too(without: Any) -> None:
    done = without("numpy", "check", "sf2_ram_text", "--json")
    said = f"the Python package numpy is missing; install it with: {install_command('numpy')}"
    assert json.loads(done.stdout) == {"error": {"message": said}}
    assert (done.returncode, done.stderr) == (2, f"{said}\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["safetensors", "torch", "transformers", "peft", "PIL", "aiohttp", "stable_retro"]
)
def test_what_needs_no_package_does_without(without: Any, package: str) -> None:
    assert without(package, "check", "sf2_ram_text").returncode == 0
    assert without(package, "nodes").returncode == 0


def test_every_dependency_has_its_sentence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = re.findall(r"^[\w-]+", "\n".join(project["dependencies"]), re.MULTILINE)
    assert sorted(PACKAGES.values()) == sorted(names)
