"""The file of a shared workflow: a zip archive with a workflow, its brains and a lock.

    workflow.json          with the SHA-256 of each brain
    lock.json              the software, packs, brains and games that it was exported with
    LICENSES.md            the licences of the brains
    brains/FOLDER/….safetensors
    run.tape               a recorded run of it (optional)
    picture.png            (optional)

Such a file may come from anybody. Only members of these names are read, none is executed, and
everything is checked before a file is written where it counts.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Final, Self

from minibrains.errors import MinibrainsError
from minibrains.files import is_portable_name, rename
from minibrains.sharing.lock import Lock

SIZE_LIMIT: Final = 1 << 30
"""Size limit of everything in an archive, unpacked, in bytes."""
WORKFLOW: Final = "workflow.json"
LOCK: Final = "lock.json"
LICENSES: Final = "LICENSES.md"
TAPE: Final = "run.tape"
PICTURE: Final = "picture.png"
BRAINS: Final = "brains/"
PNG: Final = b"\x89PNG\r\n\x1a\n"
"""The beginning of every PNG."""

_MEMBERS: Final = frozenset({WORKFLOW, LOCK, LICENSES, TAPE, PICTURE})
_MEMBER_LIMIT: Final = 10_000
_TEXT_LIMIT: Final = 64 << 20
"""Size limit of a member that is read into memory, in bytes."""
_DEPTH: Final = 4
"""Largest number of folders below brains/."""
_CHUNK: Final = 1 << 20
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The time of all members, so that equal contents are equal bytes."""
_DAMAGED: Final = (
    ValueError,
    EOFError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""The exceptions of reading a damaged archive."""
_UNREADABLE: Final = (OSError, *_DAMAGED)


class ArchiveWriter:
    """Writes an archive under a temporary name, and renames it when it is complete.

    Use it in a `with` statement; after an exception nothing is left.
    """

    def __init__(self, path: Path) -> None:
        """Begin a file. Raises OSError if it cannot be written."""
        self.path = path
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
        self._file = os.fdopen(handle, "wb")
        self._temporary = Path(temporary)
        self._zip = zipfile.ZipFile(self._file, "w")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if error is None:
                self._temporary.chmod(0o644)
                rename(self._temporary, self.path.absolute())
        finally:
            self._temporary.unlink(missing_ok=True)

    def add_text(self, name: str, text: str) -> None:
        """Add a member with this text."""
        info = zipfile.ZipInfo(name, _LONG_AGO)
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, text.encode())

    def add_file(self, name: str, path: Path) -> None:
        """Add a file, uncompressed: weights hardly get smaller."""
        info = zipfile.ZipInfo(name, _LONG_AGO)
        info.file_size = path.stat().st_size
        with path.open("rb") as source, self._zip.open(info, "w") as member:
            shutil.copyfileobj(source, member, _CHUNK)


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, of any version."""
    try:
        with zipfile.ZipFile(path) as found:
            return LOCK in found.NameToInfo
    except _UNREADABLE:
        return False


class ArchiveReader:
    """Reads an archive that may come from anybody. Use it in a `with` statement."""

    def __init__(self, path: Path, limit: int = SIZE_LIMIT) -> None:
        """Open an archive and check the names, kinds and sizes of all members.

        Args:
            path: The file.
            limit: The largest size of all members, unpacked, in bytes.

        Raises:
            MinibrainsError: It is no such archive, or has a member that it must not have.
        """
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except _UNREADABLE as error:
            reason = getattr(error, "strerror", None) or error
            raise MinibrainsError(
                f"{path.name} is not a shared workflow: {reason}; "
                "expected a file that `export` has written"
            ) from None
        try:
            self._check_members(limit)
            self.lock = self._read_lock()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def has(self, name: str) -> bool:
        """Return whether there is a member of this name."""
        return name in self._zip.NameToInfo

    def read(self, name: str) -> bytes:
        """Return a member of at most 64 MiB. Raises MinibrainsError."""
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise self.refusal(f"it has no {name}") from None
        if info.file_size > _TEXT_LIMIT:
            raise self.refusal(f"{name} has {info.file_size} bytes; expected at most {_TEXT_LIMIT}")
        try:
            return self._zip.read(info)
        except _UNREADABLE as error:
            raise self.refusal(f"{name} is damaged: {error}") from None

    def extract(self, name: str, target: Path) -> None:
        """Copy a member to a new file, and flush it to the disk.

        Raises:
            MinibrainsError: The member is damaged.
            OSError: The file cannot be written.
        """
        with target.open("xb") as file:
            try:
                with self._zip.open(name) as member:
                    shutil.copyfileobj(member, file, _CHUNK)
            except _DAMAGED as error:
                raise self.refusal(f"{name} is damaged: {error}") from None
            file.flush()
            os.fsync(file.fileno())

    def _read_lock(self) -> Lock:
        try:
            lock = Lock.parse(self.read(LOCK))
        except ValueError as error:
            raise self.refusal(f"{LOCK} cannot be read: {str(error)[:300]}") from None
        members = self._zip.namelist()
        inside = {name.removeprefix(BRAINS) for name in members if name.startswith(BRAINS)}
        if inside != lock.brains.keys():
            odd = min(inside ^ lock.brains.keys())
            raise self.refusal(f"brains and {LOCK} do not agree about {odd!r}")
        return lock

    def _check_members(self, limit: int) -> None:
        members = self._zip.infolist()
        if len(members) > _MEMBER_LIMIT:
            raise self.refusal(f"it has {len(members)} members; expected at most {_MEMBER_LIMIT}")
        names: set[str] = set()
        for info in members:
            name = info.filename
            if name not in _MEMBERS and not _is_brain(name):
                raise self.refusal(
                    f"the member {name[:200]!r} has no place in it; expected "
                    f"{', '.join(sorted(_MEMBERS))} and {BRAINS}….safetensors"
                )
            if name.lower() in names:
                raise self.refusal(f"the member {name!r} is there twice")
            names.add(name.lower())
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise self.refusal(
                    f"the member {name!r} is not a plain file but a link or a device"
                )
            if info.flag_bits & 1:
                raise self.refusal(f"the member {name!r} is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self.refusal(f"the member {name!r} is compressed in an unknown way")
        size = sum(info.file_size for info in members)
        if size > limit:
            raise self.refusal(f"it unpacks to {size} bytes; expected at most {limit}")

    def refusal(self, what: str) -> MinibrainsError:
        """Return the error that says why this archive is not imported."""
        return MinibrainsError(f"{self.path.name} is not imported: {what}")


def is_brain_name(name: str) -> bool:
    """Return whether a brain in an archive may have this name: a relative path of plain names."""
    parts = PurePosixPath(name).parts
    return (
        "/".join(parts) == name
        and 1 <= len(parts) <= _DEPTH
        and name.endswith(".safetensors")
        and all(map(is_portable_name, parts))
    )


def _is_brain(member: str) -> bool:
    return member.startswith(BRAINS) and is_brain_name(member.removeprefix(BRAINS))
