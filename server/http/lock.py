"""A lock for the data folder: two servers would not see each other's saves, runs and queue."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from minibrains.errors import MinibrainsError
from minibrains.file_lock import lock_now

_NAME: Final = "server.lock"


class FolderLock:
    """A lock on a folder. The system releases it when the process ends, however that happens."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Raises MinibrainsError if another server has it."""
        path = folder / _NAME
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise MinibrainsError(f"{path} cannot be opened: {error.strerror or error}") from None
        try:
            lock_now(self._file)
        except (BlockingIOError, PermissionError):
            holder = _describe_holder(self._file)
            os.close(self._file)
            raise MinibrainsError(
                f"another server uses the data folder {folder}: {holder}. End that one, "
                "or choose another --data"
            ) from None
        except OSError as error:
            os.close(self._file)
            raise MinibrainsError(
                f"{path} cannot be locked: {error.strerror or error}. Choose another --data"
            ) from None
        self._write({"pid": os.getpid()})

    def announce(self, address: str) -> None:
        """Write this server's address into the lock file."""
        self._write({"pid": os.getpid(), "address": address})

    def release(self) -> None:
        """Release the lock."""
        self._write({})
        os.close(self._file)

    def _write(self, owner: dict[str, Any]) -> None:
        with suppress(OSError):  # a full disk: the lock itself needs no space
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, json.dumps(owner).encode())


def _describe_holder(file: int) -> str:
    try:
        os.lseek(file, 0, os.SEEK_SET)
        owner = json.loads(os.read(file, 1000))
        process = f"process {owner['pid']}"
    except (OSError, ValueError, KeyError):
        return "it has not said which one yet"
    if "address" in owner:
        return f"{process}, at {owner['address']}"
    return process
