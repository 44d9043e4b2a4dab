"""What is written down stays written down: whole lines,
whatever the disk or the end of the process does in between.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest

from minibrains.errors import RunError
from minibrains.files import write_atomic
from minibrains.graph.run_files import OF_THE_RUN
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.testing import ScratchHost, opened, play
from nodes.recording.decision_log import DecisionLog
from nodes.recording.output import Log, VideoWriter

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
            written = [line["value"] for line in _lines(tmp_path)]
            assert written == list(range(value + 1))


@pytest.mark.parametrize("node", [Log(), DecisionLog(brain=None)], ids=["Log", "DecisionLog"])
def test_a_line_that_needs_several_writes_is_whole(
    node: Log | DecisionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda file, data: WRITE(file, bytes(data)[:5]))
    ticks = _ticks(node, "one", "two")
    with opened(node, ScratchHost(tmp_path)):
        play(node, *ticks)
    assert len(_lines(tmp_path)) == 2


@pytest.mark.parametrize("node", [Log(), DecisionLog(brain=None)], ids=["Log", "DecisionLog"])
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

    monkeypatch.setattr(os, "write", write)
    with (
        pytest.raises((OSError, RunError), match="No space left"),
        opened(node, ScratchHost(tmp_path)),
    ):
        play(node, *_ticks(node, "short", "x" * 300))
    assert len(_lines(tmp_path)) == 1


def test_two_writers_of_one_clip_do_not_write_into_each_other(tmp_path: Path) -> None:
    """As after a live edit that makes a VideoWriter anew:
    the one before is closed while the new one writes.
    """
    frame = np.zeros((32, 32, 3), np.uint8)
    before, after = VideoWriter(), VideoWriter()
    with opened(after, ScratchHost(tmp_path)):
        with opened(before, ScratchHost(tmp_path)):
            play(before, *[{"frame": frame}] * 4)
            play(after, *[{"frame": frame}] * 3)
        play(after, *[{"frame": frame}] * 3)
    assert os.listdir(tmp_path) == ["clip.mp4"]
    frames, _ = imageio_ffmpeg.count_frames_and_secs(tmp_path / "clip.mp4")
    assert frames == 6


def test_what_a_run_puts_into_its_folder_is_taken(summary: Callable[..., dict[str, Any]]) -> None:
    for arguments in (["--record"], ["--workers", 2]):
        result = summary("airstriker", "--ticks", 5, "--episodes", 2, *arguments)
        assert set(os.listdir(result["run_dir"])) <= OF_THE_RUN


@pytest.mark.parametrize("goes_wrong", [False, True])
def test_a_disk_that_is_full_at_the_end_leaves_a_summary(
    goes_wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run = Run(RunSpec("airstriker_random", episodes=40, ticks=3, runs=tmp_path))
    with suppress(OSError), run:
        for episode in run:
            if episode.index == 38:
                monkeypatch.setattr(tempfile, "mkstemp", refuse)
            if goes_wrong and episode.index == 38:
                raise OSError(errno.ENOSPC, "No space left on device")
    (folder,) = tmp_path.iterdir()
    assert json.loads((folder / "summary.json").read_text()) == run.summary
    if goes_wrong:
        assert run.summary["state"] == "failed"
        assert len(run.summary["episodes"]) == 39
    else:
        assert run.summary["state"] == "done"
        assert len(run.summary["episodes"]) == 40


def _ticks(node: Log | DecisionLog, *texts: str) -> list[dict[str, Any]]:
    if isinstance(node, Log):
        return [{"value": text} for text in texts]
    return [{"prompt": text} for text in texts]


def test_a_file_and_then_its_name_are_flushed_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def note(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        flushed.append((is_folder, (tmp_path / "x").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    write_atomic(tmp_path / "x", "text")
    assert flushed == [(False, False), (True, True)]
