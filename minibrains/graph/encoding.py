"""Encodings: the nodes between a game and a policy, in training and in play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains.graph.check import Graph
from minibrains.graph.region import Region

Encoding = Mapping[str, Mapping[str, Any] | None]
"""Settings by the type of a node: its widgets, and as "brain" the SHA-256 of its brain. None: there
is no such node."""


def find_encoding(graph: Graph, region: Region) -> dict[str, Mapping[str, Any] | None]:
    """Return the settings of all nodes that the inputs of a region go through within a tick.

    Nodes that only say when others run are left out. A second node of a type is called "TYPE 2".
    """
    waiting = [link.node for link in region.inputs]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or graph.nodes[name].delays:
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
