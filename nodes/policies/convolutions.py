"""The convolutions of networks that see frames: the specs of their tensors, and their layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minibrains.errors import BrainError

if TYPE_CHECKING:
    from torch import nn


def convolution_specs(config: Mapping[str, Any]) -> tuple[dict[str, str], tuple[int, int, int]]:
    """Return the spec of each tensor of some convolutions, and the shape of what they give.

    Args:
        config: The settings `channels`, `height`, `width` and `convolutions` of a brain, and
            `weights` and `pictures` if it has them; the first layer sees one of these pictures at
            a time.

    Returns:
        The specs by name; channels, height and width.

    Raises:
        BrainError: There are no such convolutions.
    """
    pictures = config.get("pictures", 1)
    channels, height, width = config["channels"] // pictures, config["height"], config["width"]
    dtype = config.get("weights", "f32")
    specs: dict[str, str] = {}
    for index, layer in enumerate(config["convolutions"]):
        if len(layer) != 3 or min(layer) < 1:
            raise BrainError(f"convolutions has {list(layer)}; expected [filters, kernel, stride]")
        filters, kernel, stride = layer
        specs[f"convolution{index}.weight"] = f"{dtype}[{filters} {channels} {kernel} {kernel}]"
        specs[f"convolution{index}.bias"] = f"{dtype}[{filters}]"
        channels, pictures = filters * pictures, 1
        height, width = _shrunk(height, kernel, stride), _shrunk(width, kernel, stride)
        if height < 1 or width < 1:
            raise BrainError(f"convolution {index} leaves nothing of a picture of this size")
    return specs, (channels, height, width)


def build_convolutions(
    config: Mapping[str, Any],
) -> tuple[dict[str, nn.Module], tuple[int, int, int]]:
    """Return new convolutions by name, and the channels, height and width of what they give."""
    from torch import nn

    pictures = config.get("pictures", 1)
    channels, height, width = config["channels"] // pictures, config["height"], config["width"]
    layers: dict[str, nn.Module] = {}
    for index, (filters, kernel, stride) in enumerate(config["convolutions"]):
        layers[f"convolution{index}"] = nn.Conv2d(channels, filters, kernel, stride)
        channels, pictures = filters * pictures, 1
        height, width = _shrunk(height, kernel, stride), _shrunk(width, kernel, stride)
    return layers, (channels, height, width)


def _shrunk(size: int, kernel: int, stride: int) -> int:
    """Return how much of a height or width a convolution leaves, in pixels."""
    return (size - kernel) // stride + 1
