"""Subgraphs: nodes with sockets, widgets and brains of their own, `"defs"` of a workflow file.

A *box* is a node of a workflow, or of another subgraph, that stands for the nodes of a subgraph:
its type is `"defs/NAME"`. Boxes exist in files only. A workflow is read flat: in place of a box
there are its nodes, whose ids are paths, such as `eyes/stack`, and links lead straight to them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from minibrains.errors import Fault, FaultCode, suggest
from minibrains.graph.socket_ref import SocketRef, parse_socket_ref

SUBGRAPH_NAME = re.compile(r"[a-z0-9_]+")
"""The name of a subgraph, and the ids of its nodes."""
SOCKET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SUBGRAPH_TYPE = re.compile(r"defs/([a-z0-9_]+)")
"""The type of a box."""
SUBGRAPH_KEYS: Final = (
    "title", "description", "version", "nodes", "inputs", "outputs", "widgets", "brains", "layout",
    "groups", "part", "extra",
)  # fmt: skip
BOX_KEYS: Final = ("type", "title", "set", "in", "brains", "when", "mode")
WHEN_SOCKET: Final = "when"
"""An input of a subgraph may lead to a node's `when`."""
LINK_LIMIT: Final = 1000
"""Largest number of links that boxes may give to one input."""
NODE_LIMIT: Final = 10_000
"""Largest number of nodes and boxes inside of the boxes of a workflow."""
DEPTH_LIMIT: Final = 32
"""Largest number of boxes within each other."""

_PLACE = re.compile(r"(.*)\.([0-9]{1,4})")
"""An end of an input with its place among the links of that input."""


@dataclass(frozen=True, slots=True)
class End:
    """An input of a node inside of a box."""

    node: str
    socket: str
    position: int = LINK_LIMIT
    """The place among the links of that input, from 0; without one, after all others."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The definition of a box's inside."""

    name: str
    nodes: Mapping[str, Any]
    """The entries of its nodes by id, as in the file."""
    inputs: Mapping[str, tuple[End, ...]]
    """Input -> the inputs of its nodes that are fed by it."""
    outputs: Mapping[str, SocketRef]
    """Output -> the output of one of its nodes."""
    widgets: Mapping[str, SocketRef]
    """Widget -> the widget of one of its nodes."""
    brains: Mapping[str, SocketRef]
    """Brain -> one of its nodes, and the name of the brain there if that is a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a workflow, with what it means there: nodes by their paths."""

    subgraph: str
    nodes: tuple[str, ...]
    """All nodes inside of it."""
    inputs: Mapping[str, tuple[SocketRef, ...]]
    outputs: Mapping[str, SocketRef]
    widgets: Mapping[str, SocketRef]
    brains: Mapping[str, str]


def subgraph_of(entry: Any) -> str | None:
    """Return the name of the subgraph that a node's entry stands for; None if it is not a box."""
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        return None
    match = SUBGRAPH_TYPE.fullmatch(entry["type"])
    return None if match is None else match[1]


# -- reading ---------------------------------------------------------------------------------------


def read_subgraphs(data: Any, faults: list[Fault]) -> dict[str, Subgraph]:
    """Read the definitions of a workflow file by name, and append what is wrong to `faults`."""
    if not isinstance(data, dict):
        message = '"defs" is not an object of subgraphs'
        faults.append(Fault(message, found=type(data).__name__, code="invalid_workflow"))
        return {}
    found = {}
    for name, body in data.items():
        found[name] = _SubgraphReader(name, faults).read(body)
    return found


class _SubgraphReader:
    def __init__(self, name: str, faults: list[Fault]) -> None:
        self.name = name
        self.faults = faults
        self.nodes: Mapping[str, Any] = {}

    def read(self, body: Any) -> Subgraph:
        if not SUBGRAPH_NAME.fullmatch(self.name):
            self._wrong("its name may only have a-z, 0-9 and _", "invalid_node_id")
        if not isinstance(body, dict):
            self._wrong("it is not a JSON object", found=type(body).__name__)
            body = {}
        for key in body:
            if key not in SUBGRAPH_KEYS:
                hint = suggest(key, SUBGRAPH_KEYS) or 'Data of your own belongs under "extra"'
                self._wrong(f"the key {key!r} is not known", "unknown_key", hint=hint)
        for key in ("title", "description", "part"):
            if not isinstance(body.get(key, ""), str):
                self._wrong(f'"{key}" is not a text', found=repr(body[key]))
        version = body.get("version", 1)
        if type(version) is not int or not 1 <= version < 2**31:
            self._wrong('"version" is not a whole number from 1', found=repr(version))
        self.nodes = self._read_nodes(body.get("nodes"))
        return Subgraph(
            self.name,
            self.nodes,
            dict(self._read_inputs(body)),
            dict(self._read_ends(body, "outputs", '"node.output"')),
            dict(self._read_ends(body, "widgets", '"node.widget"')),
            dict(self._read_brains(body)),
        )

    def _wrong(
        self, message: str, code: FaultCode = "invalid_value", **details: str | None
    ) -> None:
        self.faults.append(Fault(f"the subgraph {self.name!r}: {message}", code=code, **details))

    def _read_nodes(self, nodes: Any) -> Mapping[str, Any]:
        if not isinstance(nodes, dict) or not nodes:
            self._wrong('"nodes" is not an object with at least one node', "invalid_workflow")
            return {}
        for node in nodes:
            if not SUBGRAPH_NAME.fullmatch(node):
                message = f"the node id {node!r} may only have a-z, 0-9 and _"
                self._wrong(message, "invalid_node_id")
        return {node: entry for node, entry in nodes.items() if SUBGRAPH_NAME.fullmatch(node)}

    def _read_inputs(self, body: Mapping[str, Any]) -> Iterator[tuple[str, tuple[End, ...]]]:
        for name, texts in self._named(body, "inputs"):
            if name == WHEN_SOCKET:
                self._wrong('"inputs": "when" is the clock of a box; give it another name')
            ends: list[End] = []
            for text in texts if isinstance(texts, list) else [texts]:
                link, position = text, LINK_LIMIT
                match = _PLACE.fullmatch(text) if isinstance(text, str) else None
                if match is not None:
                    link, position = match[1], int(match[2])
                end = self._end("inputs", name, link, '"node.input", or a list of them')
                if end is not None:
                    ends.append(End(end.node, end.socket, position))
            yield name, tuple(ends)

    def _read_ends(
        self, body: Mapping[str, Any], key: str, expected: str
    ) -> Iterator[tuple[str, SocketRef]]:
        for name, end in self._named(body, key):
            link = self._end(key, name, end, expected)
            if link is not None:
                yield name, link

    def _read_brains(self, body: Mapping[str, Any]) -> Iterator[tuple[str, SocketRef]]:
        for name, end in self._named(body, "brains"):
            # that of a node has no name; a box has several
            text = f"{end}.brain" if isinstance(end, str) and "." not in end else end
            link = self._end("brains", name, text, '"node", or "box.brain"')
            if link is not None:
                yield name, link

    def _named(self, body: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        ends = body.get(key, {})
        if not isinstance(ends, dict):
            self._wrong(f'"{key}" is not an object', found=type(ends).__name__)
            return
        for name, end in ends.items():
            if SOCKET_NAME.fullmatch(name):
                yield name, end
            else:
                self._wrong(f'"{key}": the name {name!r} is not one of letters, digits and _')

    def _end(self, key: str, name: str, end: Any, expected: str) -> SocketRef | None:
        link = parse_socket_ref(end)
        if link is None:
            message = f'"{key}": {name!r} cannot be read'
            self._wrong(message, "bad_linked_input", expected=expected, found=repr(end))
        elif link.node not in self.nodes:
            message = f'"{key}": {name!r} leads to {link}, but it has no node {link.node!r}'
            self._wrong(message, "unknown_node", hint=suggest(link.node, self.nodes))
            return None
        return link


# -- expanding -------------------------------------------------------------------------------------


def expand(
    nodes: Mapping[str, Any], subgraphs: Mapping[str, Subgraph], faults: list[Fault]
) -> tuple[dict[str, Any], dict[str, Box]]:
    """Put the nodes of all boxes in their place.

    An entry whose id is a path replaces that node of a box, in this box alone; it is complete, and
    its links name nodes by their paths. `Workflow.with_node` makes such entries.

    Args:
        nodes: The entries of a workflow's nodes by id.
        subgraphs: The definitions of the file.
        faults: What is wrong with the boxes is appended to it.

    Returns:
        The entries of the flat workflow by path, and its boxes by path.
    """
    expander = _Expander(subgraphs, faults)
    own = {name: entry for name, entry in nodes.items() if "/" not in name}
    try:
        expander.add("", own, ())
    except _TooLargeError as error:
        faults.append(error.fault)
        return {name: entry for name, entry in own.items() if subgraph_of(entry) is None}, {}
    for path, entry in nodes.items():
        if path not in own:
            expander.replace(path, entry)
    if not expander.boxes:
        return {name: entry for name, entry in nodes.items() if name in expander.nodes}, {}
    expander.give()
    expander.order = tuple(expander.nodes)
    flat = {path: expander.flat_entry(path) for path in expander.order}
    return flat, {path: expander.box(path) for path in expander.boxes}


@dataclass(slots=True)
class _Given:
    """What a box gives to one of the nodes inside of it."""

    inputs: dict[str, list[tuple[int, list[str]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Input -> links, and their place among its own."""
    when: dict[str, None] = field(default_factory=dict)
    """Flags, each once."""
    widgets: dict[str, Any] = field(default_factory=dict)
    brains: dict[str, Any] = field(default_factory=dict)
    mode: Any = None


class _TooLargeError(Exception):
    """There are too many boxes; nothing of them is read."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.fault = Fault(f"there are {what}", path, code="invalid_workflow")


class _Expander:
    def __init__(self, subgraphs: Mapping[str, Subgraph], faults: list[Fault]) -> None:
        self.subgraphs = subgraphs
        self.faults = faults
        self.nodes: dict[str, Any] = {}
        """Path -> entry, as in the file."""
        self.boxes: dict[str, tuple[Mapping[str, Any], Subgraph]] = {}
        """Path -> entry and definition; an outer box comes before those inside of it."""
        self.given: dict[str, _Given] = defaultdict(_Given)
        self.order: tuple[str, ...] = ()
        """All nodes, once they are complete."""
        self.replaced: set[str] = set()
        """The nodes of boxes that have an entry of their own."""
        self._inside = 0
        self._range: dict[str, range] = {}
        """Box -> the places of its nodes in the order of all."""
        self._fed: dict[SocketRef, tuple[SocketRef, ...]] = {}

    def add(self, prefix: str, nodes: Mapping[str, Any], within: tuple[str, ...]) -> None:
        """Add the nodes of a workflow, or of a subgraph, and those of the boxes among them."""
        for name, entry in nodes.items():
            path, subgraph = prefix + name, subgraph_of(entry)
            if within:
                self._count(path)
            if subgraph is None:
                self.nodes[path] = entry
            elif subgraph not in self.subgraphs:
                hint = suggest(subgraph, self.subgraphs)
                message = f'"defs" has no subgraph {subgraph!r}'
                self._wrong(path, message, "missing_node_type", hint=hint)
            elif subgraph in within:
                way = " -> ".join([*within[within.index(subgraph) :], subgraph])
                message = f"the subgraph {subgraph!r} contains itself: {way}"
                self._wrong(path, message, "dependency_cycle")
            elif len(within) == DEPTH_LIMIT:
                raise _TooLargeError(path, f"more than {DEPTH_LIMIT} boxes within each other")
            else:
                definition = self.subgraphs[subgraph]
                self.boxes[path] = self._checked(path, entry), definition
                first = len(self.nodes)
                self.add(f"{path}/", definition.nodes, (*within, subgraph))
                self._range[path] = range(first, len(self.nodes))

    def replace(self, path: str, entry: Any) -> None:
        """Replace a node of a box by an entry of its own."""
        self.nodes[path] = entry
        self.replaced.add(path)

    def _count(self, path: str) -> None:
        self._inside += 1
        if self._inside > NODE_LIMIT:
            raise _TooLargeError(path, f"more than {NODE_LIMIT} nodes inside of boxes")

    def _wrong(self, path: str, message: str, code: FaultCode, **details: str | None) -> None:
        self.faults.append(Fault(message, path, code=code, **details))

    def _checked(self, path: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return a box's entry without what is wrong with it."""
        checked: dict[str, Any] = {"set": {}, "in": {}, "brains": {}}
        for key, value in entry.items():
            if key not in BOX_KEYS:
                expected = "one of " + ", ".join(BOX_KEYS)
                message = f'"{key}" is not for a box; give it to nodes inside of it'
                self._wrong(path, message, "not_applicable", expected=expected)
            elif key in ("set", "in", "brains") and not isinstance(value, dict):
                message = f'"{key}" is not an object'
                self._wrong(path, message, "invalid_value", found=type(value).__name__)
            else:
                checked[key] = value
        links: dict[str, list[str]] = {}
        for socket, texts in checked["in"].items():
            links[socket] = self._readable(path, socket, texts)
        checked["in"] = links
        checked["when"] = []
        if entry.get("when") is not None:
            checked["when"] = self._readable(path, "when", entry["when"])
        return checked

    def _readable(self, path: str, socket: str, texts: Any) -> list[str]:
        """Return those of a box's links that can be read."""
        readable = []
        for text in texts if isinstance(texts, list) else [texts]:
            if parse_socket_ref(text) is not None:
                readable.append(text)
                continue
            message, found = "the link cannot be read", repr(text)
            fault = Fault(
                message,
                path,
                socket,
                expected='"node.output"',
                found=found,
                code="bad_linked_input",
            )
            self.faults.append(fault)
        return readable

    def give(self) -> None:
        """Hand the links, settings, brains and modes of all boxes on to the nodes inside."""
        for path, (entry, subgraph) in self.boxes.items():
            given = self.given[path]
            self._give_links(path, entry, given, subgraph)
            for name, value in {**entry["set"], **given.widgets}.items():
                end = self._part(path, name, subgraph.widgets, "unknown_widget", "widget")
                if end is not None:
                    self.given[f"{path}/{end.node}"].widgets[end.socket] = value
            for name, value in {**entry["brains"], **given.brains}.items():
                end = self._part(path, name, subgraph.brains, "invalid_brain", "brain")
                if end is not None:
                    self.given[f"{path}/{end.node}"].brains[end.socket] = value
            mode = entry.get("mode", "run")
            if mode == "run":
                mode = given.mode
            for node in subgraph.nodes:
                self.given[f"{path}/{node}"].mode = mode

    def _give_links(
        self, path: str, entry: Mapping[str, Any], given: _Given, subgraph: Subgraph
    ) -> None:
        for flag in [*self._resolve_all(path, entry["when"]), *given.when]:
            for node in subgraph.nodes:
                self.given[f"{path}/{node}"].when[flag] = None
        links: dict[str, list[str]] = {}
        for socket, texts in entry["in"].items():
            links[socket] = self._resolve_all(path, texts)
        for socket in given.inputs:
            links[socket] = self._merged(path, socket, links.get(socket, []), given)
        for socket, sources in links.items():
            ends = self._part(path, socket, subgraph.inputs, "unknown_input", "input")
            for end in ends or ():
                inner = self.given[f"{path}/{end.node}"]
                if end.socket == WHEN_SOCKET:
                    inner.when.update(dict.fromkeys(sources))
                else:
                    inner.inputs[end.socket].append((end.position, sources))

    def _merged(self, path: str, socket: str, own: list[Any], given: _Given) -> list[Any]:
        """Return the links of an input, with those that a box gives to it in their places."""
        merged = list(own)
        for position, links in sorted(given.inputs[socket], key=lambda each: each[0]):
            merged[position:position] = links
            if len(merged) > LINK_LIMIT:
                message = f"{socket} is given more than {LINK_LIMIT} links"
                self._wrong(path, message, "too_many_links")
                return []
        return merged

    def _part(
        self, path: str, name: str, known: Mapping[str, Any], code: FaultCode, what: str
    ) -> Any:
        """Return a part of a subgraph; None, with a fault, if it has none of that name."""
        if name in known:
            return known[name]
        hint = suggest(name, known) or f"It has: {', '.join(known) or 'none'}"
        message = f"the subgraph {self.boxes[path][1].name!r} has no {what} {name!r}"
        self._wrong(path, message, code, hint=hint)
        return None

    # -- links -------------------------------------------------------------------------------------

    def _resolve_all(self, path: str, texts: list[Any]) -> list[Any]:
        """Return the links of a node with the paths of the outputs that they come from; what cannot
        be read stays as it is.
        """
        prefix = ""
        if path not in self.replaced:
            prefix = path[: path.rfind("/") + 1]
        resolved = []
        for text in texts:
            link = parse_socket_ref(text)
            if link is not None:
                text = str(self.resolve(SocketRef(prefix + link.node, link.socket)))
            resolved.append(text)
        return resolved

    def resolve(self, link: SocketRef) -> SocketRef:
        """Return the output of a node that an output stands for, which may be that of a box."""
        while link.node in self.boxes:
            _, subgraph = self.boxes[link.node]
            if link.socket not in subgraph.outputs:
                return link  # the checker reports it
            inner = subgraph.outputs[link.socket]
            link = SocketRef(f"{link.node}/{inner.node}", inner.socket)
        return link

    def flat_entry(self, path: str) -> Any:
        """Return a node's entry, with what the boxes around it give to it."""
        entry, given = self.nodes[path], self.given[path]
        if not isinstance(entry, dict):
            return entry
        flat = dict(entry)
        inputs: dict[str, Any] = {}
        if isinstance(entry.get("in"), dict):
            for socket, texts in entry["in"].items():
                if isinstance(texts, list):
                    inputs[socket] = self._resolve_all(path, texts)
                else:
                    inputs[socket] = self._resolve_all(path, [texts])[0]
        if isinstance(entry.get("when"), str):
            flat["when"] = self._resolve_all(path, [entry["when"]])[0]
        if path not in self.replaced:
            self._take(path, flat, inputs, given)
        if inputs:
            flat["in"] = inputs
        return flat

    def _take(self, path: str, flat: dict[str, Any], inputs: dict[str, Any], given: _Given) -> None:
        """Add what is given to a node to its entry and its links."""
        for socket in given.inputs:
            own = inputs.get(socket, [])
            links = self._merged(path, socket, own if isinstance(own, list) else [own], given)
            inputs[socket] = links[0] if len(links) == 1 else links
        self._take_clock(path, flat, list(given.when))
        if given.widgets:
            own = flat.get("set", {})
            flat["set"] = {**(own if isinstance(own, dict) else {}), **given.widgets}
        for brain in given.brains.values():
            flat["brain"] = brain
        if given.mode is not None and flat.get("mode", "run") == "run":
            flat["mode"] = given.mode

    def _take_clock(self, path: str, flat: dict[str, Any], flags: list[str]) -> None:
        if flat.get("when") is not None:
            flags = [flat["when"], *flags]
        if len(flags) > 1:
            message = '"when" is given more than once, by itself or by boxes around it'
            self._wrong(path, message, "too_many_links", found=", ".join(map(str, flags)))
        if flags:
            flat["when"] = flags[0]

    # -- boxes -------------------------------------------------------------------------------------

    def box(self, path: str) -> Box:
        """Return a box with the nodes that its parts lead to."""
        _, subgraph = self.boxes[path]
        inputs = {name: self._feeds(SocketRef(path, name)) for name in subgraph.inputs}
        outputs = {name: self.resolve(SocketRef(path, name)) for name in subgraph.outputs}
        widgets: dict[str, SocketRef] = {}
        for name in subgraph.widgets:
            widget = self._follow(SocketRef(path, name), "widgets")
            if widget is not None:
                widgets[name] = widget
        brains: dict[str, str] = {}
        for name in subgraph.brains:
            brain = self._follow(SocketRef(path, name), "brains")
            if brain is not None:
                brains[name] = brain.node
        nodes = tuple(self.order[index] for index in self._range[path])
        return Box(subgraph.name, nodes, inputs, outputs, widgets, brains)

    def _feeds(self, end: SocketRef) -> tuple[SocketRef, ...]:
        """Return the inputs of nodes that an input feeds, each once."""
        if end in self._fed:
            return self._fed[end]
        if end.node not in self.boxes:
            return (end,)
        fed: dict[SocketRef, None] = {}
        for inner in self.boxes[end.node][1].inputs.get(end.socket, ()):
            ends = self._feeds(SocketRef(f"{end.node}/{inner.node}", inner.socket))
            fed.update(dict.fromkeys(ends))
        self._fed[end] = tuple(fed)
        return self._fed[end]

    def _follow(self, end: SocketRef, part: str) -> SocketRef | None:
        """Return the widget or the brain of a node that one of a box stands for."""
        while end.node in self.boxes:
            known: Mapping[str, SocketRef] = getattr(self.boxes[end.node][1], part)
            if end.socket not in known:
                return None
            inner = known[end.socket]
            end = SocketRef(f"{end.node}/{inner.node}", inner.socket)
        return end
