"""Requests that wait, one file each, so that they survive the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minibrains.files import sync_folders, write_atomic


class PendingRequests:
    """A folder with a file for each run that has not begun, in the order of the requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, sequence: int, request: Mapping[str, Any]) -> None:
        """Write a request. Raises OSError."""
        write_atomic(self._path(sequence), json.dumps(request))

    def remove(self, *sequences: int) -> None:
        """Remove requests that begin or were cancelled. Raises OSError."""
        for sequence in sequences:
            self._path(sequence).unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # the folder was removed, so no request can come back
            sync_folders(self._folder)

    def sequences(self) -> list[int]:
        """Return the numbers of all requests."""
        sequences: list[int] = []
        for path in self._folder.glob("*.json"):
            if path.stem.isdecimal():
                sequences.append(int(path.stem))
        return sorted(sequences)

    def read(self, sequence: int) -> Any:
        """Return a request. Raises OSError and ValueError."""
        return json.loads(self._path(sequence).read_bytes())

    def _path(self, sequence: int) -> Path:
        return self._folder / f"{sequence:012}.json"
