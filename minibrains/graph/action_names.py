"""Check that a policy's actions, or buttons, are those of the node that presses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, Protocol, runtime_checkable

from minibrains.errors import Fault, WorkflowError
from minibrains.graph.check import Edge, Graph

_CARRIERS: Final = frozenset({"logits", "button_logits", "action"})


@runtime_checkable
class ChoosesActions(Protocol):
    """A node that was trained for the actions of one table, or for some buttons."""

    def trained_action_names(self) -> tuple[str, ...]:
        """Return their names in the order of its outputs; empty: of any table."""


@runtime_checkable
class TakesActions(Protocol):
    """A node that knows what its actions, or its buttons, mean."""

    def action_names(self) -> tuple[str, ...]:
        """Return their names in the order of the numbers, or the logits, that it takes."""


def check_action_names(graph: Graph, nodes: Mapping[str, object]) -> None:
    """Check that the actions that a policy was trained for reach no other action table.

    Args:
        graph: The checked graph.
        nodes: The nodes by id; they need not be open.

    Raises:
        WorkflowError: A policy's actions reach another table.
    """
    faults = list(_faults(graph, nodes))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


def action_names(graph: Graph, nodes: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return what the actions, or the buttons, on links are called: `NODE.SOCKET` -> their names,
    in the order of their numbers, for every input and output from which they reach a node that
    knows. Where they reach two with different names, those of one are returned.
    """
    in_edges: dict[str, list[Edge]] = defaultdict(list)
    out_edges: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        out_edges[edge.source, edge.output.name].append(edge)
        if _may_carry_an_action(edge):
            in_edges[edge.target].append(edge)
    found: dict[str, tuple[str, ...]] = {}
    for name, node in nodes.items():
        if not isinstance(node, TakesActions):
            continue
        waiting = [name]
        while waiting:
            for edge in in_edges[waiting.pop()]:
                output = f"{edge.source}.{edge.output.name}"
                if output in found:
                    continue
                found[output] = node.action_names()
                waiting.append(edge.source)
                for read in out_edges[edge.source, edge.output.name]:
                    found[f"{read.target}.{read.input.name}"] = node.action_names()
    return found


def _faults(graph: Graph, nodes: Mapping[str, object]) -> Iterator[Fault]:
    out_edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        if _may_carry_an_action(edge):
            out_edges[edge.source].append(edge)
    for policy, node in nodes.items():
        if not isinstance(node, ChoosesActions):
            continue
        names = node.trained_action_names()
        if not names:
            continue
        for name in _downstream(policy, out_edges):
            target = nodes[name]
            if not isinstance(target, TakesActions):
                continue
            present = target.action_names()
            if present != names:
                yield Fault(
                    f"{policy} was trained for other actions: {_difference(present, names)}",
                    name,
                    expected=f"the action table with the {len(names)} actions of {policy}'s brain",
                    code="custom_validation_failed",
                )


def _downstream(node: str, out_edges: Mapping[str, list[Edge]]) -> Iterator[str]:
    """Yield the nodes that an action may reach, directly or through other nodes."""
    seen = {node}
    waiting = [node]
    while waiting:
        for edge in out_edges.get(waiting.pop(), ()):
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)
                yield edge.target


def _may_carry_an_action(edge: Edge) -> bool:
    types = edge.input.type
    return types.variable is not None or any(option.name in _CARRIERS for option in types.options)


def _difference(found: tuple[str, ...], expected: tuple[str, ...]) -> str:
    for index, (here, there) in enumerate(zip(found, expected, strict=False)):
        if here != there:
            return f"action {index} is {there!r} there, and {here!r} here"
    return f"there are {len(expected)} there, and {len(found)} here"
