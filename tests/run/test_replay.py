"""A recorded run plays again exactly: in the fast clock, in real time, edited, killed,
from the middle.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import MinibrainsError
from minibrains.files import bundled_dir
from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from minibrains.tape.tape_file import TapeWriter
from tests.support.paths import DATA
from tests.support.rewritten_tape import rewrite_tape
from tests.support.thinking_workflow import thinking_workflow
from tests.support.timeouts import TIMEOUT

PACK = DATA / "thinking_pack.py"
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "thinks.json"
    path.write_text(json.dumps(thinking_workflow(seconds=0.002)))
    return path


@pytest.fixture
def replay(minibrains: Command) -> Callable[..., dict[str, Any]]:
    """The result of `replay RUN --json`, equal or not."""

    def run(*arguments: object) -> dict[str, Any]:
        done = minibrains("replay", *arguments, "--pack", PACK, "--json")
        assert done.stdout, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if result["equal"] else 1)
        return {**result, "said": done.stderr}

    return run


@pytest.mark.slow
def test_a_fast_run_with_a_thinking_node_is_the_same_again_and_replays(
    summary: Callable[..., dict[str, Any]],
    replay: Callable[..., dict[str, Any]],
    minibrains_process: Command,
    file: Path,
) -> None:
    options = [file, "--pack", PACK, "--ticks", 300, "--episodes", 2]
    first, second = summary(*options, "--record"), summary(*options, "--workers", 2)
    assert first["actions_sha256"] == second["actions_sha256"]
    assert first["nodes"]["ponder"]["runs"] == 60
    found = replay(first["run_dir"])
    assert (found["equal"], found["ticks"], found["episodes"], found["tape"]) == (
        True,
        600,
        2,
        None,
    )
    elsewhere = minibrains_process("replay", first["run_dir"], "--pack", PACK)
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert elsewhere.stdout.startswith("equal: ticks 0 to 600, 2 episodes, ")
    events, _ = read_events(Path(first["run_dir"]) / FILE)
    results = [event for event in events if event.kind == "result"]
    assert len(results) == 60
    assert all(event.tick % 10 == 5 for event in results)


def test_a_realtime_run_replays_although_no_second_one_is_like_it(
    summary: Callable[..., dict[str, Any]], replay: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "late.json"
    file.write_text(json.dumps(thinking_workflow(seconds=0.15)))
    played = summary(file, "--pack", PACK, "--ticks", 150, "--clock", "realtime", "--record")
    assert played["nodes"]["ponder"]["late"] > 0
    assert replay(played["run_dir"])["equal"]


def test_from_the_middle(
    summary: Callable[..., dict[str, Any]], replay: Callable[..., dict[str, Any]], file: Path
) -> None:
    played = summary(file, "--pack", PACK, "--ticks", 400, "--record")
    events, _ = read_events(Path(played["run_dir"]) / FILE)
    kept = [event.tick for event in events if event.kind == "snapshot"]
    assert kept
    found = replay(played["run_dir"], "--from", kept[0] + 1)
    assert (found["equal"], found["first_tick"], found["ticks"]) == (True, kept[0], 400 - kept[0])


def test_a_run_that_was_edited_while_it_played(
    tmp_path: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    file = tmp_path / "edited.json"
    plain = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    file.write_text(json.dumps(plain))
    with _playing(tmp_path, file, "--clock", "realtime", "--live") as run:
        for hold in (3, 5):
            plain["nodes"]["random"]["set"]["hold"] = hold
            file.write_text(json.dumps(plain))
            _await(lambda hold=hold: f"random.hold = {hold}" in (tmp_path / "err").read_text())  # type: ignore[misc]
        file.write_text(json.dumps(plain | {"run": {"ticks": 9}}))
        _await(lambda: 'the change of "run" is for the next run' in (tmp_path / "err").read_text())
        file.write_text("{")
        _await(lambda: "the change was not applied" in (tmp_path / "err").read_text())
        run.send_signal(signal.SIGINT)
        assert run.wait(TIMEOUT) == 130
    (folder,) = (tmp_path / "runs").iterdir()
    events, _ = read_events(folder / FILE)
    assert [
        event.value["workflow"]["nodes"]["random"]["set"]["hold"]
        for event in events
        if event.kind == "edit"
    ] == [3, 5]
    assert replay(folder)["equal"]


def test_another_brain_and_a_clip_are_part_of_the_tape(
    tmp_path: Path, replay: Callable[..., dict[str, Any]]
) -> None:
    file = tmp_path / "edited.json"
    plain = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    file.write_text(json.dumps(plain))
    table = (bundled_dir("models") / "action_table/airstriker.safetensors").read_bytes()
    (tmp_path / "other.safetensors").write_bytes(table.replace(b"Airstriker", b"Another one"[:10]))
    with _playing(
        tmp_path, file, "--clock", "realtime", "--live", "--video", str(tmp_path / "clip.mp4")
    ) as run:
        plain["nodes"]["sink"]["brain"] = "other.safetensors"
        file.write_text(json.dumps(plain))
        _await(lambda: "sink replaced" in (tmp_path / "err").read_text())
        run.send_signal(signal.SIGINT)
        assert run.wait(TIMEOUT) == 130
    (folder,) = (tmp_path / "runs").iterdir()
    whole = replay(folder)
    assert whole["equal"]
    assert replay(folder, "--from", whole["ticks"])["first_tick"] > 0
    assert (
        Path(json.loads((folder / "summary.json").read_text())["brains"]["sink"]["file"]).name
        == "other.safetensors"
    )


def test_a_state_that_cannot_be_kept_costs_the_snapshots_only(
    tmp_path: Path, minibrains: Command, replay: Callable[..., dict[str, Any]]
) -> None:
    file = tmp_path / "file.json"
    plain = thinking_workflow()
    plain["nodes"]["holds"] = {
        "type": "thinking_pack.HoldsLock@1",
        "in": {"variables": "console.variables"},
    }
    file.write_text(json.dumps(plain))
    done = minibrains("run", file, "--pack", PACK, "--ticks", 100, "--record", "--json")
    assert done.returncode == 0, done.stderr
    assert "replays from its beginning only" in done.stderr
    assert "holds (thinking_pack.HoldsLock)" in done.stderr
    assert replay(json.loads(done.stdout)["run_dir"])["equal"]


def test_a_killed_run_replays_up_to_its_last_whole_record(
    tmp_path: Path, replay: Callable[..., dict[str, Any]], file: Path
) -> None:
    with _playing(tmp_path, file, "--pack", PACK) as run:
        _await(lambda: _checks(tmp_path) >= 2)
        run.kill()
        run.wait()
    (folder,) = (tmp_path / "runs").iterdir()
    found = replay(folder)
    assert found["equal"]
    assert found["checks"] >= 2
    tape = folder / FILE
    tape.write_bytes(tape.read_bytes()[:-3])
    cut = replay(folder)
    assert cut["equal"]
    assert "ends in the middle of a record" in cut["tape"]


def test_what_is_different_is_said(
    summary: Callable[..., dict[str, Any]], replay: Callable[..., dict[str, Any]]
) -> None:
    played = summary("airstriker_random", "--ticks", 200, "--record")

    def hold_longer(event: Event) -> Event:
        if event.kind == "header":
            nodes = event.value["workflow"]["nodes"]
            nodes["random"]["set"]["hold"] = 9
        return event

    rewrite_tape(Path(played["run_dir"]), hold_longer)
    found = replay(played["run_dir"])
    assert not found["equal"]
    assert "actions_sha256" in found["difference"]["expected"]


def test_a_brain_that_has_changed_is_refused(minibrains: Command, tmp_path: Path) -> None:
    brain = tmp_path / "table.safetensors"
    brain.write_bytes((bundled_dir("models") / "action_table/airstriker.safetensors").read_bytes())
    done = minibrains(
        "run", "airstriker_random", "--brain", f"sink={brain}", "--ticks", 30, "--record", "--json"
    )
    folder = json.loads(done.stdout)["run_dir"]
    brain.write_bytes(
        (bundled_dir("models") / "action_table/airstriker.safetensors")
        .read_bytes()
        .replace(b"Airstriker", b"Airstricker"[:10])
    )
    done = minibrains("replay", folder)
    assert done.returncode == 2
    assert "is no longer the brain of the run" in done.stderr


@pytest.mark.parametrize(
    ("node", "name", "arguments"),
    [
        ("strategist", "vlm/sf2-untrained.safetensors", ["--mute", "lora"]),
        ("lora", "lora_adapter/sf2-untrained.safetensors", []),
    ],
)
def test_a_brain_whose_answers_are_on_the_tape_may_have_changed(
    summary: Callable[..., dict[str, Any]],
    replay: Callable[..., dict[str, Any]],
    tmp_path: Path,
    node: str,
    name: str,
    arguments: list[str],
) -> None:
    """So do the games of a model that has been trained on since, and of its adapter."""
    brain = tmp_path / "brain.safetensors"
    brain.write_bytes((bundled_dir("models") / name).read_bytes())
    recorded = ("--ticks", 60, "--record", "--brain", f"{node}={brain}")
    played = summary("sf2_ram_text", *recorded, *arguments)
    brain.write_bytes(brain.read_bytes().replace(b"Minibrains", b"Maxibrains"))
    assert replay(played["run_dir"])["equal"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["replay", "nowhere"], "there is no run nowhere"),
        (["replay", "."], "has no run.tape; record one with"),
        (["run", "airstriker_random", "--record", "--workers", "2"], "leave out --workers"),
    ],
)
def test_bad_requests(minibrains: Command, arguments: list[str], sentence: str) -> None:
    done = minibrains(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_tape_runs_no_file_that_it_was_not_given(
    minibrains: Command, file: Path, tmp_path: Path
) -> None:
    done = minibrains("run", file, "--pack", PACK, "--ticks", 30, "--record", "--json")
    folder = json.loads(done.stdout)["run_dir"]
    done = minibrains("replay", folder)
    assert done.returncode == 2
    assert "the run took nodes from" in done.stderr
    assert f"--pack {PACK}" in done.stderr
    other = tmp_path / PACK.name
    other.write_text(PACK.read_text() + "\n")
    done = minibrains("replay", folder, "--pack", other)
    assert done.returncode == 0
    assert "is not the file that the run took nodes from" in done.stderr


def test_a_damaged_snapshot_is_not_used(
    summary: Callable[..., dict[str, Any]], replay: Callable[..., dict[str, Any]]
) -> None:
    played = summary("airstriker_random", "--ticks", 300, "--record")
    tape = Path(played["run_dir"]) / FILE
    events, _ = read_events(tape)
    kept = next(event for event in events if event.kind == "snapshot")
    place = tape.read_bytes().index(kept.value) + len(kept.value) // 2
    data = bytearray(tape.read_bytes())
    data[place] ^= 1
    tape.write_bytes(data)
    found = replay(played["run_dir"], "--from", kept.tick)
    assert found["first_tick"] == 0
    assert "is damaged at byte" in found["tape"]


def test_a_snapshot_of_an_older_version_is_passed_over(
    summary: Callable[..., dict[str, Any]], replay: Callable[..., dict[str, Any]]
) -> None:
    played = summary("airstriker_random", "--ticks", 300, "--record")

    def pickled(event: Event) -> Event:
        if event.kind == "snapshot":
            return event._replace(value=b"\0\0\0\0" + zlib.compress(pickle.dumps({})))
        return event

    rewrite_tape(Path(played["run_dir"]), pickled)
    found = replay(played["run_dir"], "--from", 90)
    assert (found["equal"], found["first_tick"]) == (True, 0)


def test_a_start_beyond_the_end(
    minibrains: Command, summary: Callable[..., dict[str, Any]]
) -> None:
    done = minibrains(
        "replay", summary("airstriker_random", "--ticks", 30, "--record")["run_dir"], "--from", 91
    )
    assert done.returncode == 2
    assert "--from 91: the tape ends at tick 90" in done.stderr


def test_a_file_that_is_no_tape(minibrains: Command, tmp_path: Path) -> None:
    (tmp_path / "x.tape").write_bytes(b"something else")
    done = minibrains("replay", "x.tape")
    assert done.returncode == 2
    assert "is not a tape" in done.stderr
    writer = TapeWriter(tmp_path / "y.tape")
    writer.append(Event(0, "", "check", {}).encode())
    writer.close()
    done = minibrains("replay", "y.tape")
    assert done.returncode == 2
    assert "it has no header" in done.stderr


def test_a_full_disk_ends_the_run_in_good_order(tmp_path: Path) -> None:
    """The tape may have some kilobytes; then writing fails as on a full disk."""
    code = """import resource, signal, sys
from server.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[1:]))"""
    arguments = ["run", "airstriker_random", "--episodes", "40", "--record", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 1
    assert "run.tape cannot be written: File too large" in done.stderr
    result = json.loads(done.stdout)
    assert "cannot be written" in result["error"]["message"]
    assert result["ticks"] > 0


class _playing:  # noqa: N801 - used like a function
    """`run FILE --record` in a process, its standard error in the file `err`;
    killed at the end if it still runs.
    """

    def __init__(self, folder: Path, *arguments: object) -> None:
        command = [
            sys.executable, "-m", "server", "run", *map(str, arguments), "--record", "--episodes",
            "1000", "--json",
        ]  # fmt: skip
        environment = {**os.environ, "MINIBRAINS_HOME": str(folder / "home")}
        with (folder / "err").open("w") as err, (folder / "out").open("w") as out:
            self.run = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=out, stderr=err
            )
        _await(lambda: _checks(folder) >= 1)

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.run

    def __exit__(self, *error: object) -> None:
        self.run.kill()
        self.run.wait()


def _checks(folder: Path) -> int:
    """How often the run was compared so far, by its tape."""
    tapes = list(folder.glob(f"runs/*/{FILE}"))
    if not tapes or not tapes[0].stat().st_size > 64:
        return 0
    with suppress(MinibrainsError):  # its beginning is not whole yet
        return sum(event.kind == "check" for event in read_events(tapes[0])[0])
    return 0


def _await(holds: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
