"""The ROM of Meadow on an emulator, frame by frame, with everything that it publishes at hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from games.source.meadow import FOLDER
from nodes.exploring.walk_script import WalkScript

TITLE, WALK, DIALOGUE, MENU, BATTLE, CUTSCENE = range(6)
BOOT_FRAMES = 30
COLUMNS, ROWS = 30, 18
DIRECTIONS = ("DOWN", "UP", "LEFT", "RIGHT")


class Cartridge:
    """A running ROM. A process can have only one."""

    def __init__(self, folder: Path = FOLDER) -> None:
        import stable_retro

        self.script = WalkScript(**json.loads((folder / "walk.json").read_text()))
        """The names of areas and things in the order of their numbers, and the teacher's goals."""
        self.data = stable_retro.data.GameData()
        self.emulator = stable_retro.RetroEmulator(str(folder / "rom.gba"))
        self.emulator.configure_data(self.data)
        self.emulator.step()
        if not self.data.load(str(folder / "data.json"), str(folder / "scenario.json")):
            raise ValueError(f"{folder}: data.json or scenario.json cannot be read")
        for name, place in json.loads((folder / "truth.json").read_text())["info"].items():
            self.data.set_variable(name, place)
        self.buttons: list[str] = stable_retro.get_system_info("GbAdvance")["buttons"]
        for _ in range(BOOT_FRAMES):
            self.emulator.step()
        self.title: bytes = self.emulator.get_state()

    def hold(self, *pad: str) -> None:
        """Hold these buttons from now on."""
        pressed = [name in pad for name in self.buttons]
        self.emulator.set_button_mask(np.array(pressed, np.uint8), 0)

    def step(self, *pad: str, frames: int = 1) -> None:
        """Hold buttons for some frames."""
        self.hold(*pad)
        for _ in range(frames):
            self.emulator.step()

    def press(self, button: str) -> None:
        """Press and release a button, a frame each."""
        self.step(button)
        self.step()

    def get(self, name: str) -> int:
        """Return a variable."""
        return int(self.data.lookup_value(name))

    def set(self, name: str, value: int) -> None:
        """Write a variable."""
        self.data.set_value(name, value)

    def variables(self) -> dict[str, int]:
        """Return all variables, known and true."""
        return dict(self.data.lookup_all())

    def begin(self, seed: int = 1, **settings: int) -> None:
        """Begin a new game, and play its first frame; text appears a page at a time unless the
        settings say otherwise.
        """
        self.emulator.set_state(self.title)
        self.hold()
        self.emulator.step()
        for name, value in {"text_speed": 1, **settings, "seed": seed, "start": 1}.items():
            self.set(name, value)
        self.emulator.step()
        while self.get("mode") == TITLE:  # a maze takes some frames to dig
            self.emulator.step()

    def text(self) -> str:
        """Return the text on the screen, in one line."""
        return " ".join(read_text(self.variables(), "text").split())

    def screen(self) -> np.ndarray:
        """Return the picture, u8 [160, 240, 3]."""
        return np.array(self.emulator.get_screen())

    def walls(self) -> list[int]:
        """Return the rows of the collision map; bit x is column x."""
        return [self.get(f"wall_{row:02}") for row in range(ROWS)]


def read_text(variables: dict[str, Any], name: str) -> str:
    """Return text that is published as numbers of eight characters each."""
    raw = b""
    for key in sorted(variables):
        if re.fullmatch(rf"{name}_\d\d", key):
            raw += variables[key].to_bytes(8, "little")
    return raw.rstrip(b"\0").decode("ascii")
