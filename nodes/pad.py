"""A pad to be seen: which buttons are held, drawn under the picture."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from minibrains import Brain, BrainError, Host, Node, Pad, Socket, setting, tensor

ColorFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]
FrameAndPad = Annotated[np.ndarray, Socket("frame", "u8[rows columns 3]")]


class PadFace(Brain):
    """How a pad looks: with nothing held, with everything held, and which pixel belongs to which button."""

    kind = "pad_face"
    buttons: tuple[str, ...] = setting(doc="the buttons that can be seen; others are not shown")
    dark: np.ndarray = tensor("u8[height width 3]", "nothing held")
    lit: np.ndarray = tensor("u8[height width 3]", "everything held")
    button: np.ndarray = tensor("u8[height width]", "0: no button; n: the n-th of buttons, counted from 1")

    def check(self, where: str) -> None:
        if not 0 < len(set(self.buttons)) == len(self.buttons) < 256:
            raise BrainError(f"{where}: the face has {len(self.buttons)} buttons; expected 1 to 255, all different")
        if self.button.max(initial=0) > len(self.buttons):
            raise BrainError(f"{where}: a pixel belongs to button {self.button.max()}; expected at most {len(self.buttons)}")
        if not self.button.size:
            raise BrainError(f"{where}: the face has no pixels")


class PadView(Node):
    """Draw a pad under the picture, with the buttons lit that are held.

    frame:  uint8 [h, w, 3]
    pad:    the names of the buttons held; before the first, and unlinked: none
    Out:    uint8 [h + the face's height, w, 3]; the face is in the middle. A picture narrower than the face is widened
    """

    brain: PadFace

    def open(self, host: Host) -> None:
        self._seen: Pad = ()
        self._face = self.brain.dark
        self._ground = self.brain.dark[0, 0]

    def tick(self, frame: ColorFrame, pad: Pad | None = None) -> FrameAndPad:
        held = pad or ()
        if held is not self._seen:
            self._face, self._seen = self._lit(held), held
        height, width, _ = frame.shape
        rows, columns, _ = self._face.shape
        picture = np.empty((height + rows, max(width, columns), 3), np.uint8)
        if width < columns:
            picture[:] = self._ground
        else:
            picture[height:] = self._ground
        left, start = (picture.shape[1] - width) // 2, (picture.shape[1] - columns) // 2
        picture[:height, left : left + width] = frame
        picture[height:, start : start + columns] = self._face
        return picture

    def _lit(self, held: Pad) -> np.ndarray:
        lights = np.array([False, *(button in held for button in self.brain.buttons)])
        return np.where(lights[self.brain.button][..., None], self.brain.lit, self.brain.dark)
