"""What ends a run from outside: the terminal is closed, somebody leans on Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.timeouts import TIMEOUT

RUN = [sys.executable, "-m", "server", "run", "airstriker_random", "--episodes", "100000"]


def test_a_run_whose_terminal_is_closed_is_summed_up(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    # a session of its own, and the terminal its own: so it hears when that is closed
    in_terminal = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(slave), *RUN, "--record"]
    with _started(in_terminal, tmp_path, start_new_session=True) as run:
        _await(run, lambda: _drained(master) and _episodes(tmp_path))
        os.close(slave)
        os.close(master)
        assert run.wait(TIMEOUT) == 130
    summary = _summary(tmp_path)
    assert summary["state"] == "stopped"
    assert "error" not in summary
    assert summary["episodes"] == [json.loads(line) for line in _episodes(tmp_path)]


@pytest.mark.slow
def test_a_run_under_nohup_goes_on_when_its_terminal_is_closed(tmp_path: Path) -> None:
    with _started(["nohup", *RUN], tmp_path) as run:
        _await(run, lambda: _episodes(tmp_path))
        before = len(_episodes(tmp_path))
        run.send_signal(signal.SIGHUP)
        _await(run, lambda: len(_episodes(tmp_path)) > before + 1)
        run.send_signal(signal.SIGTERM)
        assert run.wait(TIMEOUT) == 130


def test_who_leans_on_ctrl_c_gets_a_summary_and_no_traceback(tmp_path: Path) -> None:
    with _started(RUN, tmp_path) as run:
        _await(run, lambda: _episodes(tmp_path))
        error = _lean_on_ctrl_c(run)
    assert run.returncode == 130
    assert error in ("", "stopped by Ctrl-C\n"), "nothing if it ended before the second signal"
    assert _summary(tmp_path)["state"] in ("stopped", "failed")


def test_a_doctor_that_is_stopped_says_so(tmp_path: Path) -> None:
    examine = ["doctor", "duel_vector", "--node", "head", "--episodes", "100000"]
    with _started([*RUN[:3], *examine], tmp_path) as run:
        _await(run, lambda: _episodes(tmp_path))
        run.send_signal(signal.SIGINT)
        _, error = run.communicate(timeout=TIMEOUT)
    assert run.returncode == 130
    assert error.endswith("stopped by Ctrl-C\n")


def test_who_leans_on_ctrl_c_before_the_run_gets_no_traceback(tmp_path: Path) -> None:
    pack = tmp_path / "slow.py"
    pack.write_text(
        "import time\nfrom pathlib import Path\n\nPath('imported').touch()\ntime.sleep(1e6)\n"
    )
    with _started([*RUN, "--pack", str(pack)], tmp_path) as run:
        _await(run, (tmp_path / "imported").exists)
        error = _lean_on_ctrl_c(run)
    assert (run.returncode, error) == (130, "stopped by Ctrl-C\n")


def _lean_on_ctrl_c(run: subprocess.Popen[str]) -> str:
    """Send Ctrl-C a hundred times a second until the process has ended; return what it said."""
    assert run.stderr is not None
    while run.poll() is None:
        run.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            run.wait(0.01)
    return run.stderr.read()


@contextmanager
def _started(command: list[str], folder: Path, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the test."""
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen(command, cwd=folder, text=True, **options) as run:
        try:
            yield run
        finally:
            run.kill()


def _drained(terminal: int) -> bool:
    """Read what is there, so that nobody waits to write more."""
    with suppress(BlockingIOError):
        os.read(terminal, 1 << 16)
    return True


def _episodes(folder: Path) -> list[str]:
    return [
        line
        for file in folder.glob("runs/*/episodes.jsonl")
        for line in file.read_text().splitlines()
    ]


def _summary(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/summary.json")
    summary: dict[str, Any] = json.loads(file.read_text())
    return summary


def _await(run: subprocess.Popen[str], holds: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT
    while not holds():
        assert run.poll() is None, "the run ended by itself"
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
