"""Refuse graphs in which a node collects or trains while another brings held-back states or
opponents into the game.
"""

from __future__ import annotations

from collections.abc import Mapping

from minibrains.errors import Fault, MinibrainsError, WorkflowError
from minibrains.games.splits import refuse_held_back_start
from minibrains.graph.check import Graph
from minibrains.host import EpisodeStart
from minibrains.node import Node


def check_collectors(graph: Graph, nodes: Mapping[str, object]) -> None:
    """Check that no node collects or trains on states, or against opponents, that are held back.

    Args:
        graph: The graph to be run.
        nodes: The nodes by id; they need not be open.

    Raises:
        WorkflowError: A console plays such a state, or a fighter such a style, and a node of the
            graph collects or trains.
    """
    collectors = _collectors(graph)
    if not collectors:
        return
    hint = None
    if graph.region is None:  # what is trained cannot be muted
        mutes = " ".join(f"--mute {name}" for name in collectors)
        hint = f"Or mute the nodes that collect: {mutes}"
    faults = []
    for name, node in nodes.items():
        if isinstance(node, Node):
            try:
                node.check_collectors(collectors)
            except MinibrainsError as error:
                faults.append(Fault(str(error), name, hint=hint, code="custom_validation_failed"))
    if faults:
        raise WorkflowError(faults, graph.workflow.where)


def check_start(graph: Graph, start: EpisodeStart | None) -> None:
    """Check that no node collects or trains in an episode that began from a held-back state, also
    if its console does not implement `check_collectors`.

    Args:
        graph: The graph that runs.
        start: The start of the episode; None: no console has told it.

    Raises:
        GameError: It is held back, and a node of the graph collects or trains.
    """
    collectors = _collectors(graph)
    if start is not None and collectors:
        refuse_held_back_start(
            start.game, start.state, start.state_sha256, start.written, collectors
        )


def _collectors(graph: Graph) -> list[str]:
    """Return the nodes that collect or train, and those that are trained."""
    collectors = [name for name, node in graph.nodes.items() if node.cls.collects_data]
    if graph.region is not None:
        collectors += graph.region.nodes
    return collectors
