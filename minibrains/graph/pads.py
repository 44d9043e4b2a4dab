"""Check that a console has every button that may be pressed on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from minibrains.console import Console
from minibrains.errors import Fault, WorkflowError
from minibrains.graph.check import Edge, Graph


@runtime_checkable
class PressesButtons(Protocol):
    """A node that knows beforehand which buttons its pads may name."""

    def button_names(self) -> frozenset[str]:
        """Return the names of the buttons that the node may press."""


def check_pads(graph: Graph, nodes: Mapping[str, object]) -> None:
    """Check that every console has the buttons that are pressed on it.

    Args:
        graph: The checked graph.
        nodes: The nodes by id; they need not be open.

    Raises:
        WorkflowError: A node presses buttons that the console does not have.
    """
    faults = list(_pad_faults(graph, nodes))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


def _pad_faults(graph: Graph, nodes: Mapping[str, object]) -> Iterator[Fault]:
    in_edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        if _may_carry_a_pad(edge):
            in_edges[edge.target].append(edge)
    for console, node in nodes.items():
        if not isinstance(node, Console):
            continue
        buttons = node.buttons()
        if buttons is None:
            continue
        for name in _upstream(console, in_edges):
            source = nodes[name]
            if not isinstance(source, PressesButtons):
                continue
            missing = sorted(source.button_names().difference(buttons))
            if missing:
                pin = graph.nodes[name].entry.brain
                table = f"the brain {pin.file}" if pin else "it"
                message = (
                    f"{table} presses {', '.join(missing)}, "
                    f"which the pad of {console} does not have"
                )
                yield Fault(
                    message,
                    name,
                    expected=f"buttons out of {', '.join(buttons)}",
                    code="custom_validation_failed",
                )


def _upstream(node: str, in_edges: Mapping[str, list[Edge]]) -> Iterator[str]:
    """Yield the nodes that a pad may come from, directly or through other nodes."""
    seen = {node}
    waiting = [node]
    while waiting:
        for edge in in_edges.get(waiting.pop(), ()):
            if edge.source not in seen:
                seen.add(edge.source)
                waiting.append(edge.source)
                yield edge.source


def _may_carry_a_pad(edge: Edge) -> bool:
    types = edge.input.type
    return types.variable is not None or any(option.name == "pad" for option in types.options)
