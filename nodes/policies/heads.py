"""The heads of a policy network of several nodes: logits of actions, and a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from minibrains import Brain, Number, Socket, TorchNode, setting
from minibrains.errors import BrainError
from nodes.policies.network import MOST_LAYERS, HeadLogits, check_action_names, only_the_first

if TYPE_CHECKING:
    import torch
    from torch import nn

HeadNumbers = Annotated[np.ndarray, Socket("vector", "f32[{numbers}]")]


class ActionHeadBrain(Brain):
    """Weights and sizes of a head with an output for each action."""

    kind = "action_head"
    numbers: int = setting(doc="the number of inputs")
    hidden: tuple[int, ...] = setting(doc="the width of each hidden layer")
    dropout: float = setting(0.0, "share of hidden units left out in training, 0 to less than 1")
    actions: int = setting(doc="the number of actions, which is the size of the output")
    action_names: tuple[str, ...] = setting(
        (),
        "the names of the actions, in the order of the action table that they are from; "
        "empty: of any table",
    )

    def check(self, where: str) -> None:
        check_action_names(where, self.action_names, self.actions)

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return _specs(config, config["actions"])


class ValueHeadBrain(Brain):
    """Weights and sizes of a head with one output."""

    kind = "value_head"
    numbers: int = setting(doc="the number of inputs")
    hidden: tuple[int, ...] = setting(doc="the width of each hidden layer")
    dropout: float = setting(0.0, "share of hidden units left out in training, 0 to less than 1")

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return _specs(config, 1)


def _specs(config: Mapping[str, Any], outputs: int) -> dict[str, str]:
    """Return the spec of each tensor of a head, by name. Raises BrainError if there is none."""
    numbers, hidden, dropout = config["numbers"], config["hidden"], config["dropout"]
    if min(numbers, outputs, *hidden) < 1 or len(hidden) > MOST_LAYERS:
        raise BrainError(
            f"numbers, actions and hidden must be at least 1, and there are at most {MOST_LAYERS} "
            "hidden layers"
        )
    if not 0 <= dropout < 1:
        raise BrainError(f"dropout is {dropout}; expected 0 to less than 1")
    specs: dict[str, str] = {}
    inputs = numbers
    for number, width in enumerate(hidden, 1):
        specs[f"hidden{number}.weight"] = f"f32[{width} {inputs}]"
        specs[f"hidden{number}.bias"] = f"f32[{width}]"
        inputs = width
    specs["output.weight"] = f"f32[{outputs} {inputs}]"
    specs["output.bias"] = f"f32[{outputs}]"
    return specs


class Head(TorchNode, abstract=True):
    """Fully connected layers with ReLU, and in training dropout, between them."""

    brain: Brain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        layers: dict[str, nn.Module] = {}
        inputs = config["numbers"]
        for number, width in enumerate(config["hidden"], 1):
            layers[f"hidden{number}"] = nn.Linear(inputs, width)
            inputs = width
        layers["dropout"] = nn.Dropout(config["dropout"])
        layers["output"] = nn.Linear(inputs, self.outputs(config))
        return nn.ModuleDict(layers)

    def outputs(self, config: Mapping[str, Any]) -> int:
        """Return the number of outputs of a head with these settings."""
        raise NotImplementedError

    def logits(self, vector: torch.Tensor) -> torch.Tensor:
        """Return the result of the last layer for features: [B, outputs]."""
        brain: Any = self.brain
        hidden = vector
        for number in range(1, len(brain.hidden) + 1):
            hidden = self.module["dropout"](self.module[f"hidden{number}"](hidden).relu())
        found: torch.Tensor = self.module["output"](hidden)
        return found


class ActionHead(Head, category="policies", fallback=only_the_first):
    """The head of a policy network: from features to one logit per action.

    vector:  float32 [numbers], of a TemporalAttention
    Out:     float32 [actions]

    If its brain has the names of the actions, only a sink with that action table may take them.
    With `"on_error": "fallback"` action 0 is the only possible one when it fails or exceeds its
    `"timeout"`.
    """

    brain: ActionHeadBrain

    def trained_action_names(self) -> tuple[str, ...]:
        """Return the names of the actions that it was trained for; empty: of any table."""
        names: tuple[str, ...] = self.brain.action_names
        return names

    def outputs(self, config: Mapping[str, Any]) -> int:
        return int(config["actions"])

    def forward(self, vector: HeadNumbers) -> HeadLogits:
        return self.logits(vector)  # type: ignore[arg-type,return-value]


class ValueHead(Head, category="policies"):
    """The head of a policy network that estimates the return; TrainPPO learns with it.

    vector:  float32 [numbers], of a TemporalAttention
    Out:     the expected sum of rewards to come
    """

    brain: ValueHeadBrain

    def outputs(self, config: Mapping[str, Any]) -> int:
        return 1

    def forward(self, vector: HeadNumbers) -> Number:
        value: Any = self.logits(vector)[:, 0]  # type: ignore[arg-type]
        return value  # type: ignore[no-any-return]
