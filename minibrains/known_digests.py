"""The SHA-256 of large files, kept on disk,
because hashing gigabytes at each start would take seconds.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Final, NamedTuple

from minibrains.disk_cache import Made, disk_cache
from minibrains.savings import tell_saving

LARGE_FILE: Final = 64 << 20
"""Size in bytes from which hashing a file takes longer than looking its hash up."""
_STABLE_AGE_NS: Final = 2_000_000_000
"""Age in nanoseconds from which a file's times reveal any later change, on every file system."""


class FileKey(NamedTuple):
    """Identifies the content of a file: it changes with the content, but not with the name."""

    device: int
    inode: int
    size: int
    """Size in bytes."""
    modified: int
    """The time of the last change in ns."""

    @classmethod
    def of(cls, stat: os.stat_result) -> FileKey:
        """Return the key of a file from its status."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class FileState(NamedTuple):
    """A FileKey, and a time that changes even if the modification time is set back."""

    key: FileKey
    changed: int
    """The time of the last change of content or metadata in ns, which no program can set."""

    @classmethod
    def of(cls, file: Path | int) -> FileState:
        """Return the state of a file. Raises OSError."""
        stat = os.stat(file)
        return cls(FileKey.of(stat), stat.st_ctime_ns)

    @property
    def is_large(self) -> bool:
        """True if hashing the file takes longer than looking its hash up."""
        return self.key.size >= LARGE_FILE


def find_digest(path: Path, state: FileState) -> str | None:
    """Return the SHA-256 of a large file in this state; None if it was not kept."""
    if not state.is_large:
        return None
    try:
        digest, seconds = disk_cache().get(_key(path, state), str)
    except KeyError:
        return None
    tell_saving(f"the SHA-256 of {path.name}", seconds)
    return str(digest)


def keep_digest(path: Path, state: FileState, digest: str, seconds: float) -> None:
    """Keep the SHA-256 of a large file, which had this state before it was hashed in `seconds`."""
    newest = max(state.key.modified, state.changed)
    # a file that was written just now may change again without a change of its times
    is_old_enough = time.time_ns() - newest > _STABLE_AGE_NS
    if state.is_large and is_old_enough:
        disk_cache().put(_key(path, state), Made(digest, seconds))


def _key(path: Path, state: FileState) -> str:
    return hashlib.sha256(repr(("digest", str(path.absolute()), tuple(state))).encode()).hexdigest()
