"""RegionModule: the networks of several nodes as one torch module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from minibrains.engine.compile import compile_graph
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.errors import MinibrainsError
from minibrains.graph.check import Graph
from minibrains.graph.workflow import Link, Workflow
from minibrains.run.spec import RunSpec
from minibrains.torch_node import TorchNode

Batch = torch.Tensor | Mapping[str, torch.Tensor]


class RegionModule(nn.Module):
    """The networks of a region of a workflow, as one module over batches, gradients included.

    `network` returns the network of a node; set `requires_grad_(False)` on it to freeze it.
    """

    def __init__(self, graph: Graph, nodes: Mapping[str, TorchNode]) -> None:
        """Compose the networks of nodes.

        Args:
            graph: A graph with the region.
            nodes: The nodes of the region by id, in the order in which they run.
        """
        super().__init__()
        assert graph.region is not None
        self._region = graph.region
        self._nodes = dict(nodes)
        self._networks = nn.ModuleDict()
        self._sources: dict[str, list[Link | None]] = {}
        """Node -> the output that each of its inputs reads, or None."""
        for name, node in nodes.items():
            self._networks[_key(name)] = node.module = node.make_module()
            linked = {
                edge.input.name: Link(edge.source, edge.output.name)
                for edge in graph.edges
                if edge.target == name
            }
            self._sources[name] = [linked.get(socket) for socket in node.schema.inputs]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of the nodes, in the order in which they run."""
        return tuple(self._nodes)

    def network(self, node: str) -> nn.Module:
        """Return the network of a node."""
        return self._networks[_key(node)]

    def forward(self, inputs: Batch) -> Batch:
        """Compute what the region gives out.

        Args:
            inputs: Tensors [B, …]: the only input of the region, or all of them by "node/socket".

        Returns:
            Tensors [B, …]: the only output, or all of them by "node/socket".
        """
        values: dict[Link | None, Any] = {None: None}
        for link in self._region.inputs:
            if isinstance(inputs, torch.Tensor):
                values[link] = inputs
            else:
                values[link] = inputs[f"{link.node}/{link.socket}"]
        for name, node in self._nodes.items():
            result = node.forward(*[values[source] for source in self._sources[name]])
            outputs = [Link(name, socket) for socket in node.schema.outputs]
            if not node.schema.returns_tuple:
                result = (result,)
            values.update(zip(outputs, result, strict=True))
        if len(self._region.outputs) == 1:
            only: torch.Tensor = values[self._region.outputs[0]]
            return only
        return {f"{link.node}/{link.socket}": values[link] for link in self._region.outputs}

    def brains(self) -> dict[str, Any]:
        """Return a brain of each node with the present weights; that of a frozen node is its own,
        so that it keeps its SHA-256.
        """
        brains: dict[str, Any] = {}
        for name, node in self._nodes.items():
            network = self.network(name)
            is_frozen = not any(parameter.requires_grad for parameter in network.parameters())
            brains[name] = node.brain if is_frozen else node.brain_of(network)
        return brains


def _key(node: str) -> str:
    """Return the name of a node's network, which no attribute of a ModuleDict has."""
    return f"node {node}".replace(".", "/")


def region(
    workflow: str | os.PathLike[str] | Mapping[str, Any] | Workflow,
    ids: Sequence[str],
    *,
    brains: Mapping[str, str | os.PathLike[str]] | None = None,
    packs: Sequence[str | os.PathLike[str]] = (),
) -> RegionModule:
    """Return the networks of some nodes of a workflow as one module, which can be trained.

    Args:
        workflow: A file, the name of a shipped workflow, a JSON object, or a Workflow.
        ids: The ids of the nodes, which must all be TorchNodes without a state.
        brains: Brains that replace those of the file: node -> file.
        packs: Python files with nodes.

    Raises:
        MinibrainsError: The workflow is wrong, or these nodes are no region, or have no networks.

    Example:
        >>> from minibrains.training.module import region
        >>> module = region("airstriker_pixels", ["head"])
        >>> module(torch.zeros(2, 4, 84, 84)).shape
        torch.Size([2, 6])
    """
    spec = RunSpec(workflow, brains=brains or {}, packs=tuple(packs), train=tuple(ids))
    registry, _ = spec.load_node_types()
    graph = spec.check(spec.load_workflow(), registry)
    plan = compile_graph(graph)
    assert plan.region is not None
    names = [plan.steps[index].node for index in plan.region.steps]
    nodes: dict[str, TorchNode] = {}
    for name, runtime in instantiate_nodes(plan, names).items():
        if not isinstance(runtime.node, TorchNode) or hasattr(runtime.node, "initial"):
            raise MinibrainsError(
                f"{name} ({runtime.checked.entry.type}) has no network without a state; expected "
                "TorchNodes that are not recurrent"
            )
        nodes[name] = runtime.node
    return RegionModule(graph, nodes)
