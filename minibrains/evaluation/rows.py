"""The episodes of one player, stored as they end,
so that an interrupted evaluation can be resumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minibrains.errors import MinibrainsError, RunError


class Rows:
    """An append-only file of JSON lines: first the identity of the player,
    then one episode a line.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Open the file, or create it.

        Args:
            path: The file.
            identity: Everything that determines the player's games, which becomes the first line of
                a new file.

        Raises:
            MinibrainsError: The file cannot be read or written.
        """
        self.path = path
        self.episodes: dict[int, dict[str, Any]] = {}
        """The episodes by number, from 0. One that was written twice, by two evaluations at once,
        counts once."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = ""
            if path.exists():
                text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from None
        self.episodes.update(_episodes(text))
        if not text:
            self._append(dict(identity))
        elif not text.endswith("\n"):
            self._write("\n")  # the last line is incomplete, and is left as it is

    def append(self, episode: int, row: Mapping[str, Any]) -> None:
        """Append an episode. Once this returns, the row survives the end of this process.

        Args:
            episode: The number of the episode, from 0.
            row: Its results.

        Raises:
            RunError: The file cannot be written.
        """
        whole = {"episode": episode, **row}
        self._append(whole)
        self.episodes[episode] = whole

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            self._write(json.dumps(line) + "\n")
        except (TypeError, ValueError) as error:
            raise RunError(f"{self.path} cannot be written: {error}") from error

    def _write(self, text: str) -> None:
        try:
            with self.path.open("ab", buffering=0) as file:
                file.write(text.encode())
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror or error}") from None


def read_rows(path: Path) -> dict[int, dict[str, Any]]:
    """Return the episodes of a file by number. Raises MinibrainsError if it cannot be read."""
    try:
        return _episodes(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> MinibrainsError:
    return MinibrainsError(f"{path}: the episodes played so far cannot be read: {error}")


def _episodes(text: str) -> dict[int, dict[str, Any]]:
    episodes: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        row = _read(line)
        if row is not None and type(row.get("episode")) is int:
            episodes.setdefault(row["episode"], row)
    return episodes


def _read(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None  # incomplete
    return row if isinstance(row, dict) else None
