"""One of those who are compared: a workflow under the conditions of an evaluation, and everything its games follow from."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import minibrains
from minibrains.brain_file import hash_file
from minibrains.engine.kept import hash_module
from minibrains.evaluation.protocol import Protocol
from minibrains.graph.check import Graph
from minibrains.graph.workflow import NodeEntry
from minibrains.run.spec import RunSpec

_LIBRARIES: Final = ("numpy", "stable-retro", "torch", "transformers", "peft")
_OURS: Final = ("minibrains", "nodes")
"""The code that decides how a game goes; the modules of node packs come to it."""


@dataclass
class Player:
    """A workflow that was pinned to the protocol and checked."""

    roles: list[str]
    """evaluated, against, or what the game calls its baseline."""
    graph: Graph
    spec: RunSpec
    """What each worker makes its engine from."""
    protocol: Protocol
    left_out: list[str]
    """Nodes that are muted, because they collect or train and the states are held back."""
    facts: Mapping[str, Any] = field(init=False)
    """What its games follow from: the same facts, the same games."""
    key: str = field(init=False)
    """SHA-256 of `facts`."""

    def __post_init__(self) -> None:
        classes = sorted({node.cls for node in self.graph.nodes.values()}, key=lambda cls: cls.__module__)
        workflow = self.graph.workflow
        self.facts = {
            "nodes": {name: _meaning(entry) for name, entry in workflow.nodes.items()},
            "brains": {name: brain["sha256"] for name, brain in self.graph.brain_files().items()},
            "modules": {cls.__module__: hash_module(cls.__module__) for cls in classes},
            "protocol": self.protocol.as_json(),
            "software": software(),
            "cpu": machine()["cpu"],
        }
        self.key = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        return self.graph.workflow.name

    @property
    def title(self) -> str:
        """What its files are called."""
        return f"{self.name}-{self.protocol.split}-{self.key[:12]}"

    def as_json(self) -> dict[str, Any]:
        """Who this is, for the results."""
        return {
            "name": self.name,
            "roles": self.roles,
            "workflow": str(self.graph.workflow.path or ""),
            "nodes_sha256": hashlib.sha256(json.dumps(self.facts["nodes"], sort_keys=True).encode()).hexdigest(),
            "brains": self.graph.brain_files(),
            "left_out": self.left_out,
        }


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
        folder = Path(sys.modules[package].__file__ or "").parent
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


def _meaning(entry: NodeEntry) -> dict[str, Any]:
    """An entry without what makes no difference: of a brain the content counts, not where its file lies."""
    return {key: value for key, value in entry.raw.items() if key not in ("title", "brain")}
