"""The software and the machine, on which results depend besides workflow and brains."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import minibrains
from minibrains.brain_file import hash_file

_LIBRARIES: Final = ("numpy", "stable-retro", "torch", "transformers", "peft")
_OURS: Final = ("minibrains", "nodes")
"""The packages whose code determines results, in addition to node packs."""
_packs: Final[dict[str, str]] = {}
"""Name of a node pack's outermost package or module -> SHA-256 of its files when it was
imported."""


def hash_with_software(text: str) -> str:
    """Return a SHA-256 of `text`, this software and this machine,
    as a key for results that depend on them.
    """
    everything = repr((text, sorted(software().items()), _installed(), machine()["cpu"]))
    return hashlib.sha256(everything.encode()).hexdigest()


@cache
def software() -> dict[str, str]:
    """Return the versions of the software that plays; `code` is the SHA-256 of our own files."""
    found = {"minibrains": minibrains.__version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    code = hashlib.sha256()
    for package in _OURS:
        spec = find_spec(package)
        assert spec is not None
        for line in _list_files(package, Path(spec.origin or "").parent, "**/*.py"):
            code.update(line)
    return {**found, "code": code.hexdigest()}


def hash_pack(module: str) -> str:
    """Return a SHA-256 of the Python files that are edited together with a module of a node pack.

    These are all files of its outermost package, or of its folder if it is in no package. Returns
    "" for our own modules and the standard library, which `software` covers, and for code without a
    file, as in a notebook.
    """
    package = module.partition(".")[0]
    if package in _OURS or package in sys.stdlib_module_names:
        return ""
    if package not in _packs:
        remember_pack(package)
    return _packs[package]


def remember_pack(package: str) -> None:
    """Hash the files of a pack that was just imported,
    because they may be edited while this process runs the old code.
    """
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None)
    folders = list(getattr(module, "__path__", ()))
    pattern = "**/*.py"
    if not folders and file:
        folders = [os.path.dirname(file)]
        pattern = "*.py"
    code = hashlib.sha256()
    for folder in folders:
        for line in _list_files(package, Path(folder), pattern):
            code.update(line)
    _packs[package] = code.hexdigest() if folders else ""


def _list_files(package: str, folder: Path, pattern: str) -> Iterator[bytes]:
    """Yield a line for each file: its place in the package, and its SHA-256."""
    for file in sorted(folder.glob(pattern)):
        try:
            digest = hash_file(file)
        except OSError:
            continue  # it cannot be imported either: an editor's lock file, or one of another user
        yield f"{package}/{file.relative_to(folder).as_posix()} {digest}\n".encode()


@cache
def _installed() -> list[str]:
    """Return all installed packages with versions:
    results depend on more of them than a summary lists.
    """
    return sorted(f"{package.name} {package.version}" for package in distributions())


@cache
def machine() -> dict[str, Any]:
    """Return a description of this computer:
    sums of floating-point numbers may differ between computers.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    if names:
        cpu = names[0]
    else:
        cpu = platform.processor() or platform.machine()
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}
