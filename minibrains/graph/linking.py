"""Possible links in a workflow, which the editor needs to know before a link is made.

They are computed by the code that checks workflows, so the editor offers exactly the links that
will be accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from minibrains.graph.check import WHEN, Draft, Edge
from minibrains.node import Node
from minibrains.sockets import Mismatch, SocketTypes, Unifier

SocketKey = tuple[str, str]
"""Node id and socket."""


@dataclass(frozen=True, slots=True)
class Linking:
    """The types of outputs and inputs, as text, which of them fit,
    and which nodes wait for which.
    """

    outputs: Mapping[SocketKey, str]
    """The type of each output, with the sizes that links decide."""
    inputs: Mapping[SocketKey, str]
    """The type of each input, apart from what its own link determines, because another link may
    replace that one."""
    fits: Mapping[str, list[str]]
    """Type of an output, here or of any node type -> types of the inputs that it fits, here or of
    any node type."""
    before: Mapping[str, list[str]]
    """Node that does not delay its inputs -> the other such nodes that it depends on within a
    tick."""


def linking(draft: Draft, types: Iterable[type[Node]]) -> Linking:
    """Return the possible links of a workflow's sockets and of those of the node types."""
    outputs: dict[SocketKey, str] = {}
    inputs: dict[SocketKey, str] = {}
    output_types: dict[str, SocketTypes] = {}
    input_types = {str(WHEN.type): WHEN.type}
    for key, socket_types in _outputs(draft):
        outputs[key] = str(socket_types)
        output_types[str(socket_types)] = socket_types
    for key, socket_types in _inputs(draft):
        inputs[key] = str(socket_types)
        input_types[str(socket_types)] = socket_types
    for cls in types:
        for output in cls.schema.outputs.values():
            output_types[str(output.type)] = output.type
        for declared in cls.schema.inputs.values():
            input_types[str(declared.type)] = declared.type
    fits: dict[str, list[str]] = {}
    for type_name, socket_types in output_types.items():
        fits[type_name] = []
        for other, expected in input_types.items():
            if may_flow(socket_types, expected):
                fits[type_name].append(other)
    return Linking(outputs, inputs, fits, _before(draft))


@lru_cache(maxsize=1 << 16)
def may_flow(given: SocketTypes, expected: SocketTypes) -> bool:
    """Return whether a value of type `given` may flow into `expected`;
    an unknown size may be any number.
    """
    unifier = Unifier(lambda node, name: None)
    try:
        unifier.link("source", given, "target", expected)
    except Mismatch:
        return False
    return True


def _outputs(draft: Draft) -> Iterator[tuple[SocketKey, SocketTypes]]:
    unifier = _unifier(draft, _links(draft))
    for name, node in draft.nodes.items():
        for declared in node.cls.schema.outputs.values():
            socket_types = declared.type
            if socket_types.variable is None or unifier.is_given(name, socket_types):
                socket_types = unifier.resolve(name, socket_types)
            yield (name, declared.name), socket_types


def _inputs(draft: Draft) -> Iterator[tuple[SocketKey, SocketTypes]]:
    linked = {(edge.target, edge.input.name) for edge in draft.edges}
    unlinked = _unifier(draft, ())
    all_linked = _unifier(draft, _links(draft))
    for name, node in draft.nodes.items():
        for declared in node.cls.schema.inputs.values():
            key = name, declared.name
            if key not in linked or declared.many:
                unifier = all_linked
            elif declared.type.variable is None:
                # only the sizes of the node itself count: a unifier for every input would take too
                # long
                unifier = unlinked
            else:
                others = [edge for edge in _links(draft) if (edge.target, edge.input.name) != key]
                unifier = _unifier(draft, others)
            yield key, unifier.resolve(name, declared.type)


def _links(draft: Draft) -> list[Edge]:
    return [*draft.edges, *draft.when_links]


def _unifier(draft: Draft, links: Iterable[Edge]) -> Unifier:
    """Return a unifier of all links; those that do not fit are left out."""
    unifier = Unifier(lambda node, name: draft.nodes[node].known(name))
    for edge in links:
        with suppress(Mismatch):
            unifier.link(edge.source, edge.output.type, edge.target, edge.input.type)
    return unifier


def _before(draft: Draft) -> dict[str, list[str]]:
    before: dict[str, list[str]] = {
        name: [] for name, node in draft.nodes.items() if not node.breaks_cycles
    }
    for edge in _links(draft):
        if edge.source in before and edge.target in before:
            before[edge.target].append(edge.source)
    return before
