"""Importing: a workflow from an archive into the user's own folder."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from minibrains.brain_file import hash_file, read_header
from minibrains.errors import GameError, MinibrainsError
from minibrains.files import bundled_dir, find_inside, rename, write_atomic
from minibrains.games.catalog import find_game
from minibrains.graph.catalog import with_hash
from minibrains.graph.workflow import Workflow, dump_json, load_workflow
from minibrains.sharing.archive import (
    BRAINS,
    PICTURE,
    SIZE_LIMIT,
    TAPE,
    WORKFLOW,
    ArchiveReader,
    Lock,
)
from minibrains.software import software

IMPORTING: Final = ".import."
"""Prefix of the folder in which an archive is checked."""
_COMPARED: Final = ("minibrains", "torch", "transformers", "peft", "stable-retro")
"""The software on whose versions results depend most."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Where everything of an archive is now."""

    workflow: Path
    brains: Mapping[str, Path]
    """The name of each brain in the archive -> its file here."""
    tape: Path | None
    remarks: tuple[str, ...]
    """What is missing on this machine, or is another version, in sentences."""


def import_workflow(
    file: Path, root: Path, packs: frozenset[str], limit: int = SIZE_LIMIT
) -> Imported:
    """Check an archive, and copy what is in it below the user's own folder.

    A name that is taken by a file with other contents stays that file's; the one from the archive
    gets its hash into its name, in the workflow as well. What was imported before is not copied
    again. Nothing in the archive is executed.

    Args:
        file: The archive.
        root: The user's own folder, with workflows, models and tapes.
        packs: The names of the node packs that are there.
        limit: The largest size of everything in it, in bytes.

    Raises:
        MinibrainsError: It is damaged, or not such an archive, or too large; nothing is copied.
        OSError: A file cannot be written.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (
        ArchiveReader(file, limit) as archive,
        tempfile.TemporaryDirectory(prefix=IMPORTING, dir=root) as temporary,
    ):
        lock = archive.lock
        unpacked = _unpack_brains(archive, Path(temporary))
        workflow = _read_workflow(archive, Path(temporary))
        tape = None
        if archive.has(TAPE):
            tape = Path(temporary) / TAPE
            archive.extract(TAPE, tape)

        models, others = root / "models", [root / "workflows", bundled_dir("models")]
        brains = {name: _place(path, name, models, others) for name, path in unpacked.items()}
        if tape is not None:
            tape = _place(tape, f"{lock.name}.tape", root / "tapes")
        placed = _place_workflow(workflow, lock.name, brains, [models, *others])
        if archive.has(PICTURE):
            write_atomic(placed.with_suffix(".png"), archive.read(PICTURE))
    return Imported(placed, brains, tape, tuple(_remarks(lock, packs)))


def _unpack_brains(archive: ArchiveReader, folder: Path) -> dict[str, Path]:
    """Copy all brains into a folder, and check them. Raises MinibrainsError."""
    unpacked: dict[str, Path] = {}
    for number, (name, expected) in enumerate(archive.lock.brains.items()):
        path = folder / f"{number}.safetensors"
        archive.extract(f"{BRAINS}{name}", path)
        found = hash_file(path)
        if found != expected:
            raise MinibrainsError(
                f"{archive.path.name} is not imported: the brain {name} has the SHA-256 {found}, "
                f"expected {expected}"
            )
        read_header(path)
        unpacked[name] = path
    return unpacked


def _read_workflow(archive: ArchiveReader, folder: Path) -> Workflow:
    """Return the workflow. Raises MinibrainsError if it needs a brain that is not there."""
    path = folder / WORKFLOW
    path.write_bytes(archive.read(WORKFLOW))
    workflow = load_workflow(path)
    for node, entry in workflow.nodes.items():
        pin = entry.brain
        if pin is not None and (pin.file, pin.sha256) not in archive.lock.brains.items():
            raise MinibrainsError(
                f"{archive.path.name} is not imported: {node} needs the brain {pin.file!r} with the "
                f"SHA-256 {pin.sha256}, which is not in it"
            )
    return workflow


def _place(path: Path, name: str, folder: Path, others: Sequence[Path] = ()) -> Path:
    """Move a file into a folder, unless it is there or in another of these folders.

    Returns:
        The file with these contents, whose name has its hash if `name` means another file.
    """
    digest = hash_file(path)
    there = None
    for possible in (name, with_hash(name, digest)):
        there = find_inside(possible, [folder, *others])
        if there is None:
            target = folder / possible
            target.parent.mkdir(parents=True, exist_ok=True)
            rename(path, target)
            return target
        if hash_file(there) == digest:
            return there
    raise MinibrainsError(f"{there} has other contents than its name says; remove it")


def _place_workflow(
    workflow: Workflow, name: str, brains: Mapping[str, Path], folders: Sequence[Path]
) -> Path:
    """Write the workflow with the names that its brains have here; return its file.

    Args:
        workflow: The workflow as it is in the archive.
        name: Its name, without suffix.
        brains: The name of each brain in the archive -> its file here.
        folders: The folders in which brains are looked for; workflows are in the second.
    """
    for node, entry in workflow.nodes.items():
        if entry.brain is not None:
            here = _relative(brains[entry.brain.file], folders)
            pin = {"file": here, "sha256": entry.brain.sha256}
            workflow = workflow.with_node(node, {**entry.raw, "brain": pin})
    text = dump_json(workflow.to_json())
    target = folders[1] / f"{name}.json"
    if target.exists() and target.read_text() != text:
        digest = hashlib.sha256(text.encode()).hexdigest()
        target = target.with_name(with_hash(target.name, digest))
    write_atomic(target, text)
    return target


def _relative(path: Path, folders: Sequence[Path]) -> str:
    """Return the name by which a workflow means a brain in one of these folders."""
    for folder in folders:
        if path.is_relative_to(folder.resolve()):
            return path.relative_to(folder.resolve()).as_posix()
    raise MinibrainsError(f"{path} is in none of {', '.join(map(str, folders))}")


def _remarks(lock: Lock, packs: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for everything that is missing or another here."""
    for pack, source in lock.packs.items():
        if pack not in packs:
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
    others = [
        f"{package} {version} (here {here.get(package, 'none')})"
        for package, version in lock.software.items()
        if package in _COMPARED and here.get(package) != version
    ]
    if others:
        yield f"it was exported with {', '.join(others)}: what is computed may differ"
