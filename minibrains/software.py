"""What results follow from besides workflow and brains: this software, its libraries, this machine."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import minibrains
from minibrains.brain_file import hash_file

_LIBRARIES: Final = ("numpy", "stable-retro", "torch", "transformers", "peft")
_OURS: Final = ("minibrains", "nodes")
"""The code that decides how a game goes; the modules of node packs come to it."""


def hash_with_software(text: str) -> str:
    """Return a SHA-256 for what follows from `text` on this machine with this software."""
    everything = repr((text, sorted(software().items()), machine()["cpu"]))
    return hashlib.sha256(everything.encode()).hexdigest()


@cache
def software() -> dict[str, str]:
    """Versions of what games are played with; `code` is the SHA-256 of our own files, which change between versions."""
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
        folder = Path(spec.origin or "").parent
        for file in sorted(folder.rglob("*.py")):
            code.update(f"{package}/{file.relative_to(folder).as_posix()} {hash_file(file)}\n".encode())
    return {**found, "code": code.hexdigest()}


@cache
def machine() -> dict[str, Any]:
    """The computer: sums of floating-point numbers may differ from one to another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}
