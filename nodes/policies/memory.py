"""A memory for policies: a recurrent network between the numbers that a policy sees and itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from minibrains import Brain, Socket, TorchNode, setting
from minibrains.errors import BrainError
from nodes.policies.network import MOST_LAYERS

if TYPE_CHECKING:
    import torch
    from torch import nn

SeenNumbers = Annotated[np.ndarray, Socket("vector", "f32[{numbers}]")]
RememberedNumbers = Annotated[np.ndarray, Socket("vector", "f32[{hidden}]")]


class VectorMemoryBrain(Brain):
    """Weights and sizes of an LSTM."""

    kind = "vector_memory"
    numbers: int = setting(doc="the number of inputs")
    hidden: int = setting(doc="the number of outputs of each layer")
    layers: int = setting(1, "the number of layers")

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        inputs, hidden, layers = config["numbers"], config["hidden"], config["layers"]
        if min(inputs, hidden, layers) < 1 or layers > MOST_LAYERS:
            raise BrainError(
                f"numbers, hidden and layers must be at least 1, and layers at most {MOST_LAYERS}"
            )
        specs: dict[str, str] = {}
        for layer in range(layers):
            specs[f"weight_ih_l{layer}"] = f"f32[{4 * hidden} {inputs}]"
            specs[f"weight_hh_l{layer}"] = f"f32[{4 * hidden} {hidden}]"
            specs[f"bias_ih_l{layer}"] = f"f32[{4 * hidden}]"
            specs[f"bias_hh_l{layer}"] = f"f32[{4 * hidden}]"
            inputs = hidden
        return specs


class VectorMemory(TorchNode, category="policies"):
    """An LSTM, which remembers what it was shown before in the episode.

    vector:  float32 [numbers]
    Out:     float32 [hidden], from -1 to 1

    Put it between the numbers and a VectorPolicy, and the policy knows what it has seen. It
    remembers from one run of the node to the next, so give it the clock of the policy. TrainPPO
    trains both.

    Source: S. Hochreiter, J. Schmidhuber, Long short-term memory, Neural Computation 9 (1997).
    """

    brain: VectorMemoryBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        return nn.LSTM(config["numbers"], config["hidden"], config["layers"], batch_first=True)

    def initial(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return hidden and cell state, float32 [batch, layers, hidden], of which all are 0."""
        import torch

        zeros = torch.zeros(batch, self.brain.layers, self.brain.hidden)
        return zeros, zeros

    def forward(self, vector: SeenNumbers, state: Any) -> tuple[RememberedNumbers, Any]:
        shown: torch.Tensor = vector  # type: ignore[assignment]
        hidden, cell = state
        # the LSTM has the layers of a state first
        before = hidden.transpose(0, 1).contiguous(), cell.transpose(0, 1).contiguous()
        found, (hidden, cell) = self.module(shown[:, None], before)
        remembered: Any = found[:, 0]
        return remembered, (hidden.transpose(0, 1), cell.transpose(0, 1))
