"""A policy that sees numbers: a small network from a vector to logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from minibrains import Brain, Socket, TorchNode, setting
from minibrains.errors import BrainError
from nodes.policies.network import (
    MOST_LAYERS,
    HeadLogits,
    check_action_names,
    only_the_first,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

PolicyNumbers = Annotated[np.ndarray, Socket("vector", "f32[{numbers}]")]


class VectorPolicyBrain(Brain):
    """Weights and sizes of a network of fully connected layers from numbers to action logits."""

    kind = "vector_policy"
    numbers: int = setting(doc="the number of inputs")
    actions: int = setting(doc="the number of actions, which is the size of the output")
    hidden: int = setting(doc="width of each hidden layer")
    layers: int = setting(doc="the number of hidden layers")
    action_names: tuple[str, ...] = setting(
        (),
        "the names of the actions, in the order of the action table that they are from; "
        "empty: of any table",
    )

    def check(self, where: str) -> None:
        check_action_names(where, self.action_names, self.actions)

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        sizes = [config[name] for name in ("numbers", "actions", "hidden", "layers")]
        if min(sizes) < 1 or config["layers"] > MOST_LAYERS:
            raise BrainError(
                "numbers, actions, hidden and layers must be at least 1, and layers at most "
                f"{MOST_LAYERS}"
            )
        specs: dict[str, str] = {}
        inputs = config["numbers"]
        for name in _hidden_names(config["layers"]):
            specs[f"{name}.weight"] = f"f32[{config['hidden']} {inputs}]"
            specs[f"{name}.bias"] = f"f32[{config['hidden']}]"
            inputs = config["hidden"]
        specs["output.weight"] = f"f32[{config['actions']} {inputs}]"
        specs["output.bias"] = f"f32[{config['actions']}]"
        return specs


def _hidden_names(layers: int) -> list[str]:
    return [f"hidden{number}" for number in range(1, layers + 1)]


class VectorPolicy(TorchNode, category="policies", fallback=only_the_first):
    """A small network from numbers, such as those of a FightVector, to one logit per action.

    vector:  float32 [numbers]
    Out:     float32 [actions]

    Its layers are fully connected, with tanh between them. If its brain has the names of the
    actions, only a sink with that action table may take them. With `"on_error": "fallback"` action
    0 is the only possible one when it fails or exceeds its `"timeout"`.
    """

    brain: VectorPolicyBrain

    def trained_action_names(self) -> tuple[str, ...]:
        """Return the names of the actions that it was trained for; empty: of any table."""
        names: tuple[str, ...] = self.brain.action_names
        return names

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        inputs = config["numbers"]
        layers: dict[str, nn.Module] = {}
        for name in _hidden_names(config["layers"]):
            layers[name] = nn.Linear(inputs, config["hidden"])
            inputs = config["hidden"]
        layers["output"] = nn.Linear(inputs, config["actions"])
        return nn.ModuleDict(layers)

    def forward(self, vector: PolicyNumbers) -> HeadLogits:
        hidden: torch.Tensor = vector  # type: ignore[assignment]
        for name in _hidden_names(self.brain.layers):
            hidden = self.module[name](hidden).tanh()
        logits: torch.Tensor = self.module["output"](hidden)
        return logits  # type: ignore[return-value]
