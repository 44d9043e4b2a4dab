"""A pad in a person's hands, and a pad to be seen: which buttons are held, drawn under the picture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

import numpy as np

from minibrains import Brain, BrainError, Host, Node, Pad, Register, Socket, setting, tensor, widget

ColorFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]
FrameAndPad = Annotated[np.ndarray, Socket("frame", "u8[rows columns 3]")]

KEYS: Final = {
    "ArrowUp": "UP", "ArrowDown": "DOWN", "ArrowLeft": "LEFT", "ArrowRight": "RIGHT",
    "KeyA": "X", "KeyS": "Y", "KeyD": "Z", "KeyZ": "A", "KeyX": "B", "KeyC": "C", "Enter": "START",
    "Gamepad12": "UP", "Gamepad13": "DOWN", "Gamepad14": "LEFT", "Gamepad15": "RIGHT", "Gamepad4": "X", "Gamepad3": "Y",
    "Gamepad5": "Z", "Gamepad2": "A", "Gamepad0": "B", "Gamepad1": "C", "Gamepad9": "START",
}  # fmt: skip
"""A six-button pad of a Genesis: arrows, A S D above Z X C, by where they are on a keyboard; or a gamepad."""
_OPPOSITE: Final = frozenset({"LEFT", "RIGHT"}), frozenset({"UP", "DOWN"})


class PersonPad(Register):
    """The pad that a person holds: the keys and gamepad buttons pressed in the editor, once Play is on there.

    pad:  the names of the buttons held. A direction and its opposite are neither, as on a real pad. Empty while nobody
          plays, so always on the command line
    Keys are called as browsers call them (KeyboardEvent.code, by place and not by letter), a gamepad's buttons
    Gamepad0, Gamepad1, … of the browser's standard layout; its left stick counts as Gamepad12 to 15.
    """

    outside = True
    keys: Mapping[str, str] = widget(MappingProxyType(KEYS), doc="which button each key presses; other keys press nothing")

    def open(self, host: Host) -> None:
        self._held: Pad = ()

    def receive(self, value: Any) -> None:
        pressed = value if isinstance(value, list) else []
        held = {self.keys[key] for key in pressed if isinstance(key, str) and key in self.keys}
        for pair in _OPPOSITE:
            if pair <= held:
                held -= pair
        pad = tuple(sorted(held))
        if pad != self._held:
            self._held = pad

    def emit(self) -> Pad:
        return self._held

    def latch(self) -> None:
        pass


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
