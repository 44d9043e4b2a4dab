"""Pads: one that a person holds, one drawn below the picture, and a history of the last ticks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    BrainError,
    ColorFrame,
    Episode,
    Host,
    MinibrainsError,
    Node,
    Pad,
    Register,
    Socket,
    setting,
    tensor,
    widget,
)
from minibrains.console import without_opposites

FrameAndPad = Annotated[np.ndarray, Socket("frame", "u8[rows columns 3]")]
ButtonRows = Annotated[np.ndarray, Socket("buttons", "u8[{steps} {columns}]")]

KEYS: Final = {
    "ArrowUp": "UP", "ArrowDown": "DOWN", "ArrowLeft": "LEFT", "ArrowRight": "RIGHT", "KeyA": "X",
    "KeyS": "Y", "KeyD": "Z", "KeyZ": "A", "KeyX": "B", "KeyC": "C", "Enter": "START",
    "Gamepad12": "UP", "Gamepad13": "DOWN", "Gamepad14": "LEFT", "Gamepad15": "RIGHT",
    "Gamepad4": "X", "Gamepad3": "Y", "Gamepad5": "Z", "Gamepad2": "A", "Gamepad0": "B",
    "Gamepad1": "C", "Gamepad9": "START",
}  # fmt: skip
"""Default keys for a six-button Genesis pad: arrows, A S D above Z X C, by position on the
keyboard; or a gamepad."""


class PersonPad(Register, category="consoles", external=True):
    """The pad that a person holds: the keys and gamepad buttons pressed in the
    editor while Play is on there.

    Out:  the names of the buttons held. Opposite directions held at once cancel each other, as on a
          real pad. From the first key on it is delivered on every tick, even while nothing is held.
          When Play is switched off, all buttons are released once, and then nothing is delivered;
          so nothing is ever delivered on the command line, except with `run --person`
    Link it to `urgent` of an Override whose `value` is an agent's pad, and the two share one pad:
    the person takes over within a tick, and the agent goes on when Play is off. Keys have the names
    that browsers give them (KeyboardEvent.code, by position and not by letter), a gamepad's buttons
    are Gamepad0, Gamepad1, … of the browser's standard layout; its left stick counts as Gamepad12
    to 15.
    """

    keys: Mapping[str, str] = widget(
        default=MappingProxyType(KEYS),
        doc="the button that each key presses; other keys press nothing",
    )

    def open(self, host: Host) -> None:
        self._held: Pad | Absent = ABSENT
        self._given: Pad | Absent = ABSENT

    def receive(self, value: Any) -> None:
        if value is None:
            self._held = ABSENT
            return
        pressed = value if isinstance(value, list) else []
        held = {self.keys[key] for key in pressed if isinstance(key, str) and key in self.keys}
        pad = without_opposites(tuple(sorted(held)))
        if pad != getattr(self, "_held", None):  # a page may send keys before the node is open
            self._held = pad

    def emit(self) -> Pad | Absent:
        held = self._held
        if held is ABSENT and self._given not in (ABSENT, ()):
            held = ()
        self._given = held
        return held

    def latch(self) -> None:
        pass


class PadFace(Brain):
    """The look of a pad: pictures with nothing held and with everything held,
    and the button that each pixel belongs to.
    """

    kind = "pad_face"
    buttons: tuple[str, ...] = setting(
        doc="the buttons that the picture shows; others are not drawn"
    )
    dark: np.ndarray = tensor("u8[height width 3]", "the picture with nothing held")
    lit: np.ndarray = tensor("u8[height width 3]", "the picture with everything held")
    button: np.ndarray = tensor(
        "u8[height width]", "0: no button; n: the n-th of buttons, counted from 1"
    )

    def check(self, where: str) -> None:
        if not 0 < len(set(self.buttons)) == len(self.buttons) < 256:
            raise BrainError(
                f"{where}: the face has {len(self.buttons)} buttons; expected 1 to 255, "
                "all different"
            )
        if self.button.max(initial=0) > len(self.buttons):
            raise BrainError(
                f"{where}: a pixel belongs to button {self.button.max()}; "
                f"expected at most {len(self.buttons)}"
            )
        if not self.button.size:
            raise BrainError(f"{where}: the face has no pixels")


class PadView(Node, category="consoles"):
    """Draw a pad below the picture, with the held buttons lit.

    frame:  uint8 [h, w, 3]
    pad:    the names of the buttons held; before the first, and without a link: none
    Out:    uint8 [h + the face's height, w, 3]; the face is centred. A picture narrower than the
            face is widened
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


class ButtonHistoryBrain(Brain):
    """The buttons that a network is shown, and the number of ticks."""

    kind = "button_history"
    buttons: tuple[str, ...] = setting(doc="the names of the buttons, one column each")
    steps: int = setting(doc="the number of pads, 1 to 4096, one row each")

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        return {"columns": len(config["buttons"])}

    def check(self, where: str) -> None:
        if not self.buttons or len(set(self.buttons)) < len(self.buttons):
            raise BrainError(
                f"{where}: buttons are {list(self.buttons)}; expected at least one, all different"
            )
        if not 1 <= self.steps <= 4096:
            raise BrainError(f"{where}: steps is {self.steps}; expected 1 to 4096")


class ButtonHistory(Register, category="consoles"):
    """The pads of the last ticks as a table, for a network that decides what to press next.

    It is a register, so that a policy that reads it may press the same pad.

    pad:  the names of the buttons held now; before the first, and without a link: none. Opposite
          directions cancel each other
    Out:  uint8 [steps, columns], 1: held. One row per tick, oldest first; the last is the tick
          before this one, whose pad the console's picture shows; rows from before the episode
          are 0. The columns are the brain's buttons
    Raises MinibrainsError for a button that is not among them.
    """

    brain: ButtonHistoryBrain

    def open(self, host: Host) -> None:
        self._columns = {button: column for column, button in enumerate(self.brain.buttons)}

    def reset(self, episode: Episode) -> None:
        self.rows = np.zeros((self.brain.steps, len(self.brain.buttons)), np.uint8)

    def emit(self) -> ButtonRows:
        return self.rows

    def latch(self, pad: Pad | None = None) -> None:
        rows = np.empty_like(self.rows)
        rows[:-1], rows[-1] = self.rows[1:], 0
        try:
            for button in without_opposites(pad or ()):
                rows[-1, self._columns[button]] = 1
        except KeyError as missing:
            known = ", ".join(self.brain.buttons)
            raise MinibrainsError(
                f"the pad holds {missing}, not a column of the history; its brain has {known}"
            ) from None
        self.rows = rows
