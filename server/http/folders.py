"""The data folder, and checks that names stay inside of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from minibrains.errors import MinibrainsError
from minibrains.files import STRANGE, is_device_name, numbered_paths, sync_folders, timestamped

_LONGEST: Final = 200
"""Longest name in bytes. File names may have 255, and names derived from it, as of run folders, are
up to 30 longer."""


class BadName(MinibrainsError):
    """A name that could lead out of its folder, or that some system cannot write."""


class DataFolders:
    """`workflows/`, `parts/`, `models/`, `runs/`, `queue/`, `trash/` and `uploads/` below one
    folder.
    """

    def __init__(self, root: Path) -> None:
        """Create the missing folders. Raises MinibrainsError if that fails."""
        self.root = root.absolute()
        self.workflows, self.models, self.runs = (
            self.root / "workflows",
            self.root / "models",
            self.root / "runs",
        )
        self.evaluations = self.root / "evaluations"
        """The episodes and results of sweeps; made by the first one."""
        self.queue, self.trash, self.uploads = (
            self.root / "queue",
            self.root / "trash",
            self.root / "uploads",
        )
        self.parts = self.root / "parts"
        try:
            for folder in (
                self.workflows,
                self.parts,
                self.models,
                self.runs,
                self.queue,
                self.trash,
                self.uploads,
            ):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MinibrainsError(
                f"the data folder {self.root} cannot be made: {error.strerror or error}"
            ) from None

    def workflow(self, name: str | None) -> Path | None:
        """Return the path for a workflow's name, with or without suffix, whether it exists or not.

        Raises BadName.
        """
        if name:
            return inside(self.workflows, f"{name.removesuffix('.json')}.json")
        return None

    def throw_away(self, *paths: Path) -> None:
        """Move files or folders into the trash, and flush that to the disk. Raises OSError."""
        self.trash.mkdir(parents=True, exist_ok=True)
        for path in paths:
            shutil.move(path, self._place_in_trash(path))
        sync_folders(self.trash, *(path.parent for path in paths))

    def _place_in_trash(self, path: Path) -> Path:
        """Return a free path in the trash for a file or folder. Raises OSError."""
        candidates = numbered_paths(self.trash, timestamped(path.name))
        return next(target for target in candidates if not os.path.lexists(target))


def inside(folder: Path, name: str) -> Path:
    """Return `folder/name`, whether it exists or not.

    Raises BadName unless it is certain to stay within the folder.
    """
    parts = name.split("/")
    if not _can_be_encoded(name) or len(name.encode()) > _LONGEST:
        raise BadName(
            f"the name {name[:_LONGEST]!r} cannot be used; "
            f"expected at most {_LONGEST} bytes of UTF-8"
        )
    if any(map(STRANGE.search, parts)) or not all(map(_is_plain, parts)):
        raise BadName(
            f"the name {name!r} cannot be used; expected folders and a file below {folder.name}/"
        )
    if any(map(is_device_name, parts)):
        raise BadName(
            f"the name {name!r} cannot be used; Windows takes it for a device. Choose another one"
        )
    path = folder.joinpath(*parts)
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise BadName(f"{name!r} cannot be followed below {folder.name}/: {error}") from None
    if not is_inside:
        raise BadName(
            f"{name!r} leads out of {folder.name}/ through a link; put the file itself there"
        )
    return path


def _can_be_encoded(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(part: str) -> bool:
    is_trimmed = part == part.strip() and not part.endswith(".")
    return is_trimmed and part != "" and not part.startswith(".")


def files_below(folder: Path, suffix: str) -> Iterator[Path]:
    """Yield the files called `*suffix` below a folder, sorted, without hidden ones.

    They may be broken links or unreadable. A folder that cannot be read counts as empty.
    """
    found: list[Path] = []
    for root, _, names in os.walk(folder):
        found.extend(Path(root, name) for name in names)
    for path in sorted(found):
        if path.name.endswith(suffix) and not path.name.startswith("."):
            yield path
