"""The registry of node types: name -> class."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from minibrains.console import Console
from minibrains.errors import Fault, MinibrainsError, NodeClassError, suggest
from minibrains.graph.socket_ref import parse_socket_ref
from minibrains.graph.workflow import NodeEntry, Workflow, parse_workflow, read_node
from minibrains.node import Node
from minibrains.software import hash_pack, remember_pack

ENTRY_POINT = "minibrains.packs"
"""The entry-point group in which an installed package names its module of nodes: `myfight =
"myfight.nodes"`."""

_PROBE = "probe.probe"
"""A value that is followed through migrations: a link, and a text."""


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
        """Add one node class. Raises MinibrainsError if its name is taken."""
        name = f"{pack}.{cls.__name__}" if pack else cls.__name__
        if self._types.setdefault(name, cls) is not cls:
            raise MinibrainsError(
                f"two node classes are called {name}: "
                f"{self._types[name].__module__} and {cls.__module__}"
            )

    def add_module(self, module: ModuleType, pack: str | None = None) -> None:
        """Add every node class that a module, or the modules of a package, define,
        unless its name begins with _.
        """
        inner = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
        for source in [module, *(importlib.import_module(info.name) for info in inner)]:
            for name, value in list(vars(source).items()):
                node = (
                    isinstance(value, type)
                    and issubclass(value, Node)
                    and "schema" in value.__dict__
                )
                if node and value.__module__ == source.__name__ and not name.startswith("_"):
                    self.add(value, pack)

    def add_file(self, path: Path) -> None:
        """Add the nodes of one Python file as a pack named like the file,
        to try out nodes while writing them.
        """
        # not the stem itself: random.py must not replace the module random
        name = f"minibrains_pack_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise MinibrainsError(f"{path}: there is no such Python file to take nodes from")
        if not path.stem.isidentifier():
            raise MinibrainsError(
                f"{path}: nodes are named {path.stem}.…; "
                "rename the file so that this is a valid name"
            )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except NodeClassError as error:
            raise NodeClassError(f"{path}: {error}") from error
        except MinibrainsError:
            raise
        except (Exception, SystemExit) as error:
            raise MinibrainsError(
                f"{path}: the file cannot be imported: {type(error).__name__}: {error}"
            ) from error
        remember_pack(name)
        self.add_module(module, path.stem)

    def add_packs(self) -> list[str]:
        """Add the packs of installed packages;
        return a sentence for each that could not be loaded.
        """
        broken = []
        for point in entry_points(group=ENTRY_POINT):
            try:
                self.add_module(importlib.import_module(point.value), point.name)
                hash_pack(point.value)  # now, before anybody edits it
            except (Exception, SystemExit) as error:
                broken.append(
                    f"the node pack {point.name!r} ({point.value}) was left out: "
                    f"{type(error).__name__}: {error}"
                )
        return broken

    def migrate(self, workflow: Workflow) -> Workflow:
        """Return the workflow with every older node, and the links to it,
        brought up to the version of its class.

        Links are in the entries of other nodes, where the name of a renamed output is replaced, as
        it is in breakpoints. A node that cannot be migrated stays as it is, and `faults` of the
        result says so.
        """
        if not any(map(self.is_old, workflow.nodes.values())):
            return workflow
        data = copy.deepcopy(workflow.to_json())
        faults: list[Fault] = []
        renamed = self._migrate_nodes(data["nodes"], "", faults)
        inside: dict[str, dict[str, list[Mapping[str, str]]]] = {}
        for box in workflow.boxes.values():
            if box.subgraph not in inside:
                subgraph = data["defs"][box.subgraph]
                inside[box.subgraph] = self._migrate_subgraph(box.subgraph, subgraph, faults)
        for path, box in workflow.boxes.items():
            for node, names in inside[box.subgraph].items():
                renamed[f"{path}/{node}"] = names
        if isinstance(data.get("breakpoints"), dict):
            conditions = data["breakpoints"].items()
            data["breakpoints"] = {_follow(link, renamed): text for link, text in conditions}
        migrated = parse_workflow(data, workflow.path)
        return replace(migrated, faults=(*migrated.faults, *faults))

    def _migrate_subgraph(
        self, name: str, subgraph: dict[str, Any], faults: list[Fault]
    ) -> dict[str, list[Mapping[str, str]]]:
        """Migrate a subgraph in place; return the new names of its nodes' outputs."""
        before = copy.deepcopy(subgraph["nodes"])
        renamed = self._migrate_nodes(subgraph["nodes"], f"{name}/", faults)
        _rename_ends(subgraph, before, self)
        outputs = subgraph.get("outputs")
        if isinstance(outputs, dict):
            for output, link in outputs.items():
                outputs[output] = _follow(link, renamed)
        return renamed

    def _migrate_nodes(
        self, nodes: dict[str, Any], where: str, faults: list[Fault]
    ) -> dict[str, list[Mapping[str, str]]]:
        """Migrate the nodes of a workflow, or of a subgraph, in place; return the new names of
        their outputs.
        """
        renamed: dict[str, list[Mapping[str, str]]] = {}
        for name, raw in nodes.items():
            entry = read_node(name, raw, [])
            if entry is None or not self.is_old(entry):
                continue
            cls = self._types[entry.type]
            steps = range(entry.version, cls.version)
            try:
                nodes[name] = _migrate(raw, entry, cls)
            except MinibrainsError as error:
                faults.append(Fault(str(error), where + name, code="migration_failed"))
            else:
                renamed[name] = [cls.renamed_outputs.get(step, {}) for step in steps]
        for raw in nodes.values():
            _rename_links(raw, renamed)
        return renamed

    def consoles(self, workflow: Workflow) -> list[NodeEntry]:
        """Return the entries of the consoles in a workflow."""
        return [
            entry
            for entry in workflow.nodes.values()
            if issubclass(self.get(entry.type, Node), Console)
        ]

    def class_of(self, entry: NodeEntry, faults: list[Fault]) -> type[Node] | None:
        """Return the class of a node in a migrated workflow; if its type is wrong,
        return None and append to `faults`.
        """
        cls = self._types.get(entry.type)
        if cls is None:
            hint = (
                suggest(entry.type, self._types)
                or "Is a node pack missing (--pack FILE), or was --no-packs given?"
            )
            faults.append(
                Fault(
                    f"the node type {entry.type!r} is not known",
                    entry.id,
                    hint=hint,
                    code="missing_node_type",
                )
            )
            return None
        if entry.version > cls.version:
            hint, found = (
                "Update Minibrains, or the pack that has this node",
                f"{entry.type}@{entry.version}",
            )
            expected = f"at most @{cls.version}"
            faults.append(
                Fault(
                    "the node is newer",
                    entry.id,
                    expected=expected,
                    found=found,
                    hint=hint,
                    code="newer_version",
                )
            )
            return None
        if entry.version < cls.version:
            return None  # it could not be migrated, which the workflow's faults say already
        return cls

    def is_old(self, entry: NodeEntry) -> bool:
        """Return whether a node has an older version than its class, and can be migrated."""
        cls = self._types.get(entry.type)
        return cls is not None and entry.version < cls.version


def _migrate(raw: dict[str, Any], entry: NodeEntry, cls: type[Node]) -> dict[str, Any]:
    """Return a node's entry, migrated to the version of its class. Raises MinibrainsError."""
    for version in range(entry.version, cls.version):
        change = cls.migrations.get(version)
        try:
            changed = dict(raw)
            if change is not None:
                changed = change(raw)
            _rename_keys(changed, "in", cls.renamed_inputs.get(version, {}))
            _rename_keys(changed, "set", cls.renamed_widgets.get(version, {}))
            raw = {**changed, "type": f"{entry.type}@{version + 1}"}
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise MinibrainsError(
                f"the node cannot be brought from @{version} to @{version + 1}: {reason}"
            ) from error
    return raw


def _rename_keys(raw: dict[str, Any], part: str, names: Mapping[str, str]) -> None:
    if names and isinstance(raw.get(part), dict):
        raw[part] = {names.get(key, key): value for key, value in raw[part].items()}


def _rename_ends(subgraph: dict[str, Any], before: Mapping[str, Any], registry: Registry) -> None:
    """Let the inputs and widgets of a subgraph lead to where they are in its migrated nodes.

    Args:
        subgraph: The definition, whose nodes were migrated.
        before: Its nodes as they were.
        registry: The node types.
    """
    for part, key in (("inputs", "in"), ("widgets", "set")):
        ends = subgraph.get(part)
        if not isinstance(ends, dict):
            continue
        for name, texts in ends.items():
            if isinstance(texts, list):
                ends[name] = [_renamed_end(text, key, before, registry) for text in texts]
            else:
                ends[name] = _renamed_end(texts, key, before, registry)


def _renamed_end(text: Any, key: str, before: Mapping[str, Any], registry: Registry) -> Any:
    """Return the input (`key` "in") or the widget ("set") that one of a node has become."""
    link = parse_socket_ref(text)
    if link is None or link.node not in before:
        return text
    raw = before[link.node]
    entry = read_node(link.node, raw, [])
    if entry is None or not registry.is_old(entry):
        return text
    inner = raw.get(key, {})
    probe = {**raw, key: {**(inner if isinstance(inner, dict) else {}), link.socket: _PROBE}}
    try:
        migrated = _migrate(copy.deepcopy(probe), entry, registry[entry.type])
    except MinibrainsError:
        return text
    for name, value in migrated.get(key, {}).items():
        if value in (_PROBE, [_PROBE]):
            return f"{link.node}.{name}"
    return text


def _rename_links(raw: Any, renamed: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """Rename the sources of the inputs and of the `when` in a node's entry.

    Args:
        raw: The entry.
        renamed: Node id -> the new names of its outputs, for each version from which it was
            migrated.
    """
    if not isinstance(raw, dict):
        return
    if isinstance(raw.get("in"), dict):
        raw["in"] = {socket: _follow(links, renamed) for socket, links in raw["in"].items()}
    if "when" in raw:
        raw["when"] = _follow(raw["when"], renamed)


def _follow(link: Any, renamed: Mapping[str, Sequence[Mapping[str, str]]]) -> Any:
    """Return a link, or a list of links, with the new name of the output.

    A value that is not a link stays as it is.
    """
    if isinstance(link, list):
        return [_follow(one, renamed) for one in link]
    if not isinstance(link, str):
        return link
    node, dot, socket = link.partition(".")
    for names in renamed.get(node, ()):
        socket = names.get(socket, socket)
    return f"{node}{dot}{socket}"
