"""What is written down stays written down: whole lines, whatever the disk or the end of the process does in between."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import RunError
from minibrains.files import write_whole
from minibrains.testing import ScratchHost, opened, play
from nodes.recording.decision_log import DecisionLog
from nodes.recording.output import Log

WRITE = os.write


def _lines(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "node.jsonl").read_text()
    assert text == "" or text.endswith("\n"), "the last line is whole"
    return [json.loads(line) for line in text.splitlines()]


def test_a_log_has_every_line_on_the_disk_while_the_run_goes_on(tmp_path: Path) -> None:
    node = Log()
    with opened(node, ScratchHost(tmp_path)):
        for value in range(3):
            play(node, {"value": value})
            assert [line["value"] for line in _lines(tmp_path)] == list(range(value + 1))


@pytest.mark.parametrize("node", [Log(), DecisionLog()], ids=["Log", "DecisionLog"])
def test_a_line_that_needs_several_writes_is_whole(
    node: Log | DecisionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda file, data: WRITE(file, bytes(data)[:5]))
    ticks = _ticks(node, "one", "two")
    with opened(node, ScratchHost(tmp_path)):
        play(node, *ticks)
    assert len(_lines(tmp_path)) == 2


@pytest.mark.parametrize("node", [Log(), DecisionLog()], ids=["Log", "DecisionLog"])
def test_a_line_that_the_disk_has_no_room_for_leaves_no_half_of_it(
    node: Log | DecisionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [200]

    def write(file: int, data: bytes) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = WRITE(file, bytes(data)[: room[0]])
        room[0] -= written
        return written

    with pytest.raises((OSError, RunError), match="No space left"), opened(node, ScratchHost(tmp_path)):
        monkeypatch.setattr(os, "write", write)
        play(node, *_ticks(node, "short", "x" * 300))
    assert len(_lines(tmp_path)) == 1


def _ticks(node: Log | DecisionLog, *texts: str) -> list[dict[str, Any]]:
    name = "value" if isinstance(node, Log) else "prompt"
    return [{name: text} for text in texts]


def test_a_file_and_then_its_name_are_flushed_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def note(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        flushed.append((is_folder, (tmp_path / "x").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    write_whole(tmp_path / "x", "text")
    assert flushed == [(False, False), (True, True)]
