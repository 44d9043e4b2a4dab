"""Frames: conversion to RGB or grey, scaling, and stacking over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple, Union

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    ColorFrame,
    Episode,
    Flag,
    Frame,
    Node,
    On,
    Socket,
    tensor,
    widget,
)
from minibrains.errors import BrainError, MinibrainsError

GreyFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 1]")]
SizedFrame = Annotated[np.ndarray, Socket("frame", "u8[{height} {width} c]")]
BrainFrame = Annotated[np.ndarray, Socket("frame", "u8[h w {c}]")]
BrainFrames = Annotated[np.ndarray, Socket("frames", "f32[{channels} h w]")]
AnyPicture = Union[
    Annotated[np.ndarray, Socket("frame", "u8[a b c]")],
    Annotated[np.ndarray, Socket("frame", "u8[a b]")],
    Annotated[np.ndarray, Socket("frame", "f32[a b c]")],
    Annotated[np.ndarray, Socket("frame", "f32[a b]")],
    Annotated[np.ndarray, Socket("frames", "f32[a b c]")],
]


class ToPicture(Node, category="vision"):
    """Convert a picture of any layout to uint8 RGB.

    frame:  grey [h, w] or, with the channels first or last, grey, RGB or RGBA: [h, w, 1 | 3 | 4] or
            [1 | 3 | 4, h, w]; uint8, or float from 0 to 1. Transparent pixels are shown over black
    Out:    uint8 [h, w, 3]; grey is copied to all three channels. A picture that has this form
            already is passed on as it is
    Raises MinibrainsError if the position of the channels is ambiguous, as in 3 by 200 by 4.
    """

    def tick(self, frame: AnyPicture) -> ColorFrame:
        picture = _bytes(_colors_last(frame))
        if picture.shape[2] == 4:
            color, alpha = picture[:, :, :3].astype(np.uint16), picture[:, :, 3:]
            picture = ((color * alpha + 127) // 255).astype(np.uint8)
        if picture.shape[2] == 3:
            return picture
        return np.repeat(picture, 3, axis=2)


def _colors_last(frame: np.ndarray) -> np.ndarray:
    if frame.ndim == 2:
        return frame[:, :, None]
    first, last = (
        frame.ndim == 3 and frame.shape[0] in (1, 3, 4),
        frame.ndim == 3 and frame.shape[2] in (1, 3, 4),
    )
    if first is last:
        found = "x".join(map(str, frame.shape))
        raise MinibrainsError(
            f"got a picture of {found}; expected h x w, or 1, 3 or 4 colours either first or last: "
            "h x w x 3, 3 x h x w"
        )
    if last:
        return frame
    return frame.transpose(1, 2, 0)


def _bytes(picture: np.ndarray) -> np.ndarray:
    if picture.dtype == np.uint8:
        return picture
    if picture.dtype.kind != "f":
        raise MinibrainsError(
            f"got a picture of {picture.dtype}; expected uint8, or float from 0 to 1"
        )
    if picture.size and not (picture.min() >= 0 and picture.max() <= 1):
        raise MinibrainsError(
            f"got a picture with values from {picture.min():g} to {picture.max():g}; "
            "floats must be from 0 to 1"
        )
    levels: np.ndarray = np.rint(picture * 255).astype(np.uint8)
    return levels


class Grayscale(Node, category="vision"):
    """Convert colour to grey with the weights of ITU-R BT.601 (0.299, 0.587, 0.114), rounded.

    frame:  uint8 [h, w, 3]
    Out:    uint8 [h, w, 1]
    """

    def tick(self, frame: ColorFrame) -> GreyFrame:
        from PIL import Image

        return np.asarray(Image.fromarray(np.ascontiguousarray(frame)).convert("L"))[:, :, None]


class Crop(Node, category="vision"):
    """Cut a box out of a picture.

    frame:  uint8 [h, w, c]
    Out:    uint8 [height, width, c]
    Raises MinibrainsError if the box is not inside the picture.
    """

    left: int = widget(default=0, min=0, max=4096, doc="pixels left of the box")
    top: int = widget(default=0, min=0, max=4096, doc="pixels above the box")
    width: int = widget(default=84, min=1, max=4096, doc="of the box, in pixels")
    height: int = widget(default=84, min=1, max=4096, doc="of the box, in pixels")

    def tick(self, frame: Frame) -> SizedFrame:
        right, bottom = self.left + self.width, self.top + self.height
        if right > frame.shape[1] or bottom > frame.shape[0]:
            raise MinibrainsError(
                f"the box ends at column {right} and row {bottom}, "
                f"and the picture is {frame.shape[1]}x{frame.shape[0]}; "
                "expected a box inside it: make width or height smaller"
            )
        return frame[self.top : bottom, self.left : right]


class Resize(Node, category="vision"):
    """Scale a picture to a fixed size with a box filter.

    frame:  uint8 [h, w, c]; its channels are scaled one by one, unless there are three
    Out:    uint8 [height, width, c]
    """

    width: int = widget(default=84, min=1, max=4096, doc="pixels")
    height: int = widget(default=84, min=1, max=4096, doc="pixels")

    def tick(self, frame: Frame) -> SizedFrame:
        if frame.shape[2] == 3:
            return self._scaled(frame)
        # Pillow would take the second or the fourth channel for the opacity of the others
        small = [self._scaled(frame[:, :, channel]) for channel in range(frame.shape[2])]
        return np.stack(small, axis=2)

    def _scaled(self, picture: np.ndarray) -> np.ndarray:
        from PIL import Image

        whole = Image.fromarray(np.ascontiguousarray(picture))
        return np.asarray(whole.resize((self.width, self.height), Image.Resampling.BOX))


class FrameStackBrain(Brain):
    """The moments that a frame stack shows, and the normalisation of pixels:
    (pixel / 255 - mean) / std.
    """

    kind = "frame_stack"
    taps: np.ndarray = tensor(
        "i32[taps]", "how many pictures back each one is, oldest first: 0 is the latest"
    )
    mean: np.ndarray = tensor("f32[c]", "per channel of a picture")
    std: np.ndarray = tensor("f32[c]", "per channel of a picture")

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, object]
    ) -> Mapping[str, int]:
        return {"channels": sizes["taps"] * sizes["c"]}

    def check(self, where: str) -> None:
        taps = self.taps.tolist()
        if (
            not taps
            or taps != sorted(set(taps), reverse=True)
            or not 0 <= taps[-1] <= taps[0] < 4096
        ):
            raise BrainError(
                f"{where}: taps are {taps}; expected falling whole numbers from "
                "at most 4095 to at least 0"
            )
        if not (
            np.isfinite(self.mean).all() and np.isfinite(self.std).all() and (self.std > 0).all()
        ):
            raise BrainError(f"{where}: mean and std must be finite, std greater than 0")


class FrameStack(Node, category="vision", every_tick=True):
    """Stack the last frames as channels, so that a network without memory sees movement.

    frame:  uint8 [h, w, c]
    Out:    float32 [taps * c, h, w], oldest first; at the beginning of an episode its first
            frame fills the missing ones
    Source: V. Mnih et al., Human-level control through deep reinforcement learning, Nature 518
        (2015), 529-533.
    """

    brain: FrameStackBrain

    def reset(self, episode: Episode) -> None:
        self.ring: list[np.ndarray] = []
        self.next = 0

    def tick(self, frame: BrainFrame) -> BrainFrames:
        taps = self.brain.taps.tolist()
        planes = np.ascontiguousarray(frame.transpose(2, 0, 1), np.float32)
        planes = (planes / np.float32(255) - self.brain.mean[:, None, None]) / self.brain.std[
            :, None, None
        ]
        depth = taps[0] + 1
        if not self.ring:
            self.ring = [planes] * depth
        self.ring[self.next] = planes
        newest, self.next = self.next, (self.next + 1) % depth
        return np.concatenate([self.ring[(newest - tap) % depth] for tap in taps])


StackedFrame = Annotated[np.ndarray, Socket("frame", "u8[stacked w c]")]


class Recent(NamedTuple):
    """The output of RecentFrames."""

    stacked: StackedFrame | Absent


_NOT_ASKED = Recent(ABSENT)


class RecentFrames(Node, category="vision"):
    """Keep the last pictures, and deliver some of them when asked, so that an agent that decides
    every few frames processes only those that it needs.

    frame:    uint8 [h, w, c], on every tick or less often; it is kept as it is
    now:      True: deliver on this tick
    stacked:  uint8 [taps * h, w, c], the pictures of `taps` one below the other, in that order; at
              the beginning of an episode its first picture takes the place of missing ones
    """

    taps: tuple[int, ...] = widget(
        default=(7, 3, 0),
        rebuild=True,
        doc="how many pictures back each one is, oldest first: 0 is the newest",
    )

    def check(self) -> None:
        taps = list(self.taps)
        falling = taps == sorted(set(taps), reverse=True)
        if not taps or not falling or taps[-1] < 0 or taps[0] >= 600:
            raise MinibrainsError(
                f"taps are {taps}; expected falling whole numbers from at most 599 to at least 0"
            )

    def reset(self, episode: Episode) -> None:
        self.ring: list[np.ndarray] = []
        self.next = 0

    def tick(self, frame: On[Frame], now: On[Flag]) -> Recent:
        depth = self.taps[0] + 1
        if frame is not None:
            if not self.ring:
                self.ring = [frame] * depth
            self.ring[self.next] = frame
            self.next = (self.next + 1) % depth
        if not now or not self.ring:
            return _NOT_ASKED
        newest = self.next - 1
        pictures = [self.ring[(newest - tap) % depth] for tap in self.taps]
        return Recent(np.concatenate(pictures))


TemporalFrame = Annotated[np.ndarray, Socket("frame", "u8[colored w 3]")]
_TIMES: Final = 3
"""Number of moments in a TemporalColor: one for each colour of a picture."""


class TemporalColor(Node, category="vision"):
    """Show three moments in one picture, by their colours: for a model that sees colours, but has
    no memory.

    stacked:  uint8 [3 * h, w, c], three pictures one below the other, oldest first, as RecentFrames
              delivers them
    Out:      uint8 [c * h, w, 3], for each channel a picture in which the oldest moment is blue,
              the second green and the newest red: what stands still is white, and what moves has a
              trail
    Raises MinibrainsError if the rows cannot be divided by three.
    """

    def tick(self, stacked: StackedFrame) -> TemporalFrame:
        height, rest = divmod(len(stacked), _TIMES)
        if rest:
            raise MinibrainsError(
                f"got {len(stacked)} rows; expected three pictures of equal height, one below the "
                "other: give RecentFrames three taps"
            )
        newest_last = stacked.reshape(_TIMES, height, *stacked.shape[1:])
        by_channel = newest_last[::-1].transpose(3, 1, 2, 0)
        return np.ascontiguousarray(by_channel).reshape(-1, stacked.shape[1], _TIMES)
