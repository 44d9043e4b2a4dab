"""RegionModule: the networks of several nodes as one torch module."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from minibrains.engine.compile import compile_graph
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.errors import MinibrainsError, suggest
from minibrains.graph.check import Graph, resolve_sizes
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import Workflow
from minibrains.run.spec import RunSpec
from minibrains.tensor_sockets import join_state, split_state
from minibrains.torch_node import TorchNode
from minibrains.training.spaces import Port

Batch = torch.Tensor | Mapping[str, torch.Tensor]


class RegionModule(nn.Module):
    """The networks of a region of a workflow, as one module over batches, gradients included.

    `network` returns the network of a node; set `requires_grad_(False)` on it to freeze it.

    If some of its nodes are recurrent, so is the module: it takes and returns their states, joined
    to one tensor [B, `state_size`].
    """

    def __init__(self, graph: Graph, nodes: Mapping[str, TorchNode]) -> None:
        """Compose the networks of nodes.

        Args:
            graph: A graph with the region.
            nodes: The nodes of the region by id, in the order in which they run.
        """
        super().__init__()
        assert graph.region is not None
        self.graph: Final = graph
        """The graph of the workflow, with the region."""
        self._region = graph.region
        self._nodes = dict(nodes)
        self._networks = nn.ModuleDict()
        self._sources: dict[str, list[SocketRef | None]] = {}
        """Node -> the output that each of its inputs reads, or None."""
        for name, node in nodes.items():
            self._networks[_key(name)] = node.module = node.make_module()
            linked = {
                edge.input.name: SocketRef(edge.source, edge.output.name)
                for edge in graph.edges
                if edge.target == name
            }
            self._sources[name] = [linked.get(socket) for socket in node.schema.inputs]

        self._state_sizes: dict[str, int] = {}
        """Recurrent node -> the number of columns of its state."""
        for name, node in nodes.items():
            if hasattr(node, "initial"):
                self._state_sizes[name] = join_state(node.start_state(1)).shape[1]

    @property
    def state_size(self) -> int:
        """The number of columns of the state; 0: no node is recurrent."""
        return sum(self._state_sizes.values())

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of the nodes, in the order in which they run."""
        return tuple(self._nodes)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of `forward`, "node/socket" each: the outputs that are read."""
        return tuple(f"{link.node}/{link.socket}" for link in self._region.inputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, "node/socket"."""
        return tuple(f"{link.node}/{link.socket}" for link in self._region.outputs)

    def network(self, node: str) -> nn.Module:
        """Return the network of a node. Raises MinibrainsError if the region has no such node."""
        if node not in self._nodes:
            hint = suggest(node, self._nodes) or f"Its nodes are {', '.join(self._nodes)}"
            raise MinibrainsError(f"the region has no node {node!r}. {hint}")
        return self._networks[_key(node)]

    def initial(self, batch: int) -> torch.Tensor:
        """Return the state of a recurrent region at the start of an episode, float32
        [batch, state_size].
        """
        states: list[torch.Tensor] = []
        for name in self._state_sizes:
            states.append(join_state(self._nodes[name].start_state(batch)))
        return torch.cat(states, 1)

    def example_inputs(self) -> dict[str, torch.Tensor]:
        """Return zeros in the form of the inputs for one decision: "node/socket" -> [1, …].

        Raises MinibrainsError if a size is known only when the game runs.
        """
        unifier = resolve_sizes(self.graph, {})
        examples: dict[str, torch.Tensor] = {}
        for link in self._region.inputs:
            schema = self.graph.nodes[link.node].cls.schema
            name = f"{link.node}/{link.socket}"
            port = Port(name, unifier.resolve(link.node, schema.outputs[link.socket].type), False)
            zeros = np.zeros(port.space.shape or (), port.space.dtype)
            examples[name] = torch.from_numpy(zeros)[None]
        return examples

    def forward(
        self,
        inputs: Batch,
        state: torch.Tensor | None = None,
        starts: torch.Tensor | None = None,
    ) -> Any:
        """Compute what the region gives out.

        If it is recurrent, the inputs may be sequences of T steps, [B × T, …]: all steps of the
        first one, then those of the second.

        Args:
            inputs: Tensors [B, …]: the only input of the region, or all of them by "node/socket".
            state: The state before, float32 [B, state_size]; None: that at the start of an episode.
            starts: The steps at which an episode starts, with its own state, bool [B × T]; None:
                there are none.

        Returns:
            Tensors [B, …]: the only output, or all of them by "node/socket". If it is recurrent, a
            tuple of these and the state after the last step.
        """
        values: dict[SocketRef | None, Any] = {None: None}
        for link in self._region.inputs:
            if isinstance(inputs, torch.Tensor):
                values[link] = inputs
            else:
                values[link] = inputs[f"{link.node}/{link.socket}"]
        before: dict[str, torch.Tensor] = {}
        """Recurrent node -> the columns of its state."""
        if self.state_size:
            if state is None:
                state = self.initial(len(values[self._region.inputs[0]]))
            columns = torch.split(state, list(self._state_sizes.values()), 1)
            before.update(zip(self._state_sizes, columns, strict=True))

        after: list[torch.Tensor] = []
        for name, node in self._nodes.items():
            arguments = [values[source] for source in self._sources[name]]
            if name in before:
                result, node_state = _unroll(node, arguments, before[name], starts)
                after.append(node_state)
            elif node.schema.returns_tuple:
                result = node.forward(*arguments)
            else:
                result = (node.forward(*arguments),)
            outputs = [SocketRef(name, socket) for socket in node.schema.outputs]
            values.update(zip(outputs, result, strict=True))

        found = self._outputs(values)
        if self.state_size:
            return found, torch.cat(after, 1)
        return found

    def _outputs(self, values: Mapping[SocketRef | None, Any]) -> Batch:
        if len(self._region.outputs) == 1:
            only: torch.Tensor = values[self._region.outputs[0]]
            return only
        return {f"{link.node}/{link.socket}": values[link] for link in self._region.outputs}

    def with_output(self, output: str) -> RegionModule:
        """Return the same networks, weights included, as a module that gives out a number of one of
        the nodes: float32 [B].

        Args:
            output: The output, "node.socket".

        Raises:
            MinibrainsError: It is not an output of the region's nodes, or carries no number.
        """
        name, _, socket = output.partition(".")
        node = self._nodes.get(name)
        if node is None or socket not in node.schema.outputs:
            raise MinibrainsError(
                f"{output!r} is not an output of {', '.join(self._nodes)}; expected NODE.SOCKET of "
                "one that is trained"
            )
        if node.output_forms[socket].python is not float:
            kind = node.schema.outputs[socket].type
            raise MinibrainsError(f"{output!r} carries {kind}; expected a number")
        found = copy.copy(self)
        found._region = replace(self._region, outputs=(SocketRef(name, socket),))
        return found

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


def _unroll(
    node: TorchNode,
    arguments: Sequence[torch.Tensor | None],
    state: torch.Tensor,
    starts: torch.Tensor | None,
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """Compute all steps of sequences, one after the other; see RegionModule.forward.

    Returns:
        The outputs of all steps, and the joined state after the last one.
    """
    batch = len(state)
    form = node.start_state(batch)
    start = join_state(form)
    steps = next(len(argument) // batch for argument in arguments if argument is not None)

    results: list[tuple[torch.Tensor, ...]] = []
    for step in range(steps):
        if starts is not None:
            state = torch.where(starts[step::steps, None], start, state)
        shown: list[torch.Tensor | None] = []
        for argument in arguments:
            shown.append(None if argument is None else argument[step::steps])
        result, node_state = node.forward(*shown, state=split_state(state, form))
        state = join_state(node_state)
        if not node.schema.returns_tuple:
            result = (result,)
        results.append(result)

    outputs: list[torch.Tensor] = []
    for output in zip(*results, strict=True):
        outputs.append(torch.stack(output, 1).flatten(0, 1))
    return tuple(outputs), state


def _key(node: str) -> str:
    """Return the name of a node's network, which no attribute of a ModuleDict has."""
    return f"node {node}".replace(".", "/")


def region(
    workflow: str | os.PathLike[str] | Mapping[str, Any] | Workflow,
    ids: Sequence[str],
    *,
    freeze: Sequence[str] = (),
    brains: Mapping[str, str | os.PathLike[str]] | None = None,
    packs: Sequence[str | os.PathLike[str]] = (),
) -> RegionModule:
    """Return the networks of some nodes of a workflow as one module, which can be trained.

    Args:
        workflow: A file, the name of a shipped workflow, a JSON object, or a Workflow.
        ids: The ids of the nodes, which must all be TorchNodes.
        freeze: The ids of those of them that keep their weights, which then need no gradient.
        brains: Brains that replace those of the file: node -> file.
        packs: Python files with nodes.

    Raises:
        MinibrainsError: The workflow is wrong, or these nodes are not a region or have no networks.

    Example:
        >>> from minibrains.training.module import region
        >>> module = region("airstriker_pixels", ["head"])
        >>> module(torch.zeros(2, 4, 84, 84)).shape
        torch.Size([2, 6])
    """
    spec = RunSpec(workflow, brains=brains or {}, packs=tuple(packs), train=tuple(ids))
    module = region_of(spec)
    for node in freeze:
        module.network(node).requires_grad_(False)
    return module


def region_of(spec: RunSpec) -> RegionModule:
    """Return the networks of the nodes `train` of a run as one module; see `region`.

    Raises MinibrainsError.
    """
    registry, _ = spec.load_node_types()
    graph = spec.check(spec.load_workflow(), registry)
    plan = compile_graph(graph)
    assert plan.region is not None
    names = [plan.steps[index].node for index in plan.region.steps]
    nodes: dict[str, TorchNode] = {}
    for name, runtime in instantiate_nodes(plan, names).items():
        if not isinstance(runtime.node, TorchNode):
            raise MinibrainsError(
                f"{name} ({runtime.checked.entry.type}) has no network; expected TorchNodes"
            )
        nodes[name] = runtime.node
    return RegionModule(graph, nodes)
