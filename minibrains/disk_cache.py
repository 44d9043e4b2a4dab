"""A cache that outlives the process: one folder of files,
from which the least recently used are removed first.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from minibrains.budgets import budget_of
from minibrains.codec import pack, unpack
from minibrains.files import home, write_atomic

BUDGET: Final = 2 << 30
"""Default size limit of the cache, in bytes."""
BUDGET_VARIABLE: Final = "MINIBRAINS_CACHE_MB"
MIN_ENTRY_BYTES: Final = 1 << 14
"""The least that an entry counts for, in bytes: this bounds the number of files in the folder."""
_DIGEST_BYTES: Final = hashlib.sha256().digest_size
_SECONDS: Final = struct.Struct("<d")
_ABANDONED: Final = 3600.0
"""Age in seconds from which an unfinished file counts as abandoned."""


class Made(NamedTuple):
    """A value, and the seconds that it took to make."""

    value: Any
    seconds: float


class DiskCache:
    """Values by key. Any number of processes may use the folder at once.

    An entry is written under another name, flushed and renamed. It begins with a SHA-256 of its key
    and of the rest: one that is damaged, or another key's, counts as missing. It is not a pickle,
    and reading it runs no code.
    """

    def __init__(self, folder: Path, budget: int = BUDGET) -> None:
        """Use `folder`, and at most `budget` bytes of disk; with 0, nothing is kept or found."""
        self.folder = folder
        self.budget = budget

    def get(self, key: str, kind: type = object) -> Made:
        """Return the entry of a key, and mark it as used.

        Args:
            key: The key that was given to `put`.
            kind: The class that the value must have.

        Raises:
            KeyError: There is no such entry, it is damaged, or its value is of another class.
        """
        if not self.budget:
            raise KeyError(key)
        file = self.folder / key
        try:
            made = _read(file)
        except Exception:  # whatever is in the file, the value can be made again
            raise KeyError(key) from None
        if not isinstance(made.value, kind):
            raise KeyError(key)
        with suppress(OSError):  # the disk may be read-only
            os.utime(file)
        return made

    def put(self, key: str, made: Made) -> None:
        """Keep a value, unless it is larger than the budget, or the disk is full.

        Args:
            key: A name that a file can have: a SHA-256 of everything that the value follows from.
            made: The value, of the kinds that `minibrains.codec` can pack, and what it took to
                make.

        Raises:
            TypeError: The value cannot be packed.
        """
        content = _SECONDS.pack(made.seconds) + pack(made.value)
        if len(content) > self.budget:
            return
        with suppress(OSError):  # an entry that is not kept costs time, but must not end the run
            write_atomic(self.folder / key, _hash(key, content) + content)
            self._sweep()

    def _sweep(self) -> None:
        """Remove the least recently used entries until the rest is within the budget."""
        entries = sorted(self._entries())
        over = sum(size for _, size, _ in entries) - self.budget
        for _, size, file in entries:
            if over <= 0:
                return
            with suppress(OSError):  # it belongs to another user
                file.unlink(missing_ok=True)
                over -= size

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """Yield the time of last use, the bytes that count, and the file of each entry."""
        for file in self.folder.iterdir():
            try:
                found = file.stat()
            except OSError:
                continue  # another process has removed it
            if not stat.S_ISREG(found.st_mode):
                continue  # not an entry of ours
            is_unfinished = file.name.startswith(".")
            if not is_unfinished or time.time() - found.st_mtime > _ABANDONED:
                yield found.st_mtime, max(found.st_size, MIN_ENTRY_BYTES), file


def disk_cache() -> DiskCache:
    """Return the user's cache: the folder `cache` in $MINIBRAINS_HOME or ~/.minibrains,
    of $MINIBRAINS_CACHE_MB megabytes.

    Raises:
        MinibrainsError: The variable is not a number, or larger than any disk.
    """
    return DiskCache(home() / "cache", budget_of(BUDGET_VARIABLE, BUDGET))


def _read(file: Path) -> Made:
    """Return the entry in a file. On a damaged file it may raise anything."""
    if not file.is_file():
        raise ValueError("it is a folder, or a pipe that nobody may ever write to")
    data = file.read_bytes()
    content = data[_DIGEST_BYTES:]
    if _hash(file.name, content) != data[:_DIGEST_BYTES]:
        raise ValueError("the file is damaged, or another key's")
    (seconds,) = _SECONDS.unpack_from(content)
    return Made(unpack(content[_SECONDS.size :]), seconds)


def _hash(key: str, content: bytes) -> bytes:
    # no name of a file has a zero byte
    return hashlib.sha256(key.encode() + b"\0" + content).digest()
