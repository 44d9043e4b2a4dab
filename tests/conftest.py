"""What tests share: commands in this process and in one of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from minibrains.process import trial
from minibrains.run import run
from minibrains.training import env

# several tests run at once, and threads of torch that wait for a core keep another one busy
os.environ.setdefault("OMP_NUM_THREADS", "1")

# how long an example takes says more about the machine than about the code
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")

TESTS = Path(__file__).parent
WITH_AN_EMULATOR = ("games/test_duel.py",)
"""The files whose tests share an emulator that is open. A process can have only one, so their
commands get a process each."""
LONGEST = (
    "games/test_pixel_agents.py",
    "web/test_editor.py",
    "process/test_workers.py",
    "web/test_live_view.py",
    "project/test_reference.py",
    "nodes/test_ppo.py",
    "http/test_queue.py",
    "evaluation/test_evaluate.py",
    "graph/test_workflow_file.py",
    "nodes/test_conform.py",
    "http/test_limits.py",
    "web/test_looks.py",
    "web/test_carried_workflows.py",
    "http/test_runs.py",
    "web/test_runs_panel.py",
    "run/test_run.py",
    "run/test_replay.py",
    "commands/test_doctor.py",
    "web/test_choices.py",
    "web/test_gallery.py",
    "run/test_python_door.py",
    "api/test_brain.py",
    "run/test_realtime.py",
    "api/test_missing_packages.py",
    "nodes/test_hostile_models.py",
    "project/test_wheel.py",
    "commands/test_make_brains.py",
    "games/test_duel_search.py",
)
"""The files that take longest, in `make test` or in `make slow`. They begin first, so that the
processes that share the tests end at about the same time."""

pytest.register_assert_rewrite("tests.support")

# only now are their assertions rewritten
from tests.support.command import Command, run_in_new_process, run_in_this_process  # noqa: E402
from tests.support.trials import try_here  # noqa: E402


def pytest_configure() -> None:
    """Do not ignore Ctrl-C, nor let the processes of tests inherit that.

    A shell that starts commands in the background lets them ignore it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, and leave the others in their order."""
    places = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(autouse=True)
def heap_as_it_is(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not move the heap into huge pages for each run: that of the tests is large, so it would
    take half a second.
    """
    if request.path.name != "test_memory.py":
        monkeypatch.setattr(run, "freeze_heap", lambda: None)
        monkeypatch.setattr(env, "freeze_heap", lambda: None)


@pytest.fixture
def minibrains(tmp_path: Path, request: pytest.FixtureRequest) -> Command:
    """Run a command of `python -m server …` in this process,
    with tmp_path as its folder and home.
    """
    if request.path.relative_to(TESTS).as_posix() in WITH_AN_EMULATOR:
        in_process: Command = request.getfixturevalue("minibrains_process")
        return in_process
    capfd = request.getfixturevalue("capfd")

    def run(
        *arguments: object, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {"MINIBRAINS_HOME": str(tmp_path / "home"), **(env or {})}
        return run_in_this_process(list(map(str, arguments)), tmp_path, environment, capfd)

    return run


@pytest.fixture
def minibrains_process(tmp_path: Path) -> Command:
    """Run `python -m server …` in a process of its own, with tmp_path as its folder and home."""

    def run(
        *arguments: object, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {"MINIBRAINS_HOME": str(tmp_path / "home"), **(env or {})}
        return run_in_new_process(list(map(str, arguments)), tmp_path, environment)

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
    """Try models out in this process and without limits.

    A process of its own would first import all libraries.
    """
    monkeypatch.setattr(trial, "_verdict", try_here)
