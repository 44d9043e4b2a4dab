"""The cache on the disk: whole or missing, within its budget, for several processes at once,
and the same numbers either way.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import MinibrainsError
from minibrains.brain_file import hash_file
from minibrains.disk_cache import BUDGET, MIN_ENTRY_BYTES, DiskCache, Made, disk_cache
from minibrains.known_digests import LARGE_FILE
from minibrains.savings import Savings
from tests.support.timeouts import TIMEOUT

BIG = np.zeros(4 * MIN_ENTRY_BYTES, np.uint8)
"""An entry of this is a little more than four of the smallest."""


def _names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_a_value_is_found_again_with_the_time_it_took(tmp_path: Path) -> None:
    value = {"array": BIG, "words": ["a", ("b", 1)]}
    DiskCache(tmp_path).put("key", Made(value, 1.5))
    found, seconds = DiskCache(tmp_path).get("key")
    assert (found["words"], seconds) == (value["words"], 1.5)
    assert np.array_equal(found["array"], BIG)
    with pytest.raises(KeyError):
        DiskCache(tmp_path).get("other")


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "longer", "a folder", "a pipe"])
def test_what_is_damaged_is_missing_and_can_be_put_again(damage: str, tmp_path: Path) -> None:
    cache, file = DiskCache(tmp_path), tmp_path / "key"
    cache.put("key", Made("value", 0.0))
    data = file.read_bytes()
    flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage == "a pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(
            {"cut": data[:-5], "empty": b"", "flipped": flipped, "longer": data + b"\0"}[damage]
        )
    with pytest.raises(KeyError):
        cache.get("key")
    cache.put("key", Made("value", 0.0))
    if damage != "a folder":
        assert cache.get("key").value == "value"


@pytest.mark.parametrize(
    "content", [b"", b"1234567", b"12345678", b"12345678\xc1", b"12345678" + b"\x91" * 100_000]
)
def test_what_nobody_packed_is_missing_even_if_its_hash_is_right(
    content: bytes, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"key\0" + content).digest()
    (tmp_path / "key").write_bytes(digest + content)
    with pytest.raises(KeyError):
        DiskCache(tmp_path).get("key")


def test_an_entry_under_another_key_or_of_another_class_is_missing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put("key", Made("value", 0.0))
    shutil.copy(tmp_path / "key", tmp_path / "other")
    with pytest.raises(KeyError):
        cache.get("other")
    with pytest.raises(KeyError):
        cache.get("key", int)
    assert cache.get("key", str).value == "value"


def test_what_cannot_be_removed_keeps_no_other_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder, a pipe and a file of another person, all older than the entries."""
    unlink = Path.unlink

    def refuse(file: Path, missing_ok: bool = False) -> None:
        if file.name == "another's":
            raise PermissionError(file)
        unlink(file, missing_ok)

    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "another's").write_bytes(b"")
    for name in _names(tmp_path):
        os.utime(tmp_path / name, (1000, 1000))
    monkeypatch.setattr(Path, "unlink", refuse)
    cache = DiskCache(tmp_path, budget=10 * MIN_ENTRY_BYTES)
    for age, name in enumerate("abc"):
        cache.put(name, Made(BIG, 0.0))
        if (tmp_path / name).exists():
            os.utime(tmp_path / name, (2000 + age, 2000 + age))
    assert _names(tmp_path) == {"folder", "pipe", "another's", "b", "c"}


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, budget=10 * MIN_ENTRY_BYTES)
    for age, name in enumerate("abc"):
        cache.put(name, Made(BIG, 0.0))
        if (tmp_path / name).exists():
            os.utime(tmp_path / name, (1000 + age, 1000 + age))
    assert _names(tmp_path) == {"b", "c"}
    DiskCache(tmp_path, budget=10 * MIN_ENTRY_BYTES).get("b")  # used: not the oldest any more
    cache.put("d", Made(BIG, 0.0))
    assert _names(tmp_path) == {"b", "d"}
    cache.put("large", Made(np.zeros(11 * MIN_ENTRY_BYTES, np.uint8), 0.0))
    assert _names(tmp_path) == {"b", "d"}, "what is larger than all of it is not kept"


def test_small_entries_are_never_too_many_to_look_through(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, budget=5 * MIN_ENTRY_BYTES)
    for number in range(20):
        cache.put(str(number), Made(number, 0.0))
    assert len(_names(tmp_path)) == 5


def test_a_file_that_another_process_is_writing_is_left_alone_and_an_abandoned_one_goes(
    tmp_path: Path,
) -> None:
    for name, age in ((".new.12345678", 0), (".old.12345678", 7200)):
        (tmp_path / name).write_bytes(bytes(BIG))
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    DiskCache(tmp_path, budget=5 * MIN_ENTRY_BYTES).put("key", Made(BIG, 0.0))
    assert _names(tmp_path) == {".new.12345678", "key"}


def test_without_a_budget_nothing_is_kept_and_nothing_found(tmp_path: Path) -> None:
    DiskCache(tmp_path).put("key", Made("value", 0.0))
    cache = DiskCache(tmp_path, budget=0)
    cache.put("other", Made("value", 0.0))
    with pytest.raises(KeyError):
        cache.get("key")
    assert _names(tmp_path) == {"key"}


def test_its_place_and_size_are_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path))
    assert (disk_cache().folder, disk_cache().budget) == (tmp_path / "cache", BUDGET)
    monkeypatch.setenv("MINIBRAINS_CACHE_MB", "3")
    assert disk_cache().budget == 3 << 20


@pytest.mark.parametrize(
    ("text", "said"), [("2 GB", "2 GB"), ("-1", "-1"), ("²", "²"), ("1" * 5000, "1" * 40)]
)
def test_a_size_that_is_no_number_of_megabytes_is_a_sentence(
    text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_CACHE_MB", text)
    with pytest.raises(MinibrainsError) as raised:
        disk_cache()
    expected = "expected a whole number of megabytes, of 15 digits at most, 0 to keep nothing"
    assert str(raised.value) == f"MINIBRAINS_CACHE_MB is '{said}'; {expected}"


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    """Each writes and reads the same keys in a budget that is too small for all:
    whatever is found is whole.
    """
    program = f"""
        import sys
        import numpy as np
        from pathlib import Path
        from minibrains.disk_cache import MIN_ENTRY_BYTES, DiskCache, Made
        cache = DiskCache(Path({str(tmp_path)!r}), budget=8 * MIN_ENTRY_BYTES)
        found = 0
        for turn in range(60):
            number = turn % 12
            try:
                value = cache.get(str(number)).value
                assert (value == number).all() and value.shape == (MIN_ENTRY_BYTES,)
                found += 1
            except KeyError:
                cache.put(str(number), Made(np.full(MIN_ENTRY_BYTES, number, np.uint8), 0.0))
        print(found)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in processes:
        _, complaints = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, complaints) == (0, "")
    cache = DiskCache(tmp_path, budget=8 * MIN_ENTRY_BYTES)
    cache.put("last", Made(None, 0.0))
    assert (
        sum(max(file.stat().st_size, MIN_ENTRY_BYTES) for file in tmp_path.iterdir())
        <= cache.budget
    )
    assert not [name for name in _names(tmp_path) if name.startswith(".")]


# -- digests ---------------------------------------------------------------------------------------


def _age(file: Path) -> None:
    """Wait until the file's times say whether it was changed."""
    while time.time_ns() - file.stat().st_ctime_ns < 2_100_000_000:
        time.sleep(0.05)


def _hash_anew(file: Path, still_new: bool = False) -> tuple[str, Savings]:
    """Return what another process makes of a file, and what a cache saved it.

    `still_new`: however long it takes to begin, to it the file was written just now.
    """
    program = """
        import json, sys
        from pathlib import Path
        from minibrains import known_digests
        from minibrains.brain_file import hash_file
        from minibrains.savings import collect_savings
        if sys.argv[2] == "still new":
            known_digests._STABLE_AGE_NS = 10**18
        with collect_savings(savings := {}):
            digest = hash_file(Path(sys.argv[1]))
        print(json.dumps([digest, savings]))
    """
    age = "still new" if still_new else "as it is"
    command = [sys.executable, "-c", textwrap.dedent(program), str(file), age]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    digest, savings = json.loads(done.stdout)
    return digest, savings


def test_a_large_file_is_hashed_once_by_all_processes_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    large, small = tmp_path / "large", tmp_path / "small"
    for file, size in ((large, LARGE_FILE), (small, 1000)):
        with file.open("wb") as opened:
            opened.truncate(size)
    _age(large)
    digests = [_hash_anew(large) for _ in range(2)]
    assert digests[0][0] == digests[1][0] == hash_file(large)
    assert digests[0][1] == {}
    assert digests[1][1].keys() == {"the SHA-256 of large"}
    before = large.stat()
    with large.open("r+b") as opened:
        opened.write(b"changed")
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed, savings = _hash_anew(large, still_new=True)
    assert changed != digests[0][0]
    assert savings == {}
    _hash_anew(small)
    assert len(_names(tmp_path / "home" / "cache")) == 1, (
        "small ones are hashed sooner than looked up, new ones may still change"
    )


def test_a_foreign_digest_is_not_taken_for_a_files_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "home" / "cache"
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    entries: list[Any] = []
    files = [tmp_path / "one", tmp_path / "two"]
    for size, file in enumerate(files):
        with file.open("wb") as opened:
            opened.truncate(LARGE_FILE + size)
    _age(files[-1])
    for file in files:
        before = _names(folder) if folder.exists() else set()
        _hash_anew(file)
        entries += _names(folder) - before
    right, _ = _hash_anew(files[1])
    shutil.copy(folder / entries[0], folder / entries[1])
    assert _hash_anew(files[1]) == (right, {})
    DiskCache(folder).put(entries[1], Made(0, 0.0))
    assert _hash_anew(files[1]) == (right, {})
    damage = hashlib.sha256(b"").digest()
    (folder / entries[1]).write_bytes(damage)
    assert _hash_anew(files[1]) == (right, {})


# -- a run -----------------------------------------------------------------------------------------

PACK = '''
from typing import Annotated

import numpy as np

from minibrains import Episode, Node, Pad, Socket

Row = Annotated[np.ndarray, Socket("row", "f32[n]")]


class Table(Node, cache_on_disk=True):
    """Numbers that take a while."""

    def tick(self) -> Row:
        row = np.ones(100, np.float32)
        for _ in range(20000):
            row = row * np.float32(1.001) % np.float32(7.0) + np.arange(100, dtype=np.float32) / 99
        return row


class Presses(Node, every_tick=True):
    """Buttons by one number of it after the other."""

    def reset(self, episode: Episode) -> None:
        self.place = 0

    def tick(self, row: Row) -> Pad:
        self.place = (self.place + 1) % 100
        return (("LEFT", "RIGHT", "B", "C")[int(row[self.place] * 1000) % 4],)
'''


def test_a_run_says_what_it_found_and_comes_to_the_same_without_it(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "table.py").write_text(PACK)
    nodes = {
        "table": {"type": "table.Table@1"},
        "presses": {"type": "table.Presses@1", "in": {"row": "table.row"}},
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": ["Duel-Genesis"]},
            "in": {"pad1": "presses.pad"},
        },
    }
    (tmp_path / "table.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))

    def play(**env: str) -> dict[str, Any]:
        return summary("./table.json", "--pack", "table.py", "--ticks", 90, env=env)

    cold, warm = play(), play()
    (entry,) = (tmp_path / "home" / "cache").iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    damaged, mended, off = play(), play(), play(MINIBRAINS_CACHE_MB="0")
    runs = [cold, warm, damaged, mended, off]
    assert len({run["actions_sha256"] for run in runs}) == 1
    assert ["cache" in run for run in runs] == [False, True, False, True, False]
    (answer,) = warm["cache"]["answers"]
    assert (answer["node"], answer["what"]) == ("table", "its result")
    assert warm["cache"]["saved_s"] == answer["saved_s"] > 0
    assert (warm["nodes"]["table"]["runs"], warm["nodes"]["table"]["cached"]) == (0, 1)
