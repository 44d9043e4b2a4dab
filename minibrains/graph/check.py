"""Workflow -> checked graph: every fault at once, each with node, socket, expected and found."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minibrains.brain_file import hash_file, read_header
from minibrains.errors import BrainError, Fault, WorkflowError, near
from minibrains.graph.error_policy import gives_fallback
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import BrainPin, Link, NodeEntry, Workflow
from minibrains.node import Node, Register
from minibrains.node_schema import Input, Output
from minibrains.sockets import Mismatch, SocketTypes, Unifier

WHEN = Input("when", SocketTypes.named("flag"))
"""What a node's `when` is linked to: an input that every node has."""

Sizes = Mapping[str, Mapping[str, int]]
"""Node id -> the sizes it said when it was opened."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node that can be made: its class, widget values and brain file are sound."""

    id: str
    cls: type[Node]
    entry: NodeEntry
    widgets: Mapping[str, Any]
    brain: Path | None
    brain_sha256: str | None
    sizes: Mapping[str, int]

    @property
    def register(self) -> bool:
        return issubclass(self.cls, Register)

    @property
    def continues(self) -> bool:
        """Thinks beside the clock; its result comes later, as a register's does."""
        return self.cls.background is not None and self.entry.busy == "continue"

    @property
    def delays(self) -> bool:
        """What goes in on a tick comes out on a later one: loops may go through it."""
        return self.register or self.continues


@dataclass(frozen=True, slots=True)
class Wire:
    """One effective link: mutes and bypasses are worked in, and both ends exist."""

    source: str
    output: Output
    target: str
    input: Input


@dataclass(frozen=True, slots=True)
class Graph:
    """A workflow without faults, as far as they can be seen before its nodes are opened."""

    workflow: Workflow
    nodes: Mapping[str, CheckedNode]
    wires: tuple[Wire, ...]
    gates: Mapping[str, Link]
    """Node id -> the Flag output its `when` reads, after mutes and bypasses."""

    def brain_files(self) -> dict[str, dict[str, str]]:
        """List the brains it is played with: node id -> `file` and `sha256`."""
        return {
            name: {"file": str(node.brain), "sha256": str(node.brain_sha256)}
            for name, node in self.nodes.items()
            if node.brain is not None
        }


FindBrain = Callable[[BrainPin], Path]
"""Where a brain named in the workflow lies. Raises BrainError."""
HashBrain = Callable[[Path], str | None]
"""The SHA-256 of a brain file; None while it is not known."""


def check(workflow: Workflow, registry: Registry, find_brain: FindBrain, hash_brain: HashBrain = hash_file) -> Graph:
    """Check a workflow. Raises WorkflowError with everything that is wrong with it.

    `hash_brain` is for who cannot wait while a large file is read.
    """
    return _Checker(workflow, registry, find_brain, hash_brain).graph()


def check_sizes(graph: Graph, opened: Sizes) -> None:
    """Unify the socket types once more, with what the nodes said when they were opened. Raises WorkflowError."""
    faults = list(_type_faults(graph.nodes, graph.wires, opened))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


class _Checker:
    def __init__(self, workflow: Workflow, registry: Registry, find_brain: FindBrain, hash_brain: HashBrain) -> None:
        self.workflow = workflow
        self.find_brain = find_brain
        self.hash_brain = hash_brain
        self.faults: list[Fault] = list(workflow.faults)
        self.unreadable = {fault.node for fault in workflow.faults}
        found = {name: registry.current(entry, self.faults) for name, entry in workflow.nodes.items()}
        self.classes = {name: pair[0] for name, pair in found.items() if pair}
        self.entries = {name: pair[1] for name, pair in found.items() if pair}

    def graph(self) -> Graph:
        nodes = {name: self._node(name) for name in self.entries}
        wires: list[Wire] = []
        gates: list[Wire] = []
        for name, entry in self.entries.items():
            wires.extend(self._wires(name))
            if entry.when is not None:
                gates.extend(self._wire(entry.when, name, WHEN))
        for name, entry in self.workflow.nodes.items():
            if name not in self.entries:
                for socket, links in entry.inputs.items():
                    for link in links:
                        self._given(link, name, socket)
        live = {name: node for name, node in nodes.items() if node.entry.mode == "run"}
        self.faults.extend(_type_faults(nodes, [*wires, *gates], {}))
        self.faults.extend(_loops(nodes, [*wires, *gates]))
        self.faults.extend(_standstills(live, [*wires, *gates]))
        if self.faults:
            raise WorkflowError(self.faults, self.workflow.where)
        flags = {gate.target: Link(gate.source, gate.output.name) for gate in gates}
        return Graph(self.workflow, live, tuple(wires), flags)

    def _node(self, name: str) -> CheckedNode:
        cls, entry = self.classes[name], self.entries[name]
        widgets = dict(self._widgets(name))
        brain, sizes = None, dict[str, int]()
        sha256: str | None = None
        try:
            brain, sizes = self._brain(cls, entry)
            sha256 = None if brain is None else self.hash_brain(brain)
            wanted = None if entry.brain is None else entry.brain.sha256
            if wanted is not None and brain is not None and sha256 is None:
                raise BrainError(f"{brain}: its SHA-256 is still being worked out, expected {wanted}. Try again in a while")
            if wanted not in (None, sha256):
                raise BrainError(f"{brain} is not the brain this workflow was saved with; expected SHA-256 {wanted}")
        except BrainError as error:
            self.faults.append(Fault(str(error), name, "brain"))
        sizes.update({key: value for key, value in widgets.items() if type(value) is int})
        for key in ("busy", "latency", "timeout"):
            if key in entry.raw and cls.background is None:
                self.faults.append(Fault(f'"{key}" is for background nodes, and {entry.type} is none', name))
        if gives_fallback(entry.on_error) and cls.fallback is None:
            self.faults.append(Fault(f'{entry.type} has no fallback for "on_error": "fallback"; expected "stop" or "hold"', name))
        paced = entry.every != 1 or entry.hertz is not None or entry.when is not None or entry.optional
        if issubclass(cls, Register) and paced:
            message = f'"every", "when" and "optional" are not for a register, and {entry.type} is one: it runs on every tick'
            self.faults.append(Fault(message, name))
        return CheckedNode(name, cls, entry, widgets, brain, sha256, sizes)

    def _widgets(self, name: str) -> Iterator[tuple[str, Any]]:
        cls, entry = self.classes[name], self.entries[name]
        declared = cls.schema.widgets
        for key in entry.set:
            if key not in declared:
                self.faults.append(Fault(f"{entry.type} has no widget {key!r}", name, hint=near(key, declared)))
        for key, widget in declared.items():
            value = entry.set.get(key, widget.default)
            if key not in entry.set:
                if widget.required:
                    self.faults.append(Fault("the widget must be set", name, key, expected=widget.describe()))
                else:
                    yield key, value
                continue
            try:
                yield key, widget.read(value)
            except ValueError:
                self.faults.append(
                    Fault("the widget has a wrong value", name, key, expected=widget.describe(), found=repr(value))
                )

    def _brain(self, cls: type[Node], entry: NodeEntry) -> tuple[Path | None, dict[str, int]]:
        kind = cls.schema.brain
        if entry.brain is None:
            if cls.schema.brain_required and kind is not None and entry.raw.get("brain") is None:
                raise BrainError(f'{entry.type} needs a brain of kind {kind.kind!r}: "brain": "….safetensors"')
            return None, {}
        if kind is None:
            raise BrainError(f"{entry.type} has no brain, but the workflow gives it {entry.brain.file!r}")
        path = self.find_brain(entry.brain)
        sizes = dict(kind.check_header(read_header(path)))
        return path, sizes

    def _wires(self, name: str) -> Iterator[Wire]:
        cls, entry = self.classes[name], self.entries[name]
        inputs = cls.schema.inputs
        for socket, links in entry.inputs.items():
            if socket not in inputs:
                self.faults.append(Fault(f"{entry.type} has no input {socket!r}", name, hint=near(socket, inputs)))
                for link in links:
                    self._given(link, name, socket)
        for socket, declared in inputs.items():
            links = entry.inputs.get(socket, ())
            if len(links) > 1 and not declared.many:
                self.faults.append(Fault("the input takes one link", name, socket, found=", ".join(map(str, links))))
            if not links and declared.needed and socket not in entry.inputs:
                hint = f'Link it: "in": {{"{socket}": "node.output"}}'
                self.faults.append(Fault("nothing is linked to this input", name, socket, expected=str(declared.kind), hint=hint))
            for link in links:
                yield from self._wire(link, name, declared)

    def _wire(self, link: Link, name: str, declared: Input) -> Iterator[Wire]:
        running = self._given(link, name, declared.name) and self.entries[name].mode == "run"
        if running and (source := self._through(link)) is not None:
            yield Wire(source.node, self.classes[source.node].schema.outputs[source.socket], name, declared)

    def _given(self, link: Link, name: str, socket: str) -> bool:
        """Whether the output that a link begins at is known; says so if there is none."""
        if link.node in self.classes:
            outputs = self.classes[link.node].schema.outputs
            if link.socket in outputs:
                return True
            hint = near(link.socket, outputs) or f"Its outputs are: {', '.join(outputs) or 'none'}"
            self.faults.append(Fault(f"{link.node!r} has no output {link.socket!r}", name, socket, hint=hint))
        elif link.node not in self.workflow.nodes and link.node not in self.unreadable:
            meant = near(link.node, self.workflow.nodes)
            self.faults.append(Fault(f"there is no node {link.node!r}", name, socket, hint=meant))
        return False

    def _through(self, link: Link) -> Link | None:
        """The output that really feeds a link, past bypassed nodes; None behind a muted one."""
        seen: set[Link] = set()
        while link not in seen and link.node in self.entries:
            seen.add(link)
            entry, schema = self.entries[link.node], self.classes[link.node].schema
            if entry.mode == "run":
                return link if link.socket in schema.outputs else None
            if entry.mode == "mute" or link.socket not in schema.outputs:
                return None
            wanted = schema.outputs[link.socket].kind
            place = list(schema.outputs).index(link.socket)
            ways = [socket for socket, declared in schema.inputs.items() if _fits(declared.kind, wanted)]
            if list(schema.inputs)[place : place + 1] and list(schema.inputs)[place] in ways:
                ways.insert(0, list(schema.inputs)[place])
            links = entry.inputs.get(ways[0], ()) if ways else ()
            if not links:
                return None
            link = links[0]
        return None


def _fits(kind: SocketTypes, other: SocketTypes) -> bool:
    if kind.variable or other.variable:
        return kind.variable == other.variable
    return bool({option.name for option in kind.options} & {option.name for option in other.options})


def _loops(nodes: Mapping[str, CheckedNode], wires: Iterable[Wire]) -> Iterator[Fault]:
    """Loops that nothing delays."""
    for loop in _cycles((name for name, node in nodes.items() if not node.delays), wires):
        hint = "Every loop must cross a register; put a Previous into it"
        yield Fault(f"the links form a loop: {' -> '.join(loop)}", hint=hint)


def _standstills(nodes: Mapping[str, CheckedNode], wires: Iterable[Wire]) -> Iterator[Fault]:
    """Loops closed only by `"busy": "continue"` in which every node waits for a first value of the one before."""
    awaited = [wire for wire in wires if wire.input is WHEN or wire.input.required]
    for loop in _cycles((name for name, node in nodes.items() if not node.register), awaited):
        if any(nodes[name].continues for name in loop):
            hint = 'Make one of the inputs optional, or put a Previous with "initial" into it'
            yield Fault(f"the loop {' -> '.join(loop)} never begins: each node waits for the one before it", hint=hint)


def _cycles(names: Iterable[str], wires: Iterable[Wire]) -> Iterator[list[str]]:
    """Loops among these nodes, until none is left when one link of each is taken out, or there are 20."""
    before: dict[str, set[str]] = {name: set() for name in names}
    for wire in wires:
        if wire.source in before and wire.target in before:
            before[wire.target].add(wire.source)
    for _ in range(20):
        try:
            graphlib.TopologicalSorter(before).prepare()
        except graphlib.CycleError as error:
            loop: list[str] = error.args[1]
            yield loop
            before[loop[1]].discard(loop[0])
        else:
            return


def _type_faults(nodes: Mapping[str, CheckedNode], wires: Iterator[Wire] | Any, opened: Sizes) -> Iterator[Fault]:
    def known(node: str, name: str) -> int | None:
        size = opened[node].get(name) if node in opened else None
        return nodes[node].sizes.get(name) if size is None else size

    unifier = Unifier(known)
    for wire in wires:
        try:
            unifier.link(wire.source, wire.output.kind, wire.target, wire.input.kind)
        except Mismatch as error:
            link = f"{wire.source}.{wire.output.name}"
            message = f"the link from {link} does not fit"
            yield Fault(message, wire.target, wire.input.name, expected=error.expected, found=f"{error.found} at {link}")


def resolve_outputs(graph: Graph) -> dict[tuple[str, str], str]:
    """What flows out of every output, in words: its type with the sizes that the links decide."""
    unifier = Unifier(lambda node, name: graph.nodes[node].sizes.get(name))
    for wire in graph.wires:
        if wire.target in graph.nodes and wire.source in graph.nodes:
            unifier.link(wire.source, wire.output.kind, wire.target, wire.input.kind)
    return {
        (name, output.name): str(unifier.resolve(name, output.kind))
        for name, node in graph.nodes.items()
        for output in node.cls.schema.outputs.values()
    }
