"""FrameEncoder: the part of a large policy network that sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from minibrains import Brain, Socket, TorchNode, setting
from minibrains.errors import BrainError
from nodes.policies.convolutions import build_convolutions, convolution_specs
from nodes.policies.network import HeadFrames

if TYPE_CHECKING:
    import torch
    from torch import nn

EncodedFrames = Annotated[np.ndarray, Socket("vector", "f32[{features}]")]


class FrameEncoderBrain(Brain):
    """Weights and sizes of a convolutional network from stacked frames to features."""

    kind = "frame_encoder"
    channels: int = setting(doc="input channels")
    height: int = setting(doc="input pixels")
    width: int = setting(doc="input pixels")
    convolutions: tuple[tuple[int, ...], ...] = setting(
        doc="[filters, kernel, stride] of each layer"
    )
    features: int = setting(doc="the number of features, which is the size of the output")
    pictures: int = setting(
        1,
        "the number of pictures that the channels consist of; the first layer sees one at a time, "
        "with the same weights",
        added=True,
    )

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        pictures = config["pictures"]
        if pictures < 1 or config["channels"] % pictures or not config["convolutions"]:
            raise BrainError(
                f"pictures is {pictures}; expected a divisor of the {config['channels']} channels, "
                "and at least one convolution"
            )
        specs, (channels, height, width) = convolution_specs(config)
        features = config["features"]
        if min(channels, height, width, features) < 1:
            raise BrainError("channels, height, width and features must be at least 1")
        specs["features.weight"] = f"f32[{features} {channels * height * width}]"
        specs["features.bias"] = f"f32[{features}]"
        return specs


class FrameEncoder(TorchNode, category="policies"):
    """A CNN from stacked frames to features, for a policy network of several nodes.

    frames:  float32 [channels, height, width]
    Out:     float32 [features], not negative

    A FeatureHistory remembers the features of the last decisions.
    Source: V. Mnih et al., Human-level control through deep reinforcement learning, Nature 518
    (2015), 529-533, whose network has these layers below its output.
    """

    brain: FrameEncoderBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        import torch
        from torch import nn

        layers, (channels, height, width) = build_convolutions(config)
        layers["features"] = nn.Linear(channels * height * width, config["features"])
        module = nn.ModuleDict(layers)
        # convolutions take less time with the channels of a pixel side by side (channels_last), but
        # to bring the whole picture into that order costs more than it saves if the first layer
        # reads each pixel only once
        _, kernel, stride = config["convolutions"][0]
        first = 1 if stride >= kernel else 0
        for index in range(first, len(config["convolutions"])):
            convolution: nn.Module = module[f"convolution{index}"]
            convolution.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return module

    def forward(self, frames: HeadFrames) -> EncodedFrames:
        seen: torch.Tensor = frames  # type: ignore[assignment]
        pictures = self.brain.pictures
        batch, _, height, width = seen.shape
        seen = seen.reshape(batch * pictures, -1, height, width)
        seen = self.module["convolution0"](seen).relu()
        seen = seen.reshape(batch, -1, *seen.shape[2:])
        for index in range(1, len(self.brain.convolutions)):
            seen = self.module[f"convolution{index}"](seen).relu()
        features: torch.Tensor = self.module["features"](seen.flatten(1)).relu()
        return features  # type: ignore[return-value]
