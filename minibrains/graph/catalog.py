"""The node types, brains and workflows of this installation."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from minibrains.brain_file import hash_file
from minibrains.errors import BrainError, Fault, MinibrainsError, WorkflowError, closest, suggest
from minibrains.files import bundled_dir, find_inside, home
from minibrains.graph.check import FindBrain
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import BrainPin

_MOVED_FOLDERS: Final = {"lora": "lora_adapter", "prompt": "prompt_template"}
"""Folders of shipped brains that were renamed: old name -> new name. Workflows and tapes from
before have the old one."""


def node_types(packs: bool = True, files: Iterable[Path] = ()) -> tuple[Registry, list[str]]:
    """Return the shipped node types, those of installed packs and those of `files`;
    and a sentence for each failure to load.
    """
    registry = Registry()
    registry.add_module(import_module("nodes"))
    broken: list[str] = []
    if packs:
        broken = registry.add_packs()
    for file in files:
        registry.add_file(file)
    return registry, broken


def find_workflow(name: str) -> Path:
    """Return the workflow at a path; if there is none, the shipped one of that name, or else the
    one that was saved in the editor.

    Raises WorkflowError.
    """
    path = Path(name)
    if path.is_file():
        return path
    file = path.name
    if path.suffix != ".json":
        file = f"{path.name}.json"
    folders = (bundled_dir("workflows"), home() / "workflows")
    names: list[str] = []
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
        names += [found.stem for found in folder.glob("*.json")]
    hint = suggest(path.stem, names) or f"The shipped ones are in {folders[0]}"
    raise WorkflowError(
        [Fault("there is no such workflow file", hint=hint, code="invalid_file")], name
    )


def brain_finder(
    workflow: Path | None, overrides: Iterable[Path] = (), models: Path | None = None
) -> FindBrain:
    """Return a function that finds brains in the workflow's folder,
    in the user's `models` or in models/, and nowhere else.

    `overrides` are files that were named on the command line, which may be anywhere.
    """
    folders: list[Path] = []
    if workflow is not None:
        folders.append(workflow.parent)
    if models is not None:
        folders.append(models)
    folders.append(bundled_dir("models"))
    allowed = {str(path): path for path in overrides}

    def find(pin: BrainPin) -> Path:
        path = allowed.get(pin.file) or find_inside(pin.file, folders)
        if path is None and any(os.path.islink(folder / pin.file) for folder in folders):
            raise BrainError(
                f"the brain {pin.file!r} is a link that leads out of its folder; "
                "put the file itself there"
            )
        path = path or find_moved_brain(pin.file)
        if path is None:
            looked = ", ".join(map(str, folders))
            hint = _suggest_brain(pin.file, folders) or ""
            if os.path.isdir(pin.file):
                hint = "It is a folder: the command pack-model makes a brain of a model's folder"
            raise BrainError(f"there is no brain {pin.file!r} within {looked}. {hint}".rstrip(" "))
        return path

    return find


def find_moved_brain(name: str) -> Path | None:
    """Return the shipped brain that a former name means; None if there is none.

    Look here last: a brain of a user may have the same name.

    Args:
        name: The name in a workflow file, or the absolute path that `--brain` has left on a tape.
    """
    models = bundled_dir("models")
    path = PurePath(name)
    if path.is_relative_to(models):
        path = path.relative_to(models)
    former = path.as_posix()
    present = present_name(former)
    if present == former:
        return None
    return find_inside(present, [models])


def present_name(name: str) -> str:
    """Return the name that a shipped brain has now, given that name or a former one."""
    folder, slash, file = name.partition("/")
    return f"{_MOVED_FOLDERS.get(folder, folder)}{slash}{file}"


def with_hash(name: str, sha256: str) -> str:
    """Return the name for a file whose own name is taken by another: `head-0a1b2c3d.safetensors`.

    Args:
        name: The name that is taken, perhaps with folders.
        sha256: The SHA-256 of the file, in hexadecimal.
    """
    path = PurePosixPath(name)
    return path.with_stem(f"{path.stem}-{sha256[:8]}").as_posix()


def find_imported_brain(name: str, sha256: str, own: Path) -> Path | None:
    """Return the brain that was imported with a tape; None if there is none.

    Args:
        name: The name on the tape; of a path, only the last part counts.
        sha256: The SHA-256 of the file.
        own: The user's own folder, with workflows and models.
    """
    path = PurePosixPath(name)
    if path.is_absolute():
        name = path.name
    for possible in (with_hash(name, sha256), name):
        for folder in (own / "workflows", own / "models", bundled_dir("models")):
            found = find_inside(possible, [folder])
            if found is not None and hash_file(found) == sha256:
                return found
    return None


def _suggest_brain(name: str, folders: Iterable[Path]) -> str | None:
    """Return a hint with the name of the brain that was probably meant, or None.

    Brains lie in a folder, or in a folder of their kind within it.
    """
    known = []
    for folder in folders:
        for file in [*folder.glob("*.safetensors"), *folder.glob("*/*.safetensors")]:
            known.append(file.relative_to(folder).with_suffix("").as_posix())
    # the suffix is the same in all names, and would make them look alike
    meant = closest(name.removesuffix(".safetensors"), known)
    if meant is None:
        return None
    return f"Did you mean '{meant}.safetensors'?"


def find_brain_file(name: str, workflow: Path | None, models: Path | None = None) -> Path:
    """Return the brain file that was named on the command line: a path,
    or a name in the form of a workflow file.
    """
    path = Path(name)
    if path.is_file():
        return path
    try:
        return brain_finder(workflow, models=models)(BrainPin(name))
    except BrainError as error:
        moved = find_moved_brain(os.path.abspath(name))
        if moved is None:
            raise MinibrainsError(str(error)) from None
        return moved
