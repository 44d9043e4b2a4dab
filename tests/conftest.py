"""What tests share: commands in this process and in one of their own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from minibrains.errors import MinibrainsError
from minibrains.process import trial

# how long an example takes says more about the machine than about the code
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")

pytest.register_assert_rewrite("tests.support")

from tests.support.command import Command, run_here, run_in_process  # noqa: E402 - only now are its assertions rewritten


@pytest.fixture
def minibrains(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command of `python -m server …` in this process, with tmp_path as its folder and home."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {"MINIBRAINS_HOME": str(tmp_path / "home"), **(env or {})}
        return run_here(list(map(str, arguments)), tmp_path, environment, capfd)

    return run


@pytest.fixture
def minibrains_process(tmp_path: Path) -> Command:
    """Run `python -m server …` in a process of its own, with tmp_path as its folder and home."""

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {"MINIBRAINS_HOME": str(tmp_path / "home"), **(env or {})}
        return run_in_process(list(map(str, arguments)), tmp_path, environment)

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


@pytest.fixture
def tried_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try models out in this process and without limits. A process of its own would first import all libraries."""

    def verdict(function: Callable[..., Any], arguments: tuple[Any, ...]) -> trial.Verdict:
        try:
            return trial.Verdict(None, function(*arguments))
        except MinibrainsError as error:
            return trial.Verdict(str(error))

    monkeypatch.setattr(trial, "_verdict", verdict)
