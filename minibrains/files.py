"""Files that are never half written, and where the shipped ones are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write `data` to a temporary file beside `path`, flush it to the disk, then rename it, which is flushed as well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(to_bytes(data) if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        rename(Path(temporary), path)
    except BaseException:
        with suppress(FileNotFoundError):  # it was renamed, and that could not be flushed
            os.unlink(temporary)
        raise


def write_into(room: Path, path: Path, data: str) -> None:
    """Write `data` over what is in the file `room`, which may be longer, and rename it: this also works on a full disk."""
    with room.open("r+b") as file:
        file.write(to_bytes(data))
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    rename(room, path)


def rename(path: Path, to: Path) -> None:
    """Rename a file or folder, over a file of that name, and flush both names to the disk."""
    os.replace(path, to)
    sync_folders(path.parent, to.parent)


def to_bytes(text: str) -> bytes:
    """Return a text as UTF-8. Half a surrogate pair, which UTF-8 does not have, becomes `\\ud800`: in JSON that is the same."""
    return text.encode(errors="backslashreplace")


def sync_folders(*folders: Path) -> None:
    """Flush the names in folders to the disk: after a power cut a file that was renamed may have its old name again."""
    for folder in set(folders):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class LineFile:
    """A text file that lines are appended to, each at once and as a whole: killing the process loses none of them."""

    def __init__(self, path: Path) -> None:
        """Open the file; make it if it is not there."""
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(self, line: str) -> None:
        """Append a line, given without its end.

        Raises:
            OSError: There is no room for all of it; then nothing of it is in the file.
        """
        data = to_bytes(line + "\n")
        written = os.write(self._handle, data)
        if written < len(data):
            self._append_rest(data, written)

    def close(self) -> None:
        """Close the file. Nothing has to be written any more."""
        os.close(self._handle)

    def _append_rest(self, data: bytes, written: int) -> None:
        """Write what did not go into one write, or take back what did."""
        start = os.fstat(self._handle).st_size - written
        try:
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError:
            os.ftruncate(self._handle, start)
            raise


def is_plain_name(name: str) -> bool:
    """Return whether a file can have this name in a folder, with room for what a temporary file has before and behind it.

    Not with separators, control characters or half surrogate pairs, and not of more than 200 bytes. Names that begin
    with a dot are kept for temporary files.
    """
    return not name.startswith(".") and not set(name) & {"/", "\\"} and name.isprintable() and 0 < len(name.encode()) <= 200


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
    if (package.parent / "pyproject.toml").exists():
        return checkout
    return package / "shipped" / folder


def home() -> Path:
    """The person's own folder, for imported ROMs: $MINIBRAINS_HOME, else ~/.minibrains."""
    return Path(os.environ.get("MINIBRAINS_HOME") or Path.home() / ".minibrains")
