"""Encodings: the nodes between a game and a policy, in training and in play."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from minibrains.errors import Fault, WorkflowError
from minibrains.graph.check import Graph

Encoding = Mapping[str, Mapping[str, Any] | None]
"""Settings by the type of a node: its widgets, and as "brain" the SHA-256 of its brain. None: there
is no such node."""


@runtime_checkable
class TrainedEncoding(Protocol):
    """A node class whose brains say in their headers what they were trained to see."""

    @classmethod
    def trained_encoding(cls, metadata: Mapping[str, str]) -> Encoding | None:
        """Return the encoding of a brain's training; None: its header does not say."""


def check_encodings(graph: Graph) -> None:
    """Check that every policy is shown what it was trained on.

    Args:
        graph: The checked graph.

    Raises:
        WorkflowError: The nodes before a policy differ from those of its training; lists how.
    """
    faults = list(_faults(graph))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


def _faults(graph: Graph) -> Iterator[Fault]:
    for name, node in graph.nodes.items():
        if node.header is None or not isinstance(node.cls, TrainedEncoding):
            continue
        trained = node.cls.trained_encoding(node.header.metadata)
        if trained is None:
            continue
        before = [edge.source for edge in graph.edges if edge.target == name]
        differences = compare_encodings(trained, find_encoding(graph, before))
        if differences:
            yield Fault(
                f"{name} was trained to see something else: {'; '.join(differences)}",
                name,
                expected="the nodes before it with the settings and brains of its training",
                hint="Change them back, or train a policy for them",
                code="custom_validation_failed",
            )


def find_encoding(graph: Graph, nodes: Iterable[str]) -> dict[str, Mapping[str, Any] | None]:
    """Return the settings of nodes that feed a policy, and of all before them within a tick.

    Nodes that only say when others run are left out. A second node of a type is called "TYPE 2".

    Args:
        graph: The checked graph.
        nodes: The ids of the nodes that the policy reads from.
    """
    waiting = list(nodes)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or graph.nodes[name].breaks_cycles:
            continue
        seen.add(name)
        for edge in graph.edges:
            if edge.target == name:
                waiting.append(edge.source)

    encoding: dict[str, Mapping[str, Any] | None] = {}
    for name, node in graph.nodes.items():
        if name not in seen or node.cls.category == "control":
            continue
        key, number = node.cls.__name__, 1
        while key in encoding:
            number += 1
            key = f"{node.cls.__name__} {number}"
        encoding[key] = {**node.widgets, "brain": node.brain_sha256}
    return encoding


def compare_encodings(trained: Encoding, here: Encoding) -> tuple[str, ...]:
    """Return how the nodes before a policy differ from those of its training, a phrase each.

    Args:
        trained: What is known of the training; other nodes and settings may be anything.
        here: The nodes of the workflow that plays.
    """
    differences: list[str] = []
    for name, before in trained.items():
        now = here.get(name)
        if before is None:
            if now is not None:
                differences.append(f"there is a {name}, and there was none")
            continue
        if now is None:
            differences.append(f"there is no {name}, and there was one")
            continue
        for setting, value in before.items():
            if _plain(now.get(setting)) != _plain(value):
                differences.append(
                    f"{name}.{setting} is {_short(now.get(setting))}, and was {_short(value)}"
                )
    return tuple(differences)


def _plain(value: Any) -> Any:
    """Return a setting as it is in JSON, where tuples are lists."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) == 64:
        return value[:8]
    return str(_plain(value))
