"""Learned policies: a network from frames to logits, and the choice of an action from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Action,
    Brain,
    Episode,
    Host,
    Logits,
    Node,
    Socket,
    TorchNode,
    setting,
    widget,
)
from minibrains.errors import BrainError
from nodes.actions.sink import ActionTable
from nodes.policies.convolutions import build_convolutions, convolution_specs

if TYPE_CHECKING:
    import torch
    from torch import nn

PROFILE_SCALE: Final = 4.0
"""The factor of profiles, because a picture of masks is mostly 0 and its means are small.
Brains were trained with it, so it cannot change."""
MOST_LAYERS: Final = 64
"""The shapes of all layers are listed before a file is read, which must not take long."""

HeadFrames = Annotated[np.ndarray, Socket("frames", "f32[{channels} {height} {width}]")]
HeadLogits = Annotated[np.ndarray, Socket("logits", "f32[{actions}]")]


class PolicyHeadBrain(Brain):
    """Weights and sizes of a small convolutional network from stacked frames to action logits."""

    kind = "policy_head"
    channels: int = setting(doc="input channels")
    height: int = setting(doc="input pixels")
    width: int = setting(doc="input pixels")
    actions: int = setting(doc="the number of actions, which is the size of the output")
    hidden: int = setting(doc="width of each hidden layer")
    convolutions: tuple[tuple[int, ...], ...] = setting(
        doc="[filters, kernel, stride] of each layer"
    )
    layers: int = setting(
        1, "number of hidden layers between the convolutions and the output", added=True
    )
    profiles: bool = setting(
        False,
        "the first hidden layer also gets the mean of each column and of each row of each channel, "
        "times 4",
        added=True,
    )
    action_names: tuple[str, ...] = setting(
        (),
        "the names of the actions, in the order of the action table that they are from; "
        "empty: of any table",
        added=True,
    )
    weights: Literal["f32", "f16"] = setting(
        "f32", "the type in which the weights are stored; it always computes in f32", added=True
    )

    def check(self, where: str) -> None:
        check_action_names(where, self.action_names, self.actions)

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return network_specs(config, config["actions"])


def network_specs(config: Mapping[str, Any], outputs: int) -> dict[str, str]:
    """Return the spec of each tensor of a FrameNetwork with so many outputs, by name.

    Args:
        config: The settings of a brain, those of PolicyHeadBrain but `actions`.
        outputs: The number of outputs.

    Raises:
        BrainError: There is no such network.
    """
    specs, (channels, height, width) = convolution_specs(config)
    dtype = config.get("weights", "f32")
    inputs = 0
    if config.get("profiles", False):
        inputs = config["channels"] * (config["height"] + config["width"])
    hidden, layers = config["hidden"], config.get("layers", 1)
    if min(channels, height, width, hidden, outputs, layers) < 1:
        raise BrainError("channels, height, width, hidden, outputs and layers must be at least 1")
    if layers > MOST_LAYERS:
        raise BrainError(f"layers is {layers}; expected at most {MOST_LAYERS}")
    inputs += channels * height * width
    for name in _hidden_names(layers):
        specs[f"{name}.weight"] = f"{dtype}[{hidden} {inputs}]"
        specs[f"{name}.bias"] = f"{dtype}[{hidden}]"
        inputs = hidden
    specs["output.weight"] = f"{dtype}[{outputs} {hidden}]"
    specs["output.bias"] = f"{dtype}[{outputs}]"
    return specs


def check_action_names(where: str, names: Sequence[str], actions: int) -> None:
    """Raise BrainError unless there is a name for each action of a brain, or none at all."""
    if names and len(names) != actions:
        raise BrainError(
            f"{where}: there are {len(names)} action_names for {actions} actions; expected one for "
            "each, or none"
        )


def _hidden_names(layers: int) -> list[str]:
    """Return the names of so many hidden layers, from the first to the last."""
    return ["hidden", *(f"hidden{number}" for number in range(2, layers + 1))]


def only_the_first(sizes: Mapping[str, int]) -> np.ndarray:
    """Return logits that allow only action 0, which presses nothing in the shipped tables."""
    logits = np.full(sizes["actions"], -np.inf, np.float32)
    logits[0] = 0.0
    return logits


class FrameNetwork(TorchNode, abstract=True):
    """A small CNN from stacked frames to a vector; all its sizes come from its brain.

    With `profiles` in its brain, the first hidden layer gets the mean of each column and each row
    of the frames beside what the convolutions give; they tell it exactly where something is.
    Source: V. Mnih et al., Human-level control through deep reinforcement learning, Nature 518
    (2015), 529-533, whose network has this structure with one hidden layer and without profiles.
    """

    brain: Brain

    @classmethod
    def trained_encoding(
        cls, metadata: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, Any] | None] | None:
        """Return the nodes that showed pictures to a brain's training, by type, with their
        settings; None: its header does not say.

        A FighterMask, CenterMasks, Crop and Resize are in the entry "eyes" of a cloned brain.
        """
        if "eyes" not in metadata:
            return None
        eyes = json.loads(metadata["eyes"])
        left, top, box_width, box_height = eyes["box"]
        width, height = eyes["size"]
        center: Mapping[str, Any] | None = None
        if eyes["center"]:
            column, strip = eyes["center"]
            center = {"column": column, "strip": strip}
        mask = {"mirror": eyes["turn"], "brain": eyes["fighter_colors_sha256"]}
        if not mask["brain"]:
            del mask["brain"]
        return {
            "FighterMask": mask,
            "CenterMasks": center,
            "Crop": {"left": left, "top": top, "width": box_width, "height": box_height},
            "Resize": {"width": width, "height": height},
        }

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        layers, (channels, height, width) = build_convolutions(config)
        inputs = channels * height * width
        if config["profiles"]:
            inputs += config["channels"] * (config["height"] + config["width"])
        for name in _hidden_names(config["layers"]):
            layers[name] = nn.Linear(inputs, config["hidden"])
            inputs = config["hidden"]
        layers["output"] = nn.Linear(inputs, self.outputs(config))
        return nn.ModuleDict(layers)

    def outputs(self, config: Mapping[str, Any]) -> int:
        """Return the number of outputs of a network with these settings."""
        raise NotImplementedError

    def last_hidden(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what the last hidden layer gives for frames: [B, hidden]."""
        import torch

        brain: Any = self.brain
        seen = frames
        for index in range(len(brain.convolutions)):
            seen = self.module[f"convolution{index}"](seen).relu()
        seen = seen.flatten(1)
        if brain.profiles:
            columns, rows = frames.mean(2).flatten(1), frames.mean(3).flatten(1)
            seen = torch.cat([seen, PROFILE_SCALE * columns, PROFILE_SCALE * rows], 1)
        for name in _hidden_names(brain.layers):
            seen = self.module[name](seen).relu()
        return seen

    def logits(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what the output layer gives for frames: [B, outputs]."""
        out: torch.Tensor = self.module["output"](self.last_hidden(frames))
        return out


class PolicyHead(FrameNetwork, category="policies", fallback=only_the_first):
    """A small CNN from stacked frames to one logit per action; all its sizes come from its brain.

    frames:  float32 [channels, height, width]
    Out:     float32 [actions]

    With `profiles` in its brain, the first hidden layer gets the mean of each column and each row
    of the frames beside what the convolutions give; they tell it exactly where something is.
    If its brain has the names of the actions, only a sink with that action table may take them.
    With `"on_error": "fallback"` action 0 is the only possible one when it fails or exceeds its
    `"timeout"`.
    Source: V. Mnih et al., Human-level control through deep reinforcement learning, Nature 518
    (2015), 529-533, whose network has this structure with one hidden layer and without profiles.
    """

    brain: PolicyHeadBrain

    def trained_action_names(self) -> tuple[str, ...]:
        """Return the names of the actions that it was trained for; empty: of any table."""
        names: tuple[str, ...] = self.brain.action_names
        return names

    def outputs(self, config: Mapping[str, Any]) -> int:
        return int(config["actions"])

    def forward(self, frames: HeadFrames) -> HeadLogits:
        return self.logits(frames)  # type: ignore[arg-type,return-value]


class AttackBias(Node, category="policies"):
    """Make a policy more or less aggressive: add a number to the logits of all attacks.

    logits:  float32 [actions]
    Out:     float32 [actions]
    An attack is an action of the table that presses a button other than a direction. Its brain
    is the action table that the sink uses.
    Raises MinibrainsError if the table has no such button.
    """

    brain: ActionTable
    buttons: tuple[str, ...] = widget(
        default=(), rebuild=True, doc="only attacks with these buttons; empty: all"
    )
    bias: float = widget(
        default=0.0,
        min=-100.0,
        max=100.0,
        doc="what is added; below 0 it attacks less. With a bias of 1, an attack is 2.7 times as "
        "likely, compared with an action that is not an attack",
    )

    def open(self, host: Host) -> None:
        self._attacks = np.zeros(len(self.brain.names), np.float32)
        self._attacks[list(self.brain.attacks(self.buttons))] = 1

    def tick(self, logits: HeadLogits) -> HeadLogits:
        biased: np.ndarray = logits + np.float32(self.bias) * self._attacks
        return biased


class Choice(NamedTuple):
    """A choice: the action, and the best of the others."""

    action: Action
    second: Action | Absent


class ActionSampler(Node, category="policies"):
    """Choose an action from logits: the best one, or one drawn from the softmax.

    logits:  float32 [actions]
    action:  the action chosen, 0 to actions - 1
    second:  the most likely of the others, for an AntiRepeat; nothing if no other is possible
    """

    mode: Literal["greedy", "sample"] = widget(
        default="greedy", doc="choose the most likely action, or draw one by its probability"
    )
    temperature: float = widget(
        default=1.0,
        min=0.01,
        max=100.0,
        doc="the temperature of the softmax; higher is more random",
    )

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()

    def tick(self, logits: Logits) -> Choice:
        action = self._choose(logits)
        others = logits.copy()
        others[action] = -np.inf
        second = int(others.argmax())
        if others[second] == -np.inf:
            return Choice(action, ABSENT)
        return Choice(action, second)

    def _choose(self, logits: np.ndarray) -> int:
        if self.mode == "greedy":
            return int(logits.argmax())
        scaled = logits.astype(np.float64) / self.temperature
        weights = np.exp(scaled - scaled.max())
        return int(
            np.searchsorted(np.cumsum(weights) / weights.sum(), self.rng.random(), side="right")
        )
