"""A tape on the disk: what was appended stays, what was cut or damaged is noticed,
and no wrong record is ever read.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minibrains import MinibrainsError
from minibrains.codec import pack
from minibrains.errors import RunError
from minibrains.tape.tape import Event
from minibrains.tape.tape_file import TapeReader, TapeWriter
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

RECORDS = [b"", b"one", b"two" * 20, b"\0" * 9, b"one", b"last"]
START, HEAD = 8, 8


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "tape"
    _write(path, RECORDS)
    return path


def _write(path: Path, records: list[bytes]) -> None:
    writer = TapeWriter(path)
    for record in records:
        writer.append(record)
    writer.close()


def _borders() -> list[int]:
    ends = [START]
    for record in RECORDS:
        ends.append(ends[-1] + HEAD + len(record))
    return ends


def test_what_was_appended_is_read_again_and_again(tape: Path) -> None:
    reader = TapeReader(tape)
    for _ in range(2):
        assert list(reader) == RECORDS
        assert reader.whole
        assert reader.sentence == ""


def test_an_empty_tape_is_whole(tmp_path: Path) -> None:
    _write(tmp_path / "tape", [])
    reader = TapeReader(tmp_path / "tape")
    assert list(reader) == []
    assert reader.whole


def test_a_tape_cut_anywhere_gives_the_whole_records_before_the_cut(
    tape: Path, tmp_path: Path
) -> None:
    data, borders = tape.read_bytes(), _borders()
    assert borders[-1] == len(data)
    cut = tmp_path / "cut"
    for length in range(START, len(data)):
        cut.write_bytes(data[:length])
        reader = TapeReader(cut)
        expected = sum(border <= length for border in borders[1:])
        assert list(reader) == RECORDS[:expected]
        assert reader.whole == (length in borders)
        assert (
            reader.whole
            or f"in the middle of a record, after {expected} whole ones" in reader.sentence
        )


def test_a_damaged_byte_is_noticed_wherever_it_is(tape: Path, tmp_path: Path) -> None:
    data, borders = bytearray(tape.read_bytes()), _borders()
    damaged = tmp_path / "damaged"
    for place in range(START, len(data)):
        for flip in (0x01, 0x80, 0xFF):
            data[place] ^= flip
            damaged.write_bytes(data)
            data[place] ^= flip
            reader = TapeReader(damaged)
            assert list(reader) == RECORDS[: sum(border <= place for border in borders[1:])]
            assert not reader.whole
            assert str(damaged) in reader.sentence


def test_records_left_out_repeated_or_moved_are_noticed(tape: Path) -> None:
    data, borders = tape.read_bytes(), _borders()
    parts = [data[start:end] for start, end in pairwise(borders)]
    for order, expected in {
        (0, 2, 3): 1,
        (0, 1, 1, 2): 2,
        (1, 0, 2): 0,
        (0, 4): 1,
        (0, 1, 2, 3, 1): 4,
    }.items():
        tape.write_bytes(data[:START] + b"".join(parts[place] for place in order))
        reader = TapeReader(tape)
        assert list(reader) == RECORDS[:expected]
        assert (
            f"damaged at byte {START + sum(len(parts[place]) for place in order[:expected])}"
            in reader.sentence
        )


def test_zeros_behind_the_end_are_no_records(tape: Path) -> None:
    """What a file system may leave after a power cut."""
    with tape.open("ab") as file:
        file.write(bytes(4096))
    reader = TapeReader(tape)
    assert list(reader) == RECORDS
    assert "damaged" in reader.sentence


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (b"", "is not a tape"),
        (b"mbtape", "is not a tape"),
        (b"\x89PNG....", "is not a tape"),
        (b"mbtape\2\0", "has version 2, this Minibrains reads 1; update"),
    ],
)
def test_what_is_no_tape_is_refused(tmp_path: Path, start: bytes, sentence: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(start)
    with pytest.raises(MinibrainsError, match=sentence):
        TapeReader(path)


def test_what_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match="cannot be read: No such file"):
        TapeReader(tmp_path / "none")


def test_a_tape_is_never_written_over(tape: Path) -> None:
    with pytest.raises(RunError, match="cannot be made: File exists"):
        TapeWriter(tape)
    assert list(TapeReader(tape)) == RECORDS


def test_a_length_beyond_the_file_allocates_nothing(tape: Path) -> None:
    with tape.open("ab") as file:
        file.write(b"\xff" * 8)
    reader = TapeReader(tape)
    assert list(reader) == RECORDS
    assert "in the middle" in reader.sentence


def test_a_record_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.tape.tape_file.LONGEST", 10)
    writer = TapeWriter(tmp_path / "tape")
    writer.append(bytes(10))
    with pytest.raises(RunError, match="at most 10 bytes; this one has 11"):
        writer.append(bytes(11))
    writer.close()
    assert list(TapeReader(tmp_path / "tape")) == [bytes(10)]


def _python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


WRITES_FOR_EVER = """
import sys
from itertools import count
from pathlib import Path
from minibrains.tape.tape_file import TapeWriter
writer = TapeWriter(Path(sys.argv[1]))
for number in count():
    writer.append(f"{number} ".encode() * (number % 1000 + 1))
    print(number, flush=True)
"""


def test_what_was_appended_survives_kill_9(tmp_path: Path) -> None:
    with _python(WRITES_FOR_EVER, tmp_path / "tape") as child:
        assert child.stdout is not None
        while child.stdout.readline() != "500\n":
            pass
        os.kill(child.pid, signal.SIGKILL)
        # the last line that was printed whole
        acknowledged = int((["500", *child.stdout.read().split("\n")[:-1]])[-1])
    assert child.returncode == -signal.SIGKILL
    records = list(TapeReader(tmp_path / "tape"))
    assert len(records) >= acknowledged + 1
    assert records == [
        f"{number} ".encode() * (number % 1000 + 1) for number in range(len(records))
    ]


FILLS_ITS_LIMIT = """
import resource, signal, sys
from pathlib import Path
from minibrains.errors import RunError
from minibrains.tape.tape_file import TapeReader, TapeWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
writer = TapeWriter(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        while True:
            writer.append(bytes(100))
    except RunError as error:
        print(error)
    reader = TapeReader(path)
    print(len(list(reader)), reader.whole, path.stat().st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append(b"there is room again")
writer.close()
"""


def test_a_full_disk_leaves_whole_records(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: like it,
    it first takes a part of a record.
    """
    path = tmp_path / "tape"
    with _python(FILLS_ITS_LIMIT, path) as child:
        out, err = child.communicate(timeout=TIMEOUT)
    assert child.returncode == 0, err
    sentence, state, *again = out.splitlines()
    assert sentence.startswith(
        f"the tape {path} cannot be written: File too large; it ends with its record 9"
    )
    assert state == f"9 True {START + 9 * 108}"
    assert again == [sentence, state]
    reader = TapeReader(path)
    assert list(reader) == [bytes(100)] * 9 + [b"there is room again"]
    assert reader.whole


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_a_disk_that_is_full_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *arguments, **more: real("/dev/full", os.O_WRONLY))
    with pytest.raises(RunError, match="cannot be written: No space left on device"):
        TapeWriter(tmp_path / "tape")


@pytest.mark.parametrize(
    "event",
    [
        Event(0, "", "header", {"seed": 3, "workflow": "duel"}),
        Event(12, "console", "input", np.arange(6, dtype=np.uint8).reshape(2, 3)),
        Event(2**40, "a", "snapshot", b"\0\1"),
    ],
    ids=lambda event: event.kind,
)
def test_an_event_is_a_record(event: Event) -> None:
    back = Event.decode(event.encode())
    assert type(back) is Event
    assert back[:3] == event[:3]
    assert np.array_equal(back.value, event.value)


@pytest.mark.parametrize(
    "record",
    [
        *(
            b"",
            b"junk",
            pack(None),
            pack([]),
            pack([1, "a", "input"]),
            pack([1, "a", "input", 0, 0]),
        ),
        *(
            pack([-1, "a", "input", 0]),
            pack([True, "a", "input", 0]),
            pack([1, 2, "input", 0]),
            pack([1, "a", "news", 0]),
        ),
        pack({0: 1, 1: "a", 2: "input", 3: 0}),
    ],
)
def test_a_record_that_is_no_event_is_refused(record: bytes) -> None:
    with pytest.raises(MinibrainsError, match="a record of the tape is not an event"):
        Event.decode(record)
