"""Files that are never half written, and the folders of shipped files."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

STRANGE: Final = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/]')
"""Characters that no name of a file can have on every system."""
_DEVICE: Final = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)
"""Names that Windows takes for devices, with any suffix."""


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write `data` to a temporary file beside `path`, flush it to the disk, then rename it,
    which is flushed as well.
    """
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
        # it was renamed already, and only the flush of the folder failed
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_into(room: Path, path: Path, data: str) -> None:
    """Overwrite the file `room`, which may be longer than `data`, and rename it to `path`:
    this works even on a full disk.
    """
    with room.open("r+b") as file:
        file.write(to_bytes(data))
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    rename(room, path)


def rename(path: Path, to: Path) -> None:
    """Rename a file or folder, replacing a file of that name, and flush both names to the disk."""
    os.replace(path, to)
    sync_folders(path.parent, to.parent)


def timestamped(name: str) -> str:
    """Return a name that sorts by time: `20261123-141530-name`."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"


def numbered_paths(folder: Path, name: str) -> Iterator[Path]:
    """Yield `folder/name`, then `folder/name-1` and so on,
    for the caller to take the first that is free.

    Raises:
        FileExistsError: A thousand were yielded, and none was free.
    """
    yield folder / name
    for number in range(1, 1000):
        yield folder / f"{name}-{number}"
    raise FileExistsError(f"{name} is taken a thousand times")


def to_bytes(text: str) -> bytes:
    """Encode a text as UTF-8.

    A lone surrogate, which UTF-8 lacks, becomes `\\ud800`: in JSON that is the same.
    """
    return text.encode(errors="backslashreplace")


def sync_folders(*folders: Path) -> None:
    """Flush the names in folders to the disk: without that,
    a renamed file may have its old name after a power cut.
    """
    for folder in set(folders):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class LineFile:
    """A text file to which whole lines are appended at once,
    so that none is lost when the process is killed.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, or create it."""
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(self, line: str) -> None:
        """Append a line, given without its line break.

        Raises:
            OSError: There is no room for the whole line; then no part of it is in the file.
        """
        data = to_bytes(line + "\n")
        written = os.write(self._handle, data)
        if written < len(data):
            self._append_rest(data, written)

    def close(self) -> None:
        """Close the file. There is nothing left to write."""
        os.close(self._handle)

    def _append_rest(self, data: bytes, written: int) -> None:
        """Write the rest of a line that one write did not finish, or remove its first part."""
        start = os.fstat(self._handle).st_size - written
        try:
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError:
            os.ftruncate(self._handle, start)
            raise


def is_plain_name(name: str) -> bool:
    """Return whether a file in a folder may have this name,
    with room for the prefix and suffix of a temporary file.

    Refuses separators, control characters, lone surrogates, and names of more than 200 bytes. Names
    that begin with a dot are reserved for temporary files.
    """
    return (
        not name.startswith(".")
        and not set(name) & {"/", "\\"}
        and name.isprintable()
        and 0 < len(name.encode()) <= 200
    )


def is_portable_name(name: str) -> bool:
    """Return whether a file or folder may have this name on every system.

    Refuses what `is_plain_name` refuses, what Windows cannot write or takes for a device, and
    spaces or a dot at an end.
    """
    return (
        is_plain_name(name)
        and name == name.strip()
        and not name.endswith(".")
        and not STRANGE.search(name)
        and not is_device_name(name)
    )


def is_device_name(name: str) -> bool:
    """Return whether Windows takes this name for a device."""
    return _DEVICE.fullmatch(name) is not None


def find_inside(name: str, folders: Iterable[Path]) -> Path | None:
    """Return the file `name` in the first folder that has it, never one outside of that folder;
    None if there is none.
    """
    for folder in folders:
        root = folder.resolve()
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            continue  # an impossible name, a loop of links, or a folder that cannot be read
    return None


def checkout() -> Path | None:
    """Return the folder of the repository, or None if Minibrains was installed from a wheel."""
    folder = Path(__file__).resolve().parents[1]
    if (folder / "pyproject.toml").exists():
        return folder
    return None


def bundled_dir(folder: str) -> Path:
    """Return a shipped folder, `workflows`, `models` or `games`: the one of the checkout,
    else the copy in the wheel.
    """
    repository = checkout()
    if repository is None:
        return Path(__file__).resolve().parent / "shipped" / folder
    return repository / folder


def home() -> Path:
    """Return the user's own folder: $MINIBRAINS_HOME, else ~/.minibrains."""
    return Path(os.environ.get("MINIBRAINS_HOME") or Path.home() / ".minibrains")
