"""Files that are never half written, and where the shipped ones are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, data: bytes | str) -> None:
    """Write `data` to a temporary file beside `path`, flush it to the disk, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def find_inside(name: str, folders: Iterable[Path]) -> Path | None:
    """The file `name` in the first folder that has it; never one outside of that folder. None if there is none."""
    for folder in folders:
        root = folder.resolve()
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            continue  # a name no file can have, a loop of links, a folder that may not be read
    return None


def shipped(folder: str) -> Path:
    """A shipped folder, `workflows`, `models` or `games`: in a checkout the real one, else the wheel's copy."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / folder
    return checkout if (package.parent / "pyproject.toml").exists() else package / "shipped" / folder


def home() -> Path:
    """The person's own folder, for imported ROMs: $MINIBRAINS_HOME, else ~/.minibrains."""
    return Path(os.environ.get("MINIBRAINS_HOME") or Path.home() / ".minibrains")
