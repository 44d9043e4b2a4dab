"""How to make a run's engine again, in any process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.kept import KeptOutputs
from minibrains.files import home
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow


class Recipe:
    """A workflow, with where its node types and brains come from. Can be pickled until it was used."""

    def __init__(self, workflow: Workflow, brains: Iterable[Path], packs: bool, files: Iterable[str]) -> None:
        """`packs`: whether the packs of installed packages count; `files`: packs of one Python file each."""
        # another process may be in another folder
        self._workflow = replace(workflow, path=workflow.path and workflow.path.absolute())
        self._brains = [path.absolute() for path in brains]
        self._packs = packs
        self._files = [Path(file).absolute() for file in files]
        self._registry: Registry | None = None

    def load(self) -> Registry:
        """Import the node types, once."""
        if self._registry is None:
            self._registry, _ = node_types(self._packs, self._files)
        return self._registry

    def make(self) -> Engine:
        """Check, compile, make the nodes. Raises MinibrainsError."""
        graph = check(self._workflow, self.load(), brain_finder(self._workflow.path, self._brains))
        return Engine(compile_graph(graph), KeptOutputs(folder=home() / "kept"))
