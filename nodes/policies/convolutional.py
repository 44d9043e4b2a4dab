"""The network of PolicyHead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.nn.functional import relu

from nodes.policies.network import hidden_names, shrunk

SCALE: Final = 4.0
"""Of the profiles: most of a mask is 0, so its means are several times smaller than what the
convolutions give."""


class ConvolutionalPolicy(nn.Module):
    """Convolutions and hidden layers from stacked frames to one logit per action.

    frames:  float32 [B, channels, height, width]
    Out:     float32 [B, actions]
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Make a network with random weights. `config` are the settings of a PolicyHeadBrain."""
        super().__init__()
        channels, height, width = config["channels"], config["height"], config["width"]
        self.profiles: bool = config["profiles"]
        inputs = channels * (height + width) if self.profiles else 0

        self.convolutions: list[str] = []
        for index, (filters, kernel, stride) in enumerate(config["convolutions"]):
            name = f"convolution{index}"
            self.add_module(name, nn.Conv2d(channels, filters, kernel, stride))
            self.convolutions.append(name)
            channels = filters
            height, width = shrunk(height, kernel, stride), shrunk(width, kernel, stride)
        inputs += channels * height * width

        self.hidden_layers: list[str] = []
        for name in hidden_names(config["layers"]):
            self.add_module(name, nn.Linear(inputs, config["hidden"]))
            self.hidden_layers.append(name)
            inputs = config["hidden"]
        self.output = nn.Linear(inputs, config["actions"])

    def features(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what the last hidden layer gives: float32 [B, hidden]."""
        seen = frames
        for name in self.convolutions:
            seen = relu(self.get_submodule(name)(seen))
        seen = seen.flatten(1)
        if self.profiles:
            columns, rows = frames.mean(2).flatten(1), frames.mean(3).flatten(1)
            seen = torch.cat([seen, SCALE * columns, SCALE * rows], 1)
        for name in self.hidden_layers:
            seen = relu(self.get_submodule(name)(seen))
        return seen

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        logits: torch.Tensor = self.output(self.features(frames))
        return logits
