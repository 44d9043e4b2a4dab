"""Commands of `python -m server` in tests: in the process of the tests, or in one of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from minibrains.torch_node import restore_threads
from server.cli import main
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

Command = Callable[..., "subprocess.CompletedProcess[str]"]
"""The type of the fixtures `minibrains` and `minibrains_process`."""

_PACK = "minibrains_pack_"
"""The beginning of the names of modules that `--pack` imports."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_in_this_process(
    arguments: list[str],
    folder: Path,
    environment: Mapping[str, str],
    output: pytest.CaptureFixture[str],
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, as the entry point would,
    and restore what belongs to the process.
    """
    output.readouterr()
    with pytest.MonkeyPatch.context() as changes, _without_packs(), _with_own_signals():
        changes.chdir(folder)
        for name, value in environment.items():
            changes.setenv(name, value)
        status = _status(arguments)
    restore_threads()
    out, err = output.readouterr()
    return subprocess.CompletedProcess(arguments, status, out, err)


def run_in_new_process(
    arguments: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "server", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


def end_a_run(
    workflow: Path, folder: Path, number: signal.Signals, is_time: Callable[[], bool]
) -> None:
    """Run a workflow in a process of its own, and send that a signal as soon as it is time."""
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "run", str(workflow)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + TIMEOUT
        while not is_time():
            assert time.monotonic() < deadline
            assert process.poll() is None, "it ended before it was time"
            time.sleep(0.005)
    finally:
        process.send_signal(number)
        process.wait(TIMEOUT)


def _status(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:  # --help
        return int(end.code or 0)


@contextmanager
def _without_packs() -> Iterator[None]:
    """Begin without modules of packs and forget those that are imported,
    because every process imports its own.
    """
    before = {name: module for name, module in sys.modules.items() if name.startswith(_PACK)}
    for name in before:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in list(sys.modules):
            if name.startswith(_PACK):
                del sys.modules[name]
        sys.modules.update(before)


@contextmanager
def _with_own_signals() -> Iterator[None]:
    """Restore the handlers of the signals that end a command."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
