"""The command `roms import`: find ROMs of known games in files, folders and zip archives,
and keep a copy of each.

A ROM is recognised by its SHA-1 alone; the name of its file, or its place in an archive, does not
matter.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from stable_retro.data import EMU_EXTENSIONS, groom_rom

from minibrains.errors import MinibrainsError
from minibrains.files import write_atomic
from minibrains.games.catalog import known_hashes, rom_folder
from server.cli import DONE
from server.terminal import printable, tell

SIZE_LIMIT: Final = 512 * 2**20
"""Size limit in bytes. Larger files, and archive members that unpack to more, are skipped."""
_UNREADABLE: Final = (
    OSError,
    ValueError,
    RuntimeError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""The exceptions of reading a file, or a damaged or encrypted member of an archive."""


def main(arguments: argparse.Namespace) -> int:
    """Import the ROMs that are found.

    Raises MinibrainsError if a path does not exist, or no known ROM is found.
    """
    search = RomImport()
    for path in arguments.paths:
        search.look_in(Path(path))
    for sentence in search.left_out:
        tell(sentence)
    if not search.imported and not search.already_there:
        raise MinibrainsError(
            f"no ROM of a known game is in {', '.join(arguments.paths)} (files looked at: "
            f"{search.looked_at}); "
            "expected unchanged dumps of games that stable-retro has data for"
        )
    if arguments.json:
        print(json.dumps(search.to_json()))
    else:
        print(printable("\n".join(search.describe())))
    return DONE


class RomImport:
    """A search for ROMs, which are copied to the ROM folder as they are found."""

    def __init__(self) -> None:
        self.imported: dict[str, Path] = {}
        """Game -> its new file."""
        self.already_there: dict[str, Path] = {}
        self.looked_at = 0
        self.left_out: list[str] = []
        self._games = known_hashes()

    def look_in(self, path: Path) -> None:
        """Search a file, a zip archive, or everything in a folder.

        Raises MinibrainsError if the path does not exist.
        """
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    self._look_at_file(file)
        elif path.is_file():
            self._look_at_file(path)
        else:
            raise MinibrainsError(f"{path}: there is no such file or folder to look for ROMs in")

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "imported": {game: str(rom) for game, rom in self.imported.items()},
            "already_there": {game: str(rom) for game, rom in self.already_there.items()},
            "looked_at": self.looked_at,
            "left_out": self.left_out,
        }

    def describe(self) -> Iterator[str]:
        """Yield the result for people, line by line."""
        for game in self.imported:
            yield f"imported       {game}"
        for game in self.already_there:
            yield f"already there  {game}"
        yield f"files looked at: {self.looked_at}; the ROMs are in {rom_folder()}"

    def _look_at_file(self, path: Path) -> None:
        with self._leaving_out(str(path)), path.open("rb") as file:
            if path.suffix.lower() == ".zip":
                self._look_into_archive(path, file)
            else:
                self._look_at(path.name, os.fstat(file.fileno()).st_size, file)

    def _look_into_archive(self, path: Path, file: IO[bytes]) -> None:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with (
                        self._leaving_out(f"{path}, {member.filename!r}"),
                        archive.open(member) as unpacked,
                    ):
                        self._look_at(member.filename, member.file_size, unpacked)

    def _look_at(self, name: str, size: int, file: IO[bytes]) -> None:
        self.looked_at += 1
        if size > SIZE_LIMIT:
            raise ValueError(f"it is larger than {SIZE_LIMIT >> 20} MiB")
        data, sha1 = groom_rom(name, file)
        game = self._games.get(sha1)
        if not game or game in self.imported:
            return
        suffix = _suffix(game)
        if suffix:
            self._keep(game, rom_folder() / game / f"rom{suffix}", data)

    def _keep(self, game: str, target: Path, data: bytes) -> None:
        if self._holds(target, game):
            self.already_there[game] = target
            return
        try:
            write_atomic(target, data)
        except OSError as error:
            raise MinibrainsError(
                f"{target}: the ROM cannot be written: {error.strerror or error}"
            ) from None
        self.imported[game] = target

    def _holds(self, target: Path, game: str) -> bool:
        """Return True if the target is a valid ROM of the game.

        It may be another edition, which is not replaced.
        """
        try:
            with target.open("rb") as file:
                return self._games.get(groom_rom(target.name, file)[1]) == game
        except (OSError, ValueError):
            return False

    @contextmanager
    def _leaving_out(self, what: str) -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as error:
            self.left_out.append(f"{what}: left out: {error}")


def _suffix(game: str) -> str | None:
    """Return the file suffix by which stable-retro recognises the game's console:
    Airstriker-Genesis-v0 -> .md.

    None for arcade games: their emulator needs the original file names, but the ROM folder has one
    `rom.*` a game.
    """
    match = re.search(r"-([A-Za-z0-9]+)(?:-v\d+)?$", game)
    if match:
        for suffix, console in EMU_EXTENSIONS.items():
            if console == match[1]:
                return str(suffix)
    return None
