"""Which node types there are: name -> class."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from minibrains.errors import Fault, MinibrainsError, near
from minibrains.graph.workflow import NodeEntry, read_node
from minibrains.node import Node

ENTRY_POINT = "minibrains.packs"
"""The entry-point group in which an installed package names its module of nodes: `myfight = "myfight.nodes"`."""


class Registry(Mapping[str, type[Node]]):
    """Node types by name: `FrameStack`, or `pack.FrameStack` for those of a pack."""

    def __init__(self) -> None:
        self._types: dict[str, type[Node]] = {}

    def __getitem__(self, name: str) -> type[Node]:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def add(self, cls: type[Node], pack: str | None = None) -> None:
        """Add one node class. Raises MinibrainsError if the name is taken."""
        name = f"{pack}.{cls.__name__}" if pack else cls.__name__
        if self._types.setdefault(name, cls) is not cls:
            raise MinibrainsError(f"two node classes are called {name}: {self._types[name].__module__} and {cls.__module__}")

    def add_module(self, module: ModuleType, pack: str | None = None) -> None:
        """Add every node class that a module, or the modules of a package, define. Names with _ are left out."""
        inner = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
        for source in [module, *(importlib.import_module(info.name) for info in inner)]:
            for name, value in list(vars(source).items()):
                node = isinstance(value, type) and issubclass(value, Node) and "schema" in value.__dict__
                if node and value.__module__ == source.__name__ and not name.startswith("_"):
                    self.add(value, pack)

    def add_file(self, path: Path) -> None:
        """Add the nodes of one Python file as a pack named like the file; for trying out what you write."""
        name = f"minibrains_pack_{path.stem}"  # not the stem itself: random.py must not stand in for random
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise MinibrainsError(f"{path}: there is no such Python file to take nodes from")
        if not path.stem.isidentifier():
            raise MinibrainsError(f"{path}: nodes are named {path.stem}.…; rename the file so that it can stand there")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except MinibrainsError:
            raise
        except Exception as error:
            raise MinibrainsError(f"{path}: the file cannot be imported: {type(error).__name__}: {error}") from error
        self.add_module(module, path.stem)

    def add_packs(self) -> list[str]:
        """Add the packs that installed packages offer; returns a sentence for each that could not be loaded."""
        broken = []
        for point in entry_points(group=ENTRY_POINT):
            try:
                self.add_module(importlib.import_module(point.value), point.name)
            except Exception as error:
                broken.append(f"the node pack {point.name!r} ({point.value}) was left out: {type(error).__name__}: {error}")
        return broken

    def current(self, entry: NodeEntry, faults: list[Fault]) -> tuple[type[Node], NodeEntry] | None:
        """The class of a workflow's node, and the entry brought up to the class's version by its migrations."""
        cls = self._types.get(entry.type)
        if cls is None:
            hint = near(entry.type, self._types) or "Is a node pack missing, or was --no-packs given?"
            faults.append(Fault(f"the node type {entry.type!r} is not known", entry.id, hint=hint, code="missing_node_type"))
            return None
        if entry.version == cls.version:
            return cls, entry
        if entry.version > cls.version:
            hint, found = "Update Minibrains, or the pack that has this node", f"{entry.type}@{entry.version}"
            expected = f"at most @{cls.version}"
            faults.append(Fault("the node is newer", entry.id, expected=expected, found=found, hint=hint, code="newer_version"))
            return None
        raw = copy.deepcopy(dict(entry.raw))
        for version in range(entry.version, cls.version):
            try:
                raw = {**cls.migrations[version](raw), "type": f"{entry.type}@{version + 1}"}
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                message = f"the node cannot be brought from @{version} to @{version + 1}: {reason}"
                faults.append(Fault(message, entry.id, code="migration_failed"))
                return None
        more: list[Fault] = []
        migrated = read_node(entry.id, raw, more)
        faults.extend(fault for fault in more if fault not in faults)
        return None if migrated is None else (cls, migrated)
