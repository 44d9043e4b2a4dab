"""Policies: from what an agent sees to what it wants to do."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

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
    Situation,
    Socket,
    TorchNode,
    setting,
    tensor,
    widget,
)
from minibrains.errors import BrainError

if TYPE_CHECKING:
    import torch
    from torch import nn

ChosenAction = Annotated[int, Socket("action", "index[{actions}]")]
HeadFrames = Annotated[np.ndarray, Socket("frames", "f32[{channels} {height} {width}]")]
HeadLogits = Annotated[np.ndarray, Socket("logits", "f32[{actions}]")]


class RandomPolicy(Node):
    """A uniformly random action every `hold` ticks: the baseline every agent has to beat."""

    clocked = True
    actions: int = widget(min=1, doc="how many actions there are to choose from")
    hold: int = widget(8, min=1, doc="ticks from one action to the next")

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()
        self.left = 0

    def tick(self) -> ChosenAction | Absent:
        if self.left:
            self.left -= 1
            return ABSENT
        self.left = self.hold - 1
        return int(self.rng.integers(self.actions))


class ReflexTable(Brain):
    """For each situation a macro: rows of an action and how many ticks to keep to it."""

    kind = "reflex"
    actions: int = setting(doc="how many actions the table chooses from")
    action: np.ndarray = tensor("i32[situations rows]", "the action of each row")
    ticks: np.ndarray = tensor("i32[situations rows]", "how long it is wanted; 0 ends the macro before this row")

    def check(self, where: str) -> None:
        if self.action.size == 0 or (self.action < 0).any() or (self.action >= self.actions).any():
            raise BrainError(f"{where}: every action must be from 0 to {self.actions - 1}, and there must be one")
        if (self.ticks < 0).any() or (self.ticks[:, 0] == 0).any():
            raise BrainError(f"{where}: ticks must not be negative, nor 0 in the first row of a macro")


class Reflex(NamedTuple):
    """What a reflex wants, and whether it has just begun a macro."""

    action: ChosenAction | Absent
    started: Annotated[bool, Socket("flag")]


class ReflexPolicy(Node):
    """Play macros from a table: the one for the situation at hand, to its end, then look again.

    situation:  which macro; without a link always the first
    action:     delivered when a row begins
    started:    True on ticks on which a macro begins
    """

    clocked = True
    brain: ReflexTable

    def open(self, host: Host) -> None:
        table = zip(self.brain.action.tolist(), self.brain.ticks.tolist(), strict=True)
        self._macros = [list(takewhile(itemgetter(1), zip(*macro, strict=True))) for macro in table]

    def reset(self, episode: Episode) -> None:
        self.macro, self.row, self.left = 0, 0, 0

    def tick(self, situation: Situation | None = None) -> Reflex:
        if self.left:
            self.left -= 1
            return _SAME
        started = not self.row
        if started:
            self.macro = situation or 0
        rows = self._macros[self.macro]
        action, ticks = rows[self.row]
        self.row, self.left = (self.row + 1) % len(rows), ticks - 1
        return Reflex(action, started)


_SAME = Reflex(ABSENT, False)


class PolicyWeights(Brain):
    """Weights and sizes of a small convolutional network from stacked frames to action logits."""

    kind = "policy_head"
    channels: int = setting(doc="input channels")
    height: int = setting(doc="input pixels")
    width: int = setting(doc="input pixels")
    actions: int = setting(doc="how many actions, the size of the output")
    hidden: int = setting(doc="width of the layer before the output")
    convolutions: tuple[tuple[int, ...], ...] = setting(doc="[filters, kernel, stride] of each layer")

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        channels, height, width = config["channels"], config["height"], config["width"]
        specs = {}
        for place, layer in enumerate(config["convolutions"]):
            if len(layer) != 3 or min(layer) < 1:
                raise BrainError(f"convolutions has {list(layer)}; expected [filters, kernel, stride]")
            filters, kernel, stride = layer
            specs[f"convolution{place}.weight"] = f"f32[{filters} {channels} {kernel} {kernel}]"
            specs[f"convolution{place}.bias"] = f"f32[{filters}]"
            channels, height, width = filters, _shrunk(height, kernel, stride), _shrunk(width, kernel, stride)
            if height < 1 or width < 1:
                raise BrainError(f"convolution {place} leaves nothing of a picture of this size")
        hidden, actions = config["hidden"], config["actions"]
        if min(channels, height, width, hidden, actions) < 1:
            raise BrainError("channels, height, width, hidden and actions must be at least 1")
        return {
            **specs,
            "hidden.weight": f"f32[{hidden} {channels * height * width}]",
            "hidden.bias": f"f32[{hidden}]",
            "output.weight": f"f32[{actions} {hidden}]",
            "output.bias": f"f32[{actions}]",
        }


class PolicyHead(TorchNode):
    """A small CNN from stacked frames to one logit an action; all its sizes come from its brain.

    frames:  float32 [channels, height, width]
    Out:     float32 [actions]
    Source: first seed, a CNN and a policy branch over its features.
    """

    brain: PolicyWeights

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        channels, height, width = config["channels"], config["height"], config["width"]
        layers: list[tuple[str, nn.Module]] = []
        for place, (filters, kernel, stride) in enumerate(config["convolutions"]):
            layers += [(f"convolution{place}", nn.Conv2d(channels, filters, kernel, stride)), (f"relu{place}", nn.ReLU())]
            channels, height, width = filters, _shrunk(height, kernel, stride), _shrunk(width, kernel, stride)
        layers += [("flatten", nn.Flatten()), ("hidden", nn.Linear(channels * height * width, config["hidden"]))]
        layers += [("relu", nn.ReLU()), ("output", nn.Linear(config["hidden"], config["actions"]))]
        return nn.Sequential(OrderedDict(layers))

    def forward(self, frames: HeadFrames) -> HeadLogits:
        out: torch.Tensor = self.module(frames)
        return out  # type: ignore[return-value]


def _shrunk(size: int, kernel: int, stride: int) -> int:
    return (size - kernel) // stride + 1


class ActionSampler(Node):
    """Choose an action from logits: the best one, or one drawn from the softmax.

    logits:  float32 [actions]
    """

    mode: Literal["greedy", "sample"] = widget("greedy", doc="the most likely action, or a random one by its likelihood")
    temperature: float = widget(1.0, min=0.01, max=100.0, doc="of the softmax; higher is more random")

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()

    def tick(self, logits: Logits) -> Action:
        if self.mode == "greedy":
            return int(logits.argmax())
        scaled = logits.astype(np.float64) / self.temperature
        weights = np.exp(scaled - scaled.max())
        return int(np.searchsorted(np.cumsum(weights) / weights.sum(), self.rng.random(), side="right"))
