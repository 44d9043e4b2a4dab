"""Locks between processes, which the system releases when a process ends, however that happens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOCKED_BYTE: Final = 1 << 20
"""The byte that is locked on Windows, where a locked byte cannot be read; what is written into a
locked file is at its beginning."""
_RETRY: Final = 0.05
"""Seconds between two tries on Windows, which cannot wait for a lock."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, waiting while another process or thread holds it.

    Args:
        path: The file, which is made if it is not there. It stays when the lock is released.

    Raises:
        OSError: It cannot be made.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform == "win32":
            while not _tried(file):
                time.sleep(_RETRY)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def lock_now(file: int) -> None:
    """Lock an open file. Raises OSError if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _tried(file: int) -> bool:
    try:
        lock_now(file)
    except OSError:
        return False
    return True
