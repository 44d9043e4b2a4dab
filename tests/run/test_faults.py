"""Runs in which things go wrong: what is left of them, and that nothing hangs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains.files import bundled_dir
from tests.support.paths import DATA
from tests.support.timeouts import TIMEOUT

PACK = DATA / "fault_pack.py"
MINUTES = 6
"""Of real time."""
EPISODE, WORKERS, RATE = 300, 2, 59.92
FAULTS = 20
COST_OF_A_DEATH = 10.0
"""Seconds of one worker: its process is started anew, and an episode of five seconds is begun
anew."""


@pytest.mark.slow
def test_a_brain_that_is_cut_short_while_it_plays_is_still_whole_in_the_run(tmp_path: Path) -> None:
    brain = tmp_path / "table.safetensors"
    whole = (bundled_dir("models") / "action_table/airstriker.safetensors").read_bytes()
    brain.write_bytes(whole)
    command = [
        sys.executable, "-m", "server", "run", "airstriker_random", "--brain", f"sink={brain}",
        "--json",
    ]  # fmt: skip
    with subprocess.Popen(
        [*command, "--episodes", "100000"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as run:
        _await(lambda: _episodes(tmp_path))
        brain.write_bytes(whole[: len(whole) // 2])
        before = len(_episodes(tmp_path))
        _await(lambda: len(_episodes(tmp_path)) > before + 1)
        run.send_signal(signal.SIGINT)
        result = json.loads(run.communicate(timeout=TIMEOUT)[0])
    assert run.returncode == 130
    assert "error" not in result
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 2
    assert str(brain) in done.stderr


def test_a_process_whose_node_hangs_ends_with_the_run_that_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "hangs.json"
    file.write_text(json.dumps(_thinking(tmp_path, hangs="tick")))
    with subprocess.Popen(
        [sys.executable, "-m", "server", "run", str(file), "--pack", str(PACK)], cwd=tmp_path
    ) as run:
        number = _hanging(tmp_path)
        run.kill()
    _await(lambda: not _lives(number))


def test_a_process_that_was_started_again_ends_with_the_run_that_was_killed(tmp_path: Path) -> None:
    workflow = _thinking(tmp_path)
    workflow["nodes"]["thinker"] |= {"busy": "continue", "on_error": "hold"}
    file = tmp_path / "thinks.json"
    file.write_text(json.dumps(workflow))
    command = [
        sys.executable, "-m", "server", "run", str(file), "--pack", str(PACK), "--clock",
        "realtime",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path) as run:
        _await(lambda: list(tmp_path.glob("thinker-*")))
        (first,) = _thinkers(tmp_path)
        os.kill(first, signal.SIGKILL)
        _await(lambda: len(_thinkers(tmp_path)) == 2)
        run.kill()
    _await(lambda: _living_thinkers(tmp_path) == [])


def test_a_change_whose_node_never_opens_does_not_keep_the_run_from_ending(tmp_path: Path) -> None:
    file = tmp_path / "live.json"
    file.write_text(json.dumps(_thinking(tmp_path)))
    command = [
        sys.executable, "-m", "server", "run", str(file), "--pack", str(PACK), "--clock",
        "realtime", "--live", "--json",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        _await(lambda: list(tmp_path.glob("thinker-*")))
        file.write_text(json.dumps(_thinking(tmp_path, hangs="open", name="another")))
        number = _hanging(tmp_path)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=TIMEOUT)
    assert run.returncode == 130
    assert "the last change was not applied" in err
    assert json.loads(out)["nodes"]["thinker"]["runs"] > 0
    assert not _lives(number)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["tick", "report"])
@pytest.mark.parametrize("type_", ["Thinker", "ThinkerOnThread", "ThinkerInTick"])
def test_the_second_ctrl_c_ends_a_run_whose_node_hangs(
    tmp_path: Path, type_: str, place: str
) -> None:
    with _run(tmp_path, _thinking(tmp_path, type_, hangs=place)) as run:
        _hanging(tmp_path)
        run.send_signal(signal.SIGINT)
        _await_line(run, "Ctrl-C again ends it at once")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=TIMEOUT)
    assert run.returncode == 130
    (file,) = tmp_path.glob("runs/*/summary.json")
    summary = json.loads(file.read_text())
    assert summary["error"]["message"] == "stopped by Ctrl-C"


def test_the_third_ctrl_c_ends_a_run_that_the_second_did_not(tmp_path: Path) -> None:
    with _run(tmp_path, _thinking(tmp_path, "Stubborn")) as run:
        _hanging(tmp_path)
        run.send_signal(signal.SIGINT)
        _await_line(run, "Ctrl-C again ends it at once")
        run.send_signal(signal.SIGINT)
        _await((tmp_path / "interrupted").exists)

        def is_over() -> bool:
            if run.poll() is None:
                run.send_signal(signal.SIGINT)
            return run.returncode is not None

        _await(is_over)
    assert run.returncode == 130


@contextmanager
def _run(folder: Path, workflow: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Play a workflow in a process that does not outlive the test."""
    file = folder / "hangs.json"
    file.write_text(json.dumps(workflow))
    command = [
        sys.executable, "-m", "server", "run", str(file), "--pack", str(PACK), "--ticks", "1000",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def _await_line(run: subprocess.Popen[str], words: str) -> None:
    """Read what the run says until these words are in a line."""
    assert run.stderr is not None
    for line in run.stderr:
        if words in line:
            return
    raise AssertionError(f"the run ended and did not say {words!r}")


def _thinking(
    folder: Path, type_: str = "Thinker", name: str = "thinker", **set: str
) -> dict[str, Any]:
    """Pad, and a node that thinks about its frame counter,
    in a process of its own if its type does not say otherwise.
    """
    nodes = {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}},
        "frame": {
            "type": "Variable@1",
            "set": {"name": "frame"},
            "in": {"variables": "console.variables"},
        },
        name: {
            "type": f"fault_pack.{type_}@1",
            "set": {"folder": str(folder), **set},
            "in": {"number": "frame.number"},
        },
    }
    return {"minibrains": 1, "nodes": nodes}


def _hanging(folder: Path) -> int:
    """Wait for the mark of a process that hangs; its number."""
    _await(lambda: list(folder.glob("hangs-*")))
    (mark,) = folder.glob("hangs-*")
    return int(mark.name.removeprefix("hangs-"))


@pytest.mark.soak
def test_twenty_faults_in_real_time(tmp_path: Path) -> None:
    """Two workers play Pad in real time.

    Their processes, and those of a thinking node, are killed or stopped for a while.
    """
    nodes = {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}},
        "fickle": {
            "type": "fault_pack.Fickle@1",
            "in": {"variables": "console.variables"},
            "on_error": "hold",
        },
        "thinker": {
            "type": "fault_pack.Thinker@1",
            "set": {"folder": str(tmp_path)},
            "in": {"number": "fickle.number"},
            "every": 30,
            "busy": "continue",
            "on_error": "hold",
        },
        "log": {"type": "Log@1", "in": {"value": "thinker.number"}},
    }
    file = tmp_path / "faults.json"
    file.write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    episodes = int(MINUTES * 60 * RATE * WORKERS / EPISODE)
    command = [
        sys.executable, "-m", "server", "run", str(file), "--pack", str(PACK), "--clock",
        "realtime",
    ]  # fmt: skip
    command += [
        "--ticks",
        str(EPISODE),
        "--episodes",
        str(episodes),
        "--workers",
        str(WORKERS),
        "--json",
    ]
    dice = random.Random(7)
    injected = []
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        started = time.monotonic()
        for number in range(FAULTS):
            due = started + MINUTES * 60 * (number + 0.5) / FAULTS
            while time.monotonic() < due:
                assert run.poll() is None, run.communicate()
                time.sleep(0.5)
            injected.append(
                _inject(run.pid, tmp_path, ("stop", "thinker", "worker")[number % 3], dice)
            )
        out, err = run.communicate(timeout=MINUTES * 60)
        lasted = time.monotonic() - started
    result = json.loads(out)
    deaths = injected.count("worker")
    assert run.returncode == 0, err
    assert result["worker_deaths"] == deaths
    assert len(result["episodes"]) == episodes
    ticks = 0
    for episode in result["episodes"]:
        assert episode["ended"] == "limit"
        ticks += episode["ticks"]
    assert injected[-1] == "thinker"
    assert result["nodes"]["thinker"]["errors"] >= 1, (
        "a worker that was killed takes along what it had counted"
    )
    assert result["nodes"]["fickle"]["errors"] > 0
    served = ticks / (lasted * RATE * WORKERS)
    print(
        f"{len(injected)} faults, {deaths} workers killed, {served:.4f} of the ticks served, "
        f"{result['deadlines']}"
    )
    lost = (deaths + WORKERS) * COST_OF_A_DEATH  # and the start and the end of each worker
    assert served >= 1 - lost / (lasted * WORKERS)


def _inject(run: int, folder: Path, what: str, dice: random.Random) -> str:
    """One fault, in a process that is there."""
    if what == "thinker":
        thinker = dice.choice(_living_thinkers(folder))
        os.kill(thinker, signal.SIGKILL)
        return what
    worker = dice.choice(_spawned(run))
    if what == "worker":
        os.kill(worker, signal.SIGKILL)
    else:
        os.kill(worker, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(worker, signal.SIGCONT)
    return what


def _thinkers(folder: Path) -> list[int]:
    """Return the numbers of the processes that were there for a thinking node."""
    return [int(file.name.removeprefix("thinker-")) for file in folder.glob("thinker-*")]


def _living_thinkers(folder: Path) -> list[int]:
    return list(filter(_lives, _thinkers(folder)))


def _spawned(pid: int) -> list[int]:
    """Return the children of a process that Python's multiprocessing started."""
    found = []
    for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        child = int(word)
        command = _command(child)
        if "multiprocessing" in command and "spawn_main" in command:
            found.append(child)
    return found


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def _episodes(folder: Path) -> list[str]:
    lines: list[str] = []
    for file in folder.glob("runs/*/episodes.jsonl"):
        lines += file.read_text().splitlines()
    return lines


def _await(holds: object, seconds: float = TIMEOUT) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
