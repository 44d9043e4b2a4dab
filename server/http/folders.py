"""The data folder, and names that stay inside of it."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Final

from minibrains.errors import MinibrainsError

_LONGEST: Final = 200
_STRANGE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')


class BadName(MinibrainsError):
    """A name that could lead out of its folder, or that not every system can write."""


class DataFolders:
    """`workflows/`, `models/`, `runs/`, `trash/` and `uploads/` below one folder."""

    def __init__(self, root: Path) -> None:
        """Make what is missing. Raises MinibrainsError if that cannot be done."""
        self.root = root.absolute()
        self.workflows, self.models, self.runs = self.root / "workflows", self.root / "models", self.root / "runs"
        self.trash, self.uploads = self.root / "trash", self.root / "uploads"
        try:
            for folder in (self.workflows, self.models, self.runs, self.trash, self.uploads):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MinibrainsError(f"the data folder {self.root} cannot be made: {error.strerror or error}") from None

    def workflow(self, name: str | None) -> Path | None:
        """Where the workflow of this name lies, or would, with or without its ending. Raises BadName."""
        return inside(self.workflows, f"{name.removesuffix('.json')}.json") if name else None

    def throw_away(self, path: Path) -> Path:
        """Move a file or folder into the trash; returns where it is now. Raises OSError."""
        stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{path.name}"
        for number in range(1000):
            place = self.trash / (f"{stem}-{number}" if number else stem)
            if not os.path.lexists(place):
                shutil.move(path, place)
                return place
        raise FileExistsError(f"{stem} is in the trash a thousand times")


def inside(folder: Path, name: str) -> Path:
    """`folder/name`, whether it exists or not. Raises BadName unless it is certain to stay within the folder."""
    parts = name.split("/")
    if len(name) > _LONGEST or _STRANGE.search(name) or any(part != part.strip() or part[:1] in ("", ".") for part in parts):
        raise BadName(f"the name {name[:_LONGEST]!r} cannot be used; expected folders and a file below {folder.name}/")
    path = folder.joinpath(*parts)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise BadName(f"{name!r} leads out of {folder.name}/ through a link; put the file itself there")
    return path
