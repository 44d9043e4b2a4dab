"""A contestant of an evaluation: a workflow pinned to the protocol,
with everything that determines its results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minibrains.evaluation.protocol import Protocol
from minibrains.graph.check import Graph
from minibrains.graph.workflow import NodeEntry
from minibrains.run.spec import RunSpec
from minibrains.software import hash_pack, machine, software


@dataclass
class Player:
    """A workflow that is pinned to the protocol and checked."""

    roles: list[str]
    """`evaluated`, `compared`, `compared: NODE=FILE`, or the game's name for a baseline."""
    graph: Graph
    spec: RunSpec
    """The spec from which each worker makes its run."""
    protocol: Protocol
    left_out: list[str]
    """Nodes that are muted because they collect or train, and the states are held back."""
    identity: Mapping[str, Any] = field(init=False)
    """Everything that determines its games: two players with the same identity play the same
    games."""
    key: str = field(init=False)
    """SHA-256 of `identity`."""

    def __post_init__(self) -> None:
        modules = {node.cls.__module__ for node in self.graph.nodes.values()}
        workflow = self.graph.workflow
        self.identity = {
            "nodes": {name: _meaning(entry) for name, entry in workflow.nodes.items()},
            "brains": {name: brain["sha256"] for name, brain in self.graph.brain_files().items()},
            "modules": {module: hash_pack(module) for module in sorted(modules)},
            "protocol": self.protocol.as_json(),
            "software": software(),
            "cpu": machine()["cpu"],
        }
        self.key = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of the workflow."""
        return self.graph.workflow.name

    @property
    def title(self) -> str:
        """The name of its files."""
        return f"{self.name}-{self.protocol.split}-{self.key[:12]}"

    def as_json(self) -> dict[str, Any]:
        """Return the player's identity for the results, as a JSON object."""
        return {
            "name": self.name,
            "roles": self.roles,
            "workflow": str(self.graph.workflow.path or ""),
            "nodes_sha256": hashlib.sha256(
                json.dumps(self.identity["nodes"], sort_keys=True).encode()
            ).hexdigest(),
            "brains": self.graph.brain_files(),
            "left_out": self.left_out,
        }


def _meaning(entry: NodeEntry) -> dict[str, Any]:
    """Return a node's entry without the parts that make no difference to the games,
    such as the path of the brain's file.
    """
    return {key: value for key, value in entry.raw.items() if key not in ("title", "brain")}
