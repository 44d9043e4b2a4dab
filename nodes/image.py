"""Pictures: grey, smaller, stacked over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from minibrains import Brain, Episode, Frame, Node, Socket, tensor, widget
from minibrains.errors import BrainError

GreyFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 1]")]
ColorFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]
SizedFrame = Annotated[np.ndarray, Socket("frame", "u8[{height} {width} c]")]
BrainFrame = Annotated[np.ndarray, Socket("frame", "u8[h w {colors}]")]
BrainFrames = Annotated[np.ndarray, Socket("frames", "f32[{channels} h w]")]


class Grayscale(Node):
    """Colour to grey by the weights of ITU-R BT.601 (0.299, 0.587, 0.114), rounded.

    frame:  uint8 [h, w, 3]
    Out:    uint8 [h, w, 1]
    """

    def tick(self, frame: ColorFrame) -> GreyFrame:
        from PIL import Image

        return np.asarray(Image.fromarray(np.ascontiguousarray(frame)).convert("L"))[:, :, None]


class Resize(Node):
    """Scale a picture to a fixed size.

    frame:  uint8 [h, w, c], c 1 or 3
    Out:    uint8 [height, width, c]
    """

    width: int = widget(84, min=1, max=4096, doc="pixels")
    height: int = widget(84, min=1, max=4096, doc="pixels")

    def tick(self, frame: Frame) -> SizedFrame:
        from PIL import Image

        grey = frame.shape[2] == 1
        picture = Image.fromarray(np.ascontiguousarray(frame[:, :, 0] if grey else frame))
        small = np.asarray(picture.resize((self.width, self.height), Image.Resampling.BOX))
        return small[:, :, None] if grey else small


class FrameStackTaps(Brain):
    """Which moments a frame stack shows, and how pixels become numbers: (pixel / 255 - mean) / std."""

    kind = "frame_stack"
    taps: np.ndarray = tensor("i32[taps]", "how many ticks back each picture is, oldest first: 0 is now")
    mean: np.ndarray = tensor("f32[colors]", "per colour")
    std: np.ndarray = tensor("f32[colors]", "per colour")

    @classmethod
    def derived_sizes(cls, sizes: Mapping[str, int], config: Mapping[str, object]) -> Mapping[str, int]:
        return {"channels": sizes["taps"] * sizes["colors"]}

    def check(self, where: str) -> None:
        taps = self.taps.tolist()
        if not taps or taps != sorted(set(taps), reverse=True) or not 0 <= taps[-1] <= taps[0] < 4096:
            raise BrainError(f"{where}: taps are {taps}; expected falling whole numbers from at most 4095 to at least 0")
        if not (np.isfinite(self.mean).all() and np.isfinite(self.std).all() and (self.std > 0).all()):
            raise BrainError(f"{where}: mean and std must be finite, std greater than 0")


class FrameStack(Node):
    """The last pictures as one block of channels, so that a network without memory sees movement.

    frame:  uint8 [h, w, colors]
    Out:    float32 [taps * colors, h, w], oldest first; before the episode is old enough its first picture
    Source: first seed, 8 frames of 128x180x3 -> (24, 128, 180).
    """

    clocked = True
    brain: FrameStackTaps

    def reset(self, episode: Episode) -> None:
        self.ring: list[np.ndarray] = []
        self.next = 0

    def tick(self, frame: BrainFrame) -> BrainFrames:
        taps = self.brain.taps.tolist()
        planes = np.ascontiguousarray(frame.transpose(2, 0, 1), np.float32)
        planes = (planes / np.float32(255) - self.brain.mean[:, None, None]) / self.brain.std[:, None, None]
        depth = taps[0] + 1
        if not self.ring:
            self.ring = [planes] * depth
        self.ring[self.next] = planes
        newest, self.next = self.next, (self.next + 1) % depth
        return np.concatenate([self.ring[(newest - tap) % depth] for tap in taps])
