"""Exporting: a workflow, its brains and a recorded run of it, into one file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from pathlib import Path

from minibrains.brain_file import hash_file, read_header
from minibrains.console import Console
from minibrains.errors import GameError, MinibrainsError
from minibrains.files import bundled_dir, is_portable_name
from minibrains.games.catalog import find_game
from minibrains.graph.catalog import with_hash
from minibrains.graph.check import FindBrain, Graph
from minibrains.graph.registry import ENTRY_POINT
from minibrains.graph.workflow import BrainPin, Workflow, dump_json, parse_workflow
from minibrains.sharing.archive import (
    BRAINS,
    LICENSES,
    LOCK,
    PICTURE,
    PNG,
    TAPE,
    WORKFLOW,
    ArchiveWriter,
    is_archive,
    is_brain_name,
)
from minibrains.sharing.lock import FORMAT, Lock, hash_of, recorded_versions
from minibrains.software import software


class Brains:
    """The brains of an archive, by their names in it."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}
        self.hashes: dict[str, str] = {}
        self._names: dict[str, str] = {}
        """Names in small letters -> the names: some systems do not tell them apart."""

    def add(self, name: str, path: Path) -> str:
        """Add a file, and return its name in the archive.

        Another file of that name gets its hash into its name, and so does one whose name cannot be
        in an archive.
        """
        digest = hash_file(path)
        if not is_brain_name(name):
            name = path.name
        if not is_brain_name(name):
            name = with_hash("brain.safetensors", digest)
        taken = self._names.setdefault(name.lower(), name)
        if taken != name or self.hashes.get(name, digest) != digest:
            name = with_hash(name, digest)
        self.files[name], self.hashes[name] = path, digest
        return name


def export_workflow(
    graph: Graph,
    find_brain: FindBrain,
    file: Path,
    tape: Path | None = None,
    picture: Path | None = None,
) -> Lock:
    """Write a workflow with everything that it needs into one file.

    Brains are pinned by their SHA-256. ROMs and save states are not included, only named.

    Args:
        graph: The workflow, checked.
        find_brain: Finds its brains, also those of muted nodes.
        file: The archive to write; one of that name is replaced, but no other file.
        tape: A tape of a run of this workflow.
        picture: A PNG that shows it.

    Returns:
        What it was exported with, as in its lock.json.

    Raises:
        MinibrainsError: The tape is of another workflow, one of its brains has changed, the picture
            is not a PNG, or the file cannot be written there or is something else.
        OSError: The disk is full.
    """
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise MinibrainsError(f"{file} cannot be written; expected a file in an existing folder")
    brains = Brains()
    workflow = _pin(graph.workflow, find_brain, brains)
    if tape is not None:
        _add_brains_of_tape(tape, workflow, brains)
    if picture is not None and not _is_png(picture):
        raise MinibrainsError(f"{picture} is not a PNG; expected a picture in that format")
    for source in (graph.workflow.path, tape, picture, *brains.files.values()):
        if source is not None and source.exists() and file.exists() and source.samefile(file):
            raise MinibrainsError(f"{file} goes into the archive itself; choose another file")
    if file.exists() and not is_archive(file):
        raise MinibrainsError(
            f"{file} is there already, and was not written by `export`; choose another file"
        )
    lock = Lock(
        minibrains_archive=FORMAT,
        name=workflow.name if is_portable_name(f"{workflow.name}.json") else "workflow",
        workflow_sha256=hash_of(workflow),
        software=software(),
        packs=_packs(graph),
        brains=brains.hashes,
        games=_games(graph),
    )
    with ArchiveWriter(file) as archive:
        archive.add_text(LOCK, lock.to_json())
        archive.add_text(WORKFLOW, dump_json(workflow.to_json()))
        archive.add_text(LICENSES, _licenses(brains.files))
        for name, path in brains.files.items():
            archive.add_file(f"{BRAINS}{name}", path)
        if tape is not None:
            archive.add_file(TAPE, tape)
        if picture is not None:
            archive.add_file(PICTURE, picture)
    return lock


def _pin(workflow: Workflow, find_brain: FindBrain, brains: Brains) -> Workflow:
    """Return the workflow with the name and SHA-256 of each brain, also of muted nodes."""
    pins: dict[str, BrainPin] = {}
    for entry in workflow.nodes.values():
        if entry.brain is None:
            continue
        path = find_brain(entry.brain)
        name = brains.add(entry.brain.file, path)
        pins[entry.brain.file] = BrainPin(name, brains.hashes[name])
    return workflow.with_brains(pins)


def _is_png(picture: Path) -> bool:
    try:
        return picture.read_bytes().startswith(PNG)
    except OSError as error:
        raise MinibrainsError(f"{picture} cannot be read: {error.strerror}") from None


def _add_brains_of_tape(tape: Path, workflow: Workflow, brains: Brains) -> None:
    """Add the brains of a recorded run under the names that they have on its tape, also those from
    before a live edit. Raises MinibrainsError.
    """
    for version in recorded_versions(tape, workflow):
        entries = parse_workflow(version["workflow"]).nodes
        for node, brain in version["brains"].items():
            path = Path(brain["file"])
            if not path.is_file() or hash_file(path) != brain["sha256"]:
                raise MinibrainsError(
                    f"{tape} is not exported: {node} had the brain {path} with the SHA-256 "
                    f"{brain['sha256']}, which is not there any more; record the run again"
                )
            pin = entries[node].brain
            assert pin is not None
            brains.add(pin.file, path)


def _packs(graph: Graph) -> dict[str, str]:
    """Return the node packs that the workflow needs, each with what has it."""
    packs: dict[str, str] = {}
    installed = {point.name: point for point in entry_points(group=ENTRY_POINT)}
    for entry in graph.workflow.nodes.values():
        pack, dot, _ = entry.type.rpartition(".")
        if not dot:
            continue
        packs[pack] = f"the file {pack}.py, which is given with --pack"
        point = installed.get(pack)
        if point is not None and point.dist is not None:
            packs[pack] = f"the package {point.dist.name} {point.dist.version}"
    return packs


def _games(graph: Graph) -> dict[str, str]:
    games: dict[str, str] = {}
    for node in graph.nodes.values():
        if not issubclass(node.cls, Console):
            continue
        names = node.widgets["game"]
        if isinstance(names, str):
            names = (names,)
        try:
            game = find_game(names)
        except GameError:
            continue  # a console of another kind, which finds its games itself
        games[game.name] = hashlib.sha1(game.rom.read_bytes()).hexdigest()
    return games


def _licenses(brains: Mapping[str, Path]) -> str:
    """Return a list of the brains with title, author and licence, and the text of our own."""
    lines = ["# Licences", ""]
    ours = False
    for name, path in brains.items():
        metadata = read_header(path).metadata
        license = metadata.get("license", "its file names none")
        parts = [metadata.get("title", name), f"licence: {license}"]
        if "author" in metadata:
            parts.insert(1, f"by {metadata['author']}")
        lines.append(f"- `{name}`: {', '.join(parts)}")
        ours = ours or path.is_relative_to(bundled_dir("models"))
    text = _our_license()
    if ours and text is not None:
        lines += ["", "The brains that come with Minibrains are under its licence:", "", text]
    return "\n".join(lines) + "\n"


def _our_license() -> str | None:
    try:
        return distribution("minibrains").read_text("licenses/LICENSE")
    except PackageNotFoundError:
        return None
