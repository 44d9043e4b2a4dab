"""What tests share: commands in this process and in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

# how long an example takes says more about the machine than about the code
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")

if TYPE_CHECKING:
    from tests.support.command import Command

pytest.register_assert_rewrite("tests.support")


@pytest.fixture
def minibrains(tmp_path: Path) -> Command:
    """Run `python -m server …` in a process of its own, with tmp_path as its folder and home."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "server", *map(str, arguments)]
        environment = {**os.environ, "MINIBRAINS_HOME": str(tmp_path / "home"), **(env or {})}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture
def summary(minibrains: Command) -> Callable[..., dict[str, Any]]:
    """The summary of `run … --json` that went well."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        done = minibrains("run", *arguments, "--json", env=env)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    return run
