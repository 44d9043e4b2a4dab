"""Importing: a workflow from an archive into the user's own folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from minibrains.brain_file import hash_file, read_header
from minibrains.errors import GameError, MinibrainsError
from minibrains.file_lock import locked
from minibrains.files import bundled_dir, find_inside, rename
from minibrains.games.catalog import find_game
from minibrains.graph.catalog import with_hash
from minibrains.graph.workflow import BrainPin, Workflow, dump_json, parse_workflow
from minibrains.sharing.archive import (
    BRAINS,
    PICTURE,
    PNG,
    SIZE_LIMIT,
    TAPE,
    WORKFLOW,
    ArchiveReader,
)
from minibrains.sharing.lock import Lock, hash_of, recorded_versions
from minibrains.software import software
from minibrains.values import parse_json

_UNPACKED: Final = ".import."
"""Prefix of the folder in which an archive is checked."""
_FILE_LOCK: Final = ".import.lock"
_COMPARED: Final = ("minibrains", "torch", "transformers", "peft", "stable-retro")
"""The software on whose versions results depend most."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The places of everything in an archive, after the import."""

    workflow: Path
    brains: Mapping[str, str]
    """The name of each brain in the archive -> its name here."""
    tape: Path | None
    remarks: tuple[str, ...]
    """Sentences about what is missing on this machine, or is another version."""


def import_workflow(
    file: Path, root: Path, types: Collection[str], limit: int = SIZE_LIMIT
) -> Imported:
    """Check an archive, and copy what is in it below the user's own folder.

    A name that is taken by a file with other contents stays that file's; the one from the archive
    gets its hash into its name, in the workflow as well. What was imported before is not copied
    again. Nothing in the archive is executed.

    Args:
        file: The archive.
        root: The user's own folder, with workflows, models and tapes.
        types: The names of the node types that are there.
        limit: The largest size of everything in it, in bytes.

    Raises:
        MinibrainsError: It is damaged, or not such an archive, or too large; nothing is copied.
        OSError: A file cannot be written.
    """
    with ArchiveReader(file, limit) as archive, _alone_in(root) as folder:
        workflow = _read_workflow(archive)
        unpacked = _unpack_brains(archive, folder)
        tape = _unpack_tape(archive, folder, workflow)
        picture = _unpack_picture(archive, folder)

        lock = archive.lock
        own = folder.parent
        workflows, models = own / "workflows", own / "models"
        # in the order in which the workflow will find them
        searched = (workflows, models, bundled_dir("models"))
        brains: dict[str, str] = {}
        for name, path in unpacked.items():
            brains[name] = _place(path, name, models, searched)
        written = folder / WORKFLOW
        written.write_text(dump_json(_renamed(workflow, brains).to_json()))
        name = _place(written, f"{lock.name}.json", workflows)
        if picture is not None:
            _place(picture, f"{name.removesuffix('.json')}.png", workflows)
        if tape is not None:
            tape = own / "tapes" / _place(tape, f"{lock.name}.tape", own / "tapes")
    return Imported(workflows / name, brains, tape, tuple(_remarks(workflow, lock, types)))


@contextmanager
def _alone_in(root: Path) -> Iterator[Path]:
    """Make a folder below the user's own, while no other process imports; remove it at the end,
    and those of processes that were killed.
    """
    with ExitStack() as stack:
        try:
            root.mkdir(parents=True, exist_ok=True)
            root = root.resolve()
            stack.enter_context(locked(root / _FILE_LOCK))
        except OSError as error:
            raise MinibrainsError(f"{root} cannot be written: {error.strerror}") from None
        for leftover in root.glob(f"{_UNPACKED}*/"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_UNPACKED, dir=root) as folder:
            yield Path(folder)


# -- reading and checking --------------------------------------------------------------------------


def _read_workflow(archive: ArchiveReader) -> Workflow:
    """Return the workflow. Raises MinibrainsError if it needs a brain that is not there."""
    try:
        data = parse_json(archive.read(WORKFLOW))
    except ValueError as error:
        raise archive.refusal(f"{WORKFLOW} is not JSON: {str(error)[:300]}") from None
    workflow = parse_workflow(data, Path(f"{archive.lock.name}.json"))
    if workflow.faults:
        raise archive.refusal(f"{WORKFLOW}: {workflow.faults[0]}")
    for node, entry in workflow.nodes.items():
        pin = entry.brain
        if pin is not None and (pin.file, pin.sha256) not in archive.lock.brains.items():
            raise archive.refusal(
                f"{node} needs the brain {pin.file!r} with the SHA-256 {pin.sha256}, "
                "which is not in it"
            )
    if hash_of(workflow) != archive.lock.workflow_sha256:
        raise archive.refusal("its workflow is not the one of its lock")
    return workflow


def _unpack_brains(archive: ArchiveReader, folder: Path) -> dict[str, Path]:
    """Copy all brains into a folder, and check them. Raises MinibrainsError."""
    unpacked: dict[str, Path] = {}
    for number, (name, expected) in enumerate(archive.lock.brains.items()):
        path = folder / f"{number}.safetensors"
        archive.extract(f"{BRAINS}{name}", path)
        found = hash_file(path)
        if found != expected:
            raise archive.refusal(f"the brain {name} has the SHA-256 {found}, expected {expected}")
        try:
            read_header(path)
        except MinibrainsError as error:
            raise archive.refusal(str(error).replace(str(path), name)) from None
        unpacked[name] = path
    return unpacked


def _unpack_tape(archive: ArchiveReader, folder: Path, workflow: Workflow) -> Path | None:
    if not archive.has(TAPE):
        return None
    path = folder / TAPE
    archive.extract(TAPE, path)
    try:
        recorded_versions(path, workflow)
    except MinibrainsError as error:
        raise archive.refusal(str(error).replace(str(path), TAPE)) from None
    return path


def _unpack_picture(archive: ArchiveReader, folder: Path) -> Path | None:
    if not archive.has(PICTURE):
        return None
    data = archive.read(PICTURE)
    if not data.startswith(PNG):
        raise archive.refusal(f"{PICTURE} is not a PNG")
    path = folder / PICTURE
    path.write_bytes(data)
    return path


# -- placing ---------------------------------------------------------------------------------------


def _place(path: Path, name: str, folder: Path, searched: Sequence[Path] = ()) -> str:
    """Move a file into a folder, unless a file with the same contents has its name.

    Args:
        path: The file.
        name: Its name within the folder.
        folder: The folder.
        searched: Folders in which something may have this name already, in the order in which they
            are searched; none: only the folder itself.

    Returns:
        Its name, with its hash if something else has the plain one.

    Raises:
        MinibrainsError: Something else has that name as well.
    """
    digest = hash_file(path)
    for possible in (name, with_hash(name, digest)):
        there = find_inside(possible, searched or (folder,))
        if there is not None and hash_file(there) == digest:
            return possible
        target = folder / possible
        if there is None and _is_free(target, folder):
            target.parent.mkdir(parents=True, exist_ok=True)
            rename(path, target)
            return possible
    raise MinibrainsError(f"{target} is in the way, and so is {name}; rename or remove them")


def _is_free(target: Path, folder: Path) -> bool:
    """Return whether nothing is there, and no link leads out of the folder."""
    if os.path.lexists(target):
        return False
    return target.parent.resolve().is_relative_to(folder.resolve())


def _renamed(workflow: Workflow, brains: Mapping[str, str]) -> Workflow:
    """Return the workflow with other names for its brains."""
    pins: dict[str, BrainPin] = {}
    for entry in workflow.nodes.values():
        if entry.brain is not None:
            name = brains[entry.brain.file]
            pins[entry.brain.file] = BrainPin(name, entry.brain.sha256)
    return workflow.with_brains(pins)


def _remarks(workflow: Workflow, lock: Lock, types: Collection[str]) -> Iterator[str]:
    """Yield a sentence for everything that is missing or another here."""
    missing = {entry.type for entry in workflow.nodes.values()}.difference(types)
    packs = {type_.rpartition(".")[0] for type_ in missing}
    for pack in sorted(packs):
        if not pack:
            yield "it has nodes that are not known here: update Minibrains"
            continue
        source = lock.packs.get(pack, "a node pack of that name")
        yield f"the nodes {pack}.… are missing here; they are in {source}"
    for name, sha1 in lock.games.items():
        try:
            rom = find_game((name,)).rom
        except GameError as error:
            yield f"the game {name} cannot be played here, whose ROM has the SHA-1 {sha1}: {error}"
            continue
        found = hashlib.sha1(rom.read_bytes()).hexdigest()
        if found != sha1:
            yield f"the ROM of {name} is another one here: its SHA-1 is {found}, there {sha1}"
    here = software()
    others: list[str] = []
    for package, version in lock.software.items():
        if package in _COMPARED and here.get(package) != version:
            others.append(f"{package} {version} (here {here.get(package, 'none')})")
    if others:
        yield f"it was exported with {', '.join(others)}: what is computed may differ"
