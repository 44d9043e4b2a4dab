"""The SHA-256 of large files, kept on the disk: who hashes gigabytes at each start waits for seconds."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Final, NamedTuple

from minibrains.disk_cache import Made, disk_cache
from minibrains.savings import tell_saving

LARGE_FILE: Final = 64 << 20
"""Bytes from which on it takes longer to hash a file than to look its hash up."""
_SETTLED_NS: Final = 2_000_000_000
"""Nanoseconds after which a file's times tell whether it was changed, on any file system."""


class FileKey(NamedTuple):
    """Tells whether a file still holds the same: another content changes it, another name does not."""

    device: int
    inode: int
    size: int
    """Bytes."""
    modified: int
    """The time of the last change in ns."""

    @classmethod
    def of(cls, stat: os.stat_result) -> FileKey:
        """Return the key of a file that was looked at."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class FileState(NamedTuple):
    """The key, and what changes even when somebody sets the modification time back."""

    key: FileKey
    changed: int
    """The time of the last change of anything about it in ns; nobody can set it."""

    @classmethod
    def of(cls, file: Path | int) -> FileState:
        """Return the state of a file. Raises OSError."""
        stat = os.stat(file)
        return cls(FileKey.of(stat), stat.st_ctime_ns)

    @property
    def is_large(self) -> bool:
        """Whether hashing it takes longer than looking its hash up."""
        return self.key.size >= LARGE_FILE


def find_digest(path: Path, state: FileState) -> str | None:
    """Return the SHA-256 of a large file in this state, if it was kept."""
    if not state.is_large:
        return None
    try:
        digest, seconds = disk_cache().get(_key(path, state), str)
    except KeyError:
        return None
    tell_saving(f"the SHA-256 of {path.name}", seconds)
    return str(digest)


def keep_digest(path: Path, state: FileState, digest: str, seconds: float) -> None:
    """Keep the SHA-256 of a large file, which had this state before it was read and took so long."""
    newest = max(state.key.modified, state.changed)
    # one that is written to just now may change once more without its times
    is_settled = time.time_ns() - newest > _SETTLED_NS
    if state.is_large and is_settled:
        disk_cache().put(_key(path, state), Made(digest, seconds))


def _key(path: Path, state: FileState) -> str:
    return hashlib.sha256(repr(("digest", str(path.absolute()), tuple(state))).encode()).hexdigest()
