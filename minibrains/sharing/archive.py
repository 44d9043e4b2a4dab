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

import json
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Final, Self, get_type_hints

from minibrains.errors import MinibrainsError
from minibrains.files import is_portable_name, rename
from minibrains.graph.workflow import SHA256, RunSettings, Workflow, parse_workflow
from minibrains.tape.recording import read_events
from minibrains.values import parse_json, parse_value

FORMAT: Final = 1
"""The version of the format; raised by a change after which older readers would be wrong."""
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
_SHA1: Final = re.compile(r"[0-9a-f]{40}")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
"""A text of a lock, which is shown to people: short, and on one line."""
_LONGEST_LIST: Final = 1000
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a workflow was exported with."""

    minibrains_archive: int
    """FORMAT"""
    name: str
    """The name of the workflow."""
    workflow_sha256: str
    """`hash_of` its workflow."""
    software: Mapping[str, str]
    """Versions by name, of Python and the packages that play."""
    packs: Mapping[str, str]
    """Name of a node pack -> what to install to have it."""
    brains: Mapping[str, str]
    """Name of a brain below brains/ -> its SHA-256."""
    games: Mapping[str, str]
    """Name of a game -> the SHA-1 of its ROM."""

    @classmethod
    def parse(cls, text: bytes) -> Lock:
        """Read a lock. Raises ValueError if it is none."""
        data = parse_json(text)
        if not isinstance(data, dict):
            raise ValueError("it is no JSON object")
        number = data.get("minibrains_archive")
        if type(number) is not int or number < 1:
            raise ValueError('"minibrains_archive" is not the number of a format')
        if number > FORMAT:
            raise ValueError("its format is newer than this Minibrains; update it")
        values: dict[str, Any] = {}
        types = get_type_hints(cls)
        for declared in fields(cls):
            if declared.name not in data:
                raise ValueError(f"{declared.name!r} is missing")
            values[declared.name] = parse_value(types[declared.name], data[declared.name])
        lock = cls(**values)
        lock._check()
        return lock

    def _check(self) -> None:
        """Raise ValueError if a text is not what it should be."""
        if not is_portable_name(f"{self.name}.json"):
            raise ValueError(f"{self.name[:100]!r} cannot be the name of a workflow")
        for entries, pattern in (
            (self.software, _TEXT),
            (self.packs, _TEXT),
            (self.brains, SHA256),
            (self.games, _SHA1),
        ):
            if len(entries) > _LONGEST_LIST:
                raise ValueError(f"it lists {len(entries)} things; expected {_LONGEST_LIST}")
            for name, value in entries.items():
                if not _TEXT.fullmatch(name) or not pattern.fullmatch(value):
                    raise ValueError(f"{name[:100]!r}: {value[:100]!r} cannot be in it")

    def to_json(self) -> str:
        """Return the contents of lock.json."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


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
                raise self.refusal(f"the member {name!r} is no plain file but a link or a device")
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


def hash_of(workflow: Workflow, nodes: Collection[str] | None = None) -> str:
    """Return the hash of a workflow whose brains have their SHA-256, without the limit of an
    episode, which the command line may set.

    Args:
        workflow: The workflow.
        nodes: The nodes whose brains count; None: all.
    """
    brains: dict[str, str] = {}
    for name, entry in workflow.nodes.items():
        if entry.brain is not None and (nodes is None or name in nodes):
            brains[name] = str(entry.brain.sha256)
    return workflow.with_run(RunSettings()).hash(brains)


def recorded_versions(tape: Path, workflow: Workflow) -> list[Mapping[str, Any]]:
    """Return the workflows of a tape, the first one and that of each live edit, with their brains.

    Args:
        tape: The tape.
        workflow: The workflow that it must end with; its brains have their SHA-256.

    Raises:
        MinibrainsError: It is no whole tape, or of another workflow.
    """
    events, cut = read_events(tape)
    if cut:
        raise MinibrainsError(f"{tape}: {cut}")
    recorded = [event.value for event in events if event.kind in ("header", "edit")]
    try:
        last = recorded[-1]
        brains = {node: brain["sha256"] for node, brain in last["brains"].items()}
        found = parse_workflow(last["workflow"]).with_run(RunSettings()).hash(brains)
    except (AttributeError, KeyError, TypeError):
        raise MinibrainsError(f"{tape} holds no run of a workflow") from None
    if found != hash_of(workflow, brains.keys()):
        raise MinibrainsError(
            f"{tape} is not a run of {workflow.name} as it is now; "
            "expected a tape of the same nodes, settings and brains: record it again"
        )
    return recorded


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
