"""What is kept from one process to the next: files in one folder, of which the least recently used go first."""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from minibrains.codec import pack, unpack
from minibrains.errors import MinibrainsError
from minibrains.files import home, write_whole

BUDGET: Final = 2 << 30
"""Bytes that the cache may take, if nobody says otherwise."""
BUDGET_VARIABLE: Final = "MINIBRAINS_CACHE_MB"
LEAST: Final = 1 << 14
"""Bytes that an entry counts for at least: so there are never more files than can be looked through."""
_DIGEST: Final = hashlib.sha256().digest_size
_SECONDS: Final = struct.Struct("<d")
_ABANDONED: Final = 3600.0
"""Seconds after which nobody is going to finish a file that was begun."""


class Made(NamedTuple):
    """Something that took time to make."""

    value: Any
    seconds: float


class DiskCache:
    """Values by key. Any number of processes may use the folder at once.

    An entry is written under another name, flushed and renamed. It begins with the SHA-256 of the rest: one that is damaged
    counts as missing. It is no pickle, and reading it runs no code.
    """

    def __init__(self, folder: Path, budget: int = BUDGET) -> None:
        """`budget`: bytes on the disk; with 0 nothing is kept, and nothing found."""
        self.folder = folder
        self.budget = budget

    def get(self, key: str) -> Made:
        """Return what was kept. Raises KeyError if it is not there, or not whole."""
        if not self.budget:
            raise KeyError(key)
        file = self.folder / key
        try:
            made = _read(file)
        except (OSError, ValueError):
            raise KeyError(key) from None
        with suppress(OSError):  # the disk may be read-only
            os.utime(file)
        return made

    def put(self, key: str, made: Made) -> None:
        """Keep a value, unless it is larger than the budget, or the disk is full.

        Args:
            key: A name that a file can have: a SHA-256 of everything that the value follows from.
            made: The value, of the kinds that `minibrains.codec` can pack, and what it took to make.

        Raises:
            TypeError: The value cannot be packed.
        """
        content = _SECONDS.pack(made.seconds) + pack(made.value)
        if len(content) > self.budget:
            return
        with suppress(OSError):  # that costs time, not the run
            write_whole(self.folder / key, hashlib.sha256(content).digest() + content)
            self._sweep()

    def _sweep(self) -> None:
        """Remove what was not used for longest until the rest is within the budget."""
        entries = sorted(self._entries())
        over = sum(size for _, size, _ in entries) - self.budget
        for _, size, file in entries:
            if over <= 0:
                return
            file.unlink(missing_ok=True)
            over -= size

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """Yield when each entry was last used, what it counts for, and its file."""
        for file in self.folder.iterdir():
            try:
                stat = file.stat()
            except FileNotFoundError:
                continue  # another process has removed it
            is_unfinished = file.name.startswith(".")
            if not is_unfinished or time.time() - stat.st_mtime > _ABANDONED:
                yield stat.st_mtime, max(stat.st_size, LEAST), file


def disk_cache() -> DiskCache:
    """Return the person's own: the folder `cache` in $MINIBRAINS_HOME or ~/.minibrains, of $MINIBRAINS_CACHE_MB megabytes.

    Raises:
        MinibrainsError: The variable is no number.
    """
    text = os.environ.get(BUDGET_VARIABLE)
    budget = BUDGET
    if text:
        if not text.isascii() or not text.isdigit():
            raise MinibrainsError(f"{BUDGET_VARIABLE} is {text!r}; expected a whole number of megabytes, 0 to keep nothing")
        budget = int(text) << 20
    return DiskCache(home() / "cache", budget)


def _read(file: Path) -> Made:
    """Raises OSError, or ValueError if it is not what was written."""
    data = file.read_bytes()
    content = data[_DIGEST:]
    if hashlib.sha256(content).digest() != data[:_DIGEST]:
        raise ValueError("the file is damaged")
    (seconds,) = _SECONDS.unpack_from(content)
    return Made(unpack(content[_SECONDS.size :]), seconds)
