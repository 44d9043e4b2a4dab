"""Check a workflow and build its graph: every fault is reported at once, with node, socket,
expected and found.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_origin

from minibrains.brain_file import BrainHeader, hash_file, read_header, short
from minibrains.errors import BrainError, Fault, FaultCode, WorkflowError, suggest
from minibrains.graph.error_policy import gives_fallback
from minibrains.graph.region import Region, find_region
from minibrains.graph.registry import Registry
from minibrains.graph.run_files import file_faults
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import BrainPin, NodeEntry, Workflow
from minibrains.node import Node, Register
from minibrains.node_options import EXECUTORS, Executor
from minibrains.node_schema import Input, NodeSchema, Output
from minibrains.sockets import (
    ANY_FILE,
    Known,
    Mismatch,
    Sha256,
    Size,
    SocketType,
    SocketTypes,
    Unifier,
)
from minibrains.values import is_value_type, parse_json, parse_value
from minibrains.widgets import Widget

WHEN = Input("when", SocketTypes.named("flag"))
"""The input that a node's `when` is linked to; every node has it."""

OTHER_FILE: Final = "_sha256"
"""The suffix of a brain setting that says which other file the brain was made for. The setting
without the suffix has the title of that file.
"""

Sizes = Mapping[str, Mapping[str, int]]
"""Node id -> the sizes that it gave when it was opened."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node that can be made: its class, widget values and brain file are valid."""

    id: str
    cls: type[Node]
    entry: NodeEntry
    widgets: Mapping[str, Any]
    brain: Path | None
    brain_sha256: str | None
    header: BrainHeader | None
    """The header of the brain file."""
    sizes: Mapping[str, int]

    @property
    def is_register(self) -> bool:
        """True for a register."""
        return issubclass(self.cls, Register)

    @property
    def background(self) -> Executor | None:
        """The executor of a background node; None if it computes within the tick."""
        if self.entry.background is not None:
            return self.entry.background
        if self.cls.background == "allowed" and "busy" not in self.entry.raw:
            return None
        return next(iter(EXECUTORS[self.cls.background]), None)

    @property
    def is_non_blocking(self) -> bool:
        """True if it thinks while the game goes on, so that its result comes on a later tick."""
        return self.background is not None and self.entry.busy == "continue"

    @property
    def fallback(self) -> Any:
        """The value to deliver in place of a result after an error, if the workflow says so;
        None if there is none.
        """
        fallback = self.cls.fallback
        if callable(fallback):
            return fallback(self.sizes)
        return fallback

    def known(self, name: str) -> Known | None:
        """Return the value that the node itself gives to a name in the specs of its sockets.

        That is one of its sizes, the hash of its `brain` file, or the hash in a setting of the
        brain called `…_sha256`, which is ANY_FILE if the node fits any file.
        """
        digest = None
        if name == "brain":
            digest = self.brain_sha256
        elif name.endswith(OTHER_FILE) and self.header is not None:
            if self.cls.fits_any_file(self.widgets):
                return ANY_FILE
            digest = self.header.config.get(name)
        else:
            return self.sizes.get(name)
        if digest is None:
            return None
        return Sha256(digest)

    @property
    def breaks_cycles(self) -> bool:
        """True if its inputs on one tick affect its outputs only on later ticks,
        so that loops may go through it.
        """
        return self.is_register or self.is_non_blocking


@dataclass(frozen=True, slots=True)
class Edge:
    """One effective link: mutes and bypasses are resolved, and both ends exist."""

    source: str
    output: Output
    target: str
    input: Input


@dataclass(frozen=True, slots=True)
class Graph:
    """A checked workflow, without any fault that the file, its brains and the classes of its nodes
    show. What an instance says of itself (`Node.check`) is found when it is made.
    """

    workflow: Workflow
    nodes: Mapping[str, CheckedNode]
    edges: tuple[Edge, ...]
    when_links: Mapping[str, SocketRef]
    """Node id -> the Flag output that its `when` reads, after mutes and bypasses."""
    region: Region | None = None
    """The nodes that are trained: something outside of the graph answers in their place."""

    def with_region(self, train: Iterable[str], reward: str | None) -> Graph:
        """Return the graph with the region of these nodes, see `find_region`.

        Raises MinibrainsError.
        """
        muted = self.workflow.nodes.keys() - self.nodes.keys()
        region = find_region(self.nodes, self.edges, self.when_links, train, reward, muted)
        return replace(self, region=region)

    def sources(self, name: str) -> dict[str, tuple[str, ...]]:
        """Return where the links of a node come from: input -> the id of a node for each link."""
        sources: dict[str, tuple[str, ...]] = {}
        for edge in self.edges:
            if edge.target == name:
                before = sources.get(edge.input.name, ())
                sources[edge.input.name] = (*before, edge.source)
        return sources

    def brain_files(self) -> dict[str, dict[str, str]]:
        """Return the brains of its nodes: node id -> `file` and `sha256`."""
        files: dict[str, dict[str, str]] = {}
        for name, node in self.nodes.items():
            if node.brain is not None:
                files[name] = {"file": str(node.brain), "sha256": str(node.brain_sha256)}
        return files


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of a workflow that can be understood, and everything that is wrong with it."""

    workflow: Workflow
    nodes: Mapping[str, CheckedNode]
    """The nodes of known types, including muted and bypassed ones."""
    edges: tuple[Edge, ...]
    when_links: tuple[Edge, ...]
    """The links of `when`, which lead to the input WHEN."""
    faults: tuple[Fault, ...]

    def graph(self) -> Graph:
        """Return the graph. Raises WorkflowError if there is a fault."""
        if self.faults:
            raise WorkflowError(self.faults, self.workflow.where)
        flags: dict[str, SocketRef] = {}
        for edge in self.when_links:
            flags[edge.target] = SocketRef(edge.source, edge.output.name)
        return Graph(self.workflow, _running(self.nodes), self.edges, flags)


FindBrain = Callable[[BrainPin], Path]
"""A function that finds the file of a brain named in the workflow. Raises BrainError."""
HashBrain = Callable[[Path, bool], str | None]
"""A function that returns the SHA-256 of a brain file, or None while it is not known. The second
argument tells whether the hash is compared with anything.
"""


def check(workflow: Workflow, registry: Registry, find_brain: FindBrain) -> Graph:
    """Check a workflow. Raises WorkflowError with everything that is wrong with it."""
    return examine(workflow, registry, find_brain).graph()


def _hash_brain(path: Path, compared: bool) -> str:
    return hash_file(path)


def examine(
    workflow: Workflow,
    registry: Registry,
    find_brain: FindBrain,
    hash_brain: HashBrain = _hash_brain,
) -> Draft:
    """Read a workflow as far as it can be understood, and collect everything that is wrong with it.

    A caller that cannot wait while a large file is read passes its own `hash_brain`.
    """
    return _Checker(workflow, registry, find_brain, hash_brain).draft()


def check_sizes(graph: Graph, opened: Sizes) -> None:
    """Unify the socket types again with the sizes that the nodes gave when they were opened.

    Raises WorkflowError.
    """
    faults = list(_type_faults(graph.nodes, graph.edges, opened))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


def resolve_sizes(graph: Graph, opened: Sizes) -> Unifier:
    """Return what the socket types of a graph are, with all sizes that are known.

    Args:
        graph: A graph whose types fit.
        opened: The sizes that its nodes gave when they were opened.
    """
    unifier = _unifier(graph.nodes, opened)
    for edge in graph.edges:
        unifier.link(edge.source, edge.output.type, edge.target, edge.input.type)
    return unifier


class _Checker:
    def __init__(
        self, workflow: Workflow, registry: Registry, find_brain: FindBrain, hash_brain: HashBrain
    ) -> None:
        self.workflow = registry.migrate(workflow)
        self.find_brain = find_brain
        self.hash_brain = hash_brain
        self.faults: list[Fault] = list(self.workflow.faults)
        self.unreadable = {fault.node for fault in self.faults}
        self.classes: dict[str, type[Node]] = {}
        self.entries: dict[str, NodeEntry] = {}
        for name, entry in self.workflow.nodes.items():
            cls = registry.class_of(entry, self.faults)
            if cls is not None:
                self.classes[name] = cls
                self.entries[name] = entry

    def draft(self) -> Draft:
        nodes = {name: self._node(name) for name in self.entries}
        edges: list[Edge] = []
        when_links: list[Edge] = []
        for name, entry in self.entries.items():
            edges.extend(self._edges(name))
            if entry.when is not None:
                when_links.extend(self._edge(entry.when, name, WHEN))
        self._check_links_of_unknown_types()
        links = [*edges, *when_links]
        running = _running(nodes)
        self.faults.extend(_type_faults(nodes, links, {}))
        self.faults.extend(_loops(nodes, links))
        self.faults.extend(_deadlocks(running, links))
        self.faults.extend(file_faults(running))
        self._check_breakpoints()
        return Draft(self.workflow, nodes, tuple(edges), tuple(when_links), tuple(self.faults))

    def _check_breakpoints(self) -> None:
        """Check that the outputs are there, as far as the types of their nodes are known."""
        for breakpoint in self.workflow.breakpoints:
            node, socket = breakpoint.node, breakpoint.socket
            where = f'the breakpoint "{breakpoint}"'
            if node not in self.workflow.nodes:
                hint = suggest(node, self.workflow.nodes)
                fault = Fault(f"{where}: no node {node!r}", hint=hint, code="unknown_node")
                self.faults.append(fault)
            elif node in self.classes and socket not in self.classes[node].schema.outputs:
                hint = suggest(socket, self.classes[node].schema.outputs)
                message = f"{where}: {node} has no output {socket!r}"
                self.faults.append(Fault(message, hint=hint, code="unknown_output"))

    def _check_links_of_unknown_types(self) -> None:
        """Check the sources of links into nodes of unknown type, whose inputs are not known."""
        for name, entry in self.workflow.nodes.items():
            if name in self.entries:
                continue
            for socket, links in entry.inputs.items():
                for link in links:
                    self._require_output(link, name, socket)

    def _fault(
        self,
        code: FaultCode,
        message: str,
        node: str,
        socket: str | None = None,
        **details: str | None,
    ) -> None:
        self.faults.append(Fault(message, node, socket, **details, code=code))

    def _node(self, name: str) -> CheckedNode:
        cls, entry = self.classes[name], self.entries[name]
        widgets = dict(self._widgets(name))
        header, sha256, sizes = self._brain(name)
        for key, value in widgets.items():
            if type(value) is int:
                sizes[key] = value
        self._check_keys(name)
        brain = None if header is None else header.path
        return CheckedNode(name, cls, entry, widgets, brain, sha256, header, sizes)

    def _check_keys(self, name: str) -> None:
        """Report keys of the entry that a node of this class cannot have."""
        cls, entry = self.classes[name], self.entries[name]
        within_tick = (
            cls.background == "allowed" and entry.background is None and "busy" not in entry.raw
        )
        for key in ("background", "busy", "latency", "timeout"):
            if key in entry.raw and cls.background is None:
                self._fault(
                    "not_applicable",
                    f'"{key}" is for background nodes, and {entry.type} is not one',
                    name,
                )
            elif key in entry.raw and within_tick:
                message = (
                    f'"{key}" is for a node that computes beside the tick, '
                    f'and {entry.type} does so only with "busy"'
                )
                self._fault(
                    "not_applicable",
                    message,
                    name,
                    hint='Write "busy": "continue", or "wait", as well',
                )
        executors = EXECUTORS[cls.background]
        if executors and entry.background not in (None, *executors):
            message = (
                f'"background": "{entry.background}" is not for {entry.type}; '
                f'expected "{executors[0]}"'
            )
            self._fault("not_applicable", message, name)
        if gives_fallback(entry.on_error) and cls.fallback is None:
            message = (
                f'{entry.type} has no fallback for "on_error": "fallback"; '
                'expected "stop" or "hold"'
            )
            self._fault("not_applicable", message, name)
        has_clock = (
            entry.every != 1 or entry.hertz is not None or entry.when is not None or entry.optional
        )
        if issubclass(cls, Register) and has_clock:
            message = (
                '"every", "when" and "optional" are not for a register, '
                f"and {entry.type} is one: it runs on every tick"
            )
            self._fault("not_applicable", message, name)

    def _widgets(self, name: str) -> Iterator[tuple[str, Any]]:
        cls, entry = self.classes[name], self.entries[name]
        known = cls.schema.widgets
        for key in entry.set:
            if key not in known:
                self._fault(
                    "unknown_widget",
                    f"{entry.type} has no widget {key!r}",
                    name,
                    hint=_present_name(key, cls.renamed_widgets) or suggest(key, known),
                )
        for key, widget in known.items():
            expected = widget.describe()
            if key in entry.set:
                value = entry.set[key]
                try:
                    yield key, widget.read(value)
                except ValueError:
                    code = _value_code(widget, value)
                    self._fault(
                        code,
                        "the widget has a wrong value",
                        name,
                        key,
                        expected=expected,
                        found=repr(value),
                        hint=_json_error(value),
                    )
            elif widget.required:
                self._fault(
                    "required_input_missing", "the widget must be set", name, key, expected=expected
                )
            else:
                yield key, widget.default

    def _brain(self, name: str) -> tuple[BrainHeader | None, str | None, dict[str, int]]:
        """Return the header of a node's brain file, its SHA-256,
        and the sizes that follow from it.
        """
        cls, entry = self.classes[name], self.entries[name]
        brain_class, pin = cls.schema.brain, entry.brain
        if pin is None:
            # an entry that cannot be read was reported when the file was read
            if (
                brain_class is not None
                and cls.schema.brain_required
                and entry.raw.get("brain") is None
            ):
                kind = brain_class.kind
                message = f'{entry.type} needs a brain of kind {kind!r}: "brain": "….safetensors"'
                self._fault("required_brain_missing", message, name, "brain")
            return None, None, {}
        try:
            if brain_class is None:
                raise BrainError(
                    f"{entry.type} has no brain, but the workflow gives it {pin.file!r}"
                )
            path = self.find_brain(pin)
            header = read_header(path)
            sizes = dict(brain_class.check_header(header))
            sha256 = self.hash_brain(path, pin.sha256 is not None or _compares_brain(cls, entry))
        except BrainError as error:
            self._fault("invalid_brain", str(error), name, "brain")
            return None, None, {}
        if pin.sha256 is not None and sha256 is None:
            message = (
                f"{path}: its SHA-256 is still being worked out, expected {pin.sha256}. "
                "Try again in a while"
            )
            self._fault("invalid_brain", message, name, "brain")
        elif pin.sha256 not in (None, sha256):
            message = (
                f"{path} is not the brain this workflow was saved with; "
                f"expected SHA-256 {pin.sha256}"
            )
            self._fault("invalid_brain", message, name, "brain")
        return header, sha256, sizes

    def _edges(self, name: str) -> Iterator[Edge]:
        cls, entry = self.classes[name], self.entries[name]
        inputs = cls.schema.inputs
        for socket, links in entry.inputs.items():
            if socket not in inputs:
                self._fault(
                    "unknown_input",
                    f"{entry.type} has no input {socket!r}",
                    name,
                    hint=suggest(socket, inputs),
                )
                for link in links:
                    self._require_output(link, name, socket)
        for socket, declared in inputs.items():
            links = entry.inputs.get(socket, ())
            if len(links) > 1 and not declared.many:
                found = ", ".join(map(str, links))
                self._fault("too_many_links", "the input takes one link", name, socket, found=found)
            if not links and declared.must_be_linked and socket not in entry.inputs:
                hint = f'Link it: "in": {{"{socket}": "node.output"}}'
                message, expected = "nothing is linked to this input", str(declared.type)
                self._fault(
                    "required_input_missing", message, name, socket, expected=expected, hint=hint
                )
            for link in links:
                yield from self._edge(link, name, declared)

    def _edge(self, link: SocketRef, name: str, declared: Input) -> Iterator[Edge]:
        if not self._require_output(link, name, declared.name) or self.entries[name].mode != "run":
            return
        source = self._resolve_source(link)
        if source is not None:
            output = self.classes[source.node].schema.outputs[source.socket]
            yield Edge(source.node, output, name, declared)

    def _require_output(self, link: SocketRef, name: str, socket: str) -> bool:
        """Return whether the output at the source of a link exists; if not, add a fault."""
        if link.node in self.classes:
            outputs = self.classes[link.node].schema.outputs
            if link.socket in outputs:
                return True
            hint = (
                suggest(link.socket, outputs) or f"Its outputs are: {', '.join(outputs) or 'none'}"
            )
            message = f"{link.node!r} has no output {link.socket!r}"
            self._fault("unknown_output", message, name, socket, hint=hint)
        elif link.node in self.workflow.boxes:
            box = self.workflow.boxes[link.node]
            hint = (
                suggest(link.socket, box.outputs)
                or f"Its outputs are: {', '.join(box.outputs) or 'none'}"
            )
            message = f"the box {link.node!r} has no output {link.socket!r}"
            self._fault("unknown_output", message, name, socket, hint=hint)
        elif link.node not in self.workflow.nodes and link.node not in self.unreadable:
            meant = suggest(link.node, self.workflow.nodes)
            self._fault("unknown_node", f"there is no node {link.node!r}", name, socket, hint=meant)
        return False

    def _resolve_source(self, link: SocketRef) -> SocketRef | None:
        """Return the output that feeds a link after bypassed nodes are skipped;
        None behind a muted node.
        """
        seen: set[SocketRef] = set()
        while link not in seen and link.node in self.entries:
            seen.add(link)
            entry, schema = self.entries[link.node], self.classes[link.node].schema
            if link.socket not in schema.outputs or entry.mode == "mute":
                return None
            if entry.mode == "run":
                return link
            socket = _bypassed_input(schema, link.socket)
            if socket is None or not entry.inputs.get(socket):
                return None
            link = entry.inputs[socket][0]
        return None


def _bypassed_input(schema: NodeSchema, output: str) -> str | None:
    """Return the input that a bypassed node passes on to an output:
    the one in the same position, or the first that fits.
    """
    types = schema.outputs[output].type
    candidates = [
        socket for socket, declared in schema.inputs.items() if _fits(declared.type, types)
    ]
    opposite = dict(zip(schema.outputs, schema.inputs, strict=False)).get(output)
    if opposite in candidates:
        return opposite
    if candidates:
        return candidates[0]
    return None


def _compares_brain(cls: type[Node], entry: NodeEntry) -> bool:
    """Return whether a socket that is or may be linked depends on the hash
    of the node's brain file.
    """
    sockets: list[Input | Output] = [
        cls.schema.inputs[name] for name in entry.inputs if name in cls.schema.inputs
    ]
    sockets.extend(cls.schema.outputs.values())
    for socket in sockets:
        for option in socket.type.options:
            if "brain" in option.dims or "{brain}" in option.dims:
                return True
    return False


def _fits(types: SocketTypes, other: SocketTypes) -> bool:
    if types.variable or other.variable:
        return types.variable == other.variable
    names = {option.name for option in types.options}
    return any(option.name in names for option in other.options)


def _loops(nodes: Mapping[str, CheckedNode], edges: Iterable[Edge]) -> Iterator[Fault]:
    """Yield a fault for each loop that no node breaks."""
    within_tick = [name for name, node in nodes.items() if not node.breaks_cycles]
    for loop in _cycles(within_tick, edges):
        hint = 'Put a Previous into it, or let one of its nodes "busy": "continue"'
        yield Fault(
            f"the links form a loop: {' -> '.join(loop)}", hint=hint, code="dependency_cycle"
        )


def _deadlocks(nodes: Mapping[str, CheckedNode], edges: Iterable[Edge]) -> Iterator[Fault]:
    """Yield a fault for each loop, closed only by `"busy": "continue"`,
    whose nodes all wait for each other's first value.
    """
    required = [edge for edge in edges if edge.input is WHEN or edge.input.required]
    waiting = [name for name, node in nodes.items() if not node.is_register]
    for loop in _cycles(waiting, required):
        if any(nodes[name].is_non_blocking for name in loop):
            hint = 'Make one of the inputs optional, or put a Previous with "initial" into it'
            message = (
                f"the loop {' -> '.join(loop)} never begins: each node waits for the one before it"
            )
            yield Fault(message, hint=hint, code="cycle_never_begins")


def _cycles(names: Iterable[str], edges: Iterable[Edge]) -> Iterator[list[str]]:
    """Yield loops among these nodes, taking one link out of each,
    until none is left or there were 20.
    """
    before: dict[str, set[str]] = {name: set() for name in names}
    for edge in edges:
        if edge.source in before and edge.target in before:
            before[edge.target].add(edge.source)
    for _ in range(20):
        try:
            graphlib.TopologicalSorter(before).prepare()
        except graphlib.CycleError as error:
            loop: list[str] = error.args[1]
            yield loop
            before[loop[1]].discard(loop[0])
        else:
            return


def _type_faults(
    nodes: Mapping[str, CheckedNode], edges: Iterator[Edge] | Any, opened: Sizes
) -> Iterator[Fault]:
    unifier = _unifier(nodes, opened)
    for edge in edges:
        try:
            unifier.link(edge.source, edge.output.type, edge.target, edge.input.type)
        except Mismatch as error:
            link = f"{edge.source}.{edge.output.name}"
            yield Fault(
                f"the link from {link} does not fit",
                edge.target,
                edge.input.name,
                expected=error.expected,
                found=f"{error.found} at {link}",
                cause=_cause(nodes, opened, error.sizes),
                hint=_remedy(error.sizes),
                code="return_type_mismatch",
            )
    for node in nodes.values():
        yield from _value_faults(node, unifier)


def _unifier(nodes: Mapping[str, CheckedNode], opened: Sizes) -> Unifier:
    def known(node: str, name: str) -> Known | None:
        if node in opened and name in opened[node]:
            return opened[node][name]
        return nodes[node].known(name)

    return Unifier(known)


def _value_faults(node: CheckedNode, unifier: Unifier) -> Iterator[Fault]:
    """Yield a fault for each widget of a generic node whose value its links cannot carry."""
    for name, value in node.widgets.items():
        variable = node.cls.schema.widgets[name].annotation
        if not isinstance(variable, TypeVar):
            continue
        types = unifier.resolve(node.id, SocketTypes(variable=variable.__name__))
        if types.options and not any(_is_of_type(value, option) for option in types.options):
            message = "the widget's value is not what its links carry"
            expected = " or ".join(map(str, types.options))
            yield Fault(
                message,
                node.id,
                name,
                expected=expected,
                found=repr(value),
                code="invalid_input_type",
            )


def _is_of_type(value: Any, socket_type: SocketType) -> bool:
    """Return whether a widget's value may flow into a socket of this type."""
    if not is_value_type(socket_type.python):
        return socket_type.python is object
    try:
        parse_value(socket_type.python, value)
    except ValueError:
        return False
    if socket_type.dtype == "index" and isinstance(socket_type.dims[0], int):
        return bool(0 <= value < socket_type.dims[0])
    return True


def _cause(
    nodes: Mapping[str, CheckedNode], opened: Sizes, sizes: tuple[Size, Size] | None
) -> str | None:
    """Return where each of two sizes that disagree comes from, for people."""
    if sizes is None:
        return None
    expected, found = (_origin(nodes[size.node], opened, size) for size in sizes)
    return f"{expected}, {found}"


def _remedy(sizes: tuple[Size, Size] | None) -> str | None:
    """Return a hint for brains that do not belong together."""
    if sizes is None or not isinstance(sizes[0].value, Sha256):
        return None
    expected, found = (size.node for size in sizes)
    return (
        f"Give {expected} and {found} brains that belong together, or mute {found} (--mute {found})"
    )


def _origin(node: CheckedNode, opened: Sizes, size: Size) -> str:
    if not isinstance(size.dim, str):
        return f"{size.value} is fixed by the type {node.entry.type} of {node.id}"
    if isinstance(size.value, Sha256):
        return _file_meant(node, size.dim, size.value)
    if size.dim in opened.get(node.id, {}):
        return f"{size.value} is what {node.id} found when it was opened"
    if type(node.widgets.get(size.dim)) is int:
        return f"{size.value} comes from the widget {node.id}.{size.dim}"
    return f"{size.value} comes from the {_brain_of(node)}"


def _file_meant(node: CheckedNode, name: str, file: Sha256) -> str:
    """Describe the file that a node refers to by a name: its brain,
    or the file that its brain was made for.
    """
    assert node.header is not None
    if name == "brain":
        title = node.header.metadata.get("title")
        return f"{file} is the {_brain_of(node)}, {short(title or 'untitled')}"
    title = node.header.config.get(name.removesuffix(OTHER_FILE))
    return f"{file} is what the {_brain_of(node)} was made for, {short(title or 'untitled')}"


def _brain_of(node: CheckedNode) -> str:
    file = node.entry.brain.file if node.entry.brain else node.brain
    return f"brain {file} of {node.id}"


def _present_name(name: str, renamed: Mapping[int, Mapping[str, str]]) -> str:
    """Return a hint about a former name; "" if it is none."""
    present = name
    for version in sorted(renamed):
        present = renamed[version].get(present, present)
    if present == name:
        return ""
    return f"It is called {present!r} now"


def _json_error(value: Any) -> str | None:
    """Return what is wrong with a text that was meant as JSON, as --set takes it; or None."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return None
    try:
        parse_json(value)
    except ValueError as error:
        return f"It is not JSON: {error}"
    return None


def _value_code(widget: Widget, value: Any) -> FaultCode:
    """Return the code of the fault for a value that a widget does not take."""
    if get_origin(widget.annotation) is Literal:
        return "value_not_in_list"
    try:
        number = parse_value(widget.annotation, value)
    except ValueError:
        return "invalid_input_type"
    if widget.min is not None and number < widget.min:
        return "value_smaller_than_min"
    return "value_bigger_than_max"


def _running(nodes: Mapping[str, CheckedNode]) -> dict[str, CheckedNode]:
    return {name: node for name, node in nodes.items() if node.entry.mode == "run"}
