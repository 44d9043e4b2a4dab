"""Native games of Duel, frame by frame; a process can play several at once."""

from __future__ import annotations

import ctypes
import functools
import json
import struct

from games.source.duel import FOLDER
from games.source.duel.native.compiled import library

RAM_ADDRESS = 0xFF8000
"""The console's address of the first byte of work RAM in an image."""
FORMATS = {"|u1": ">B", ">u2": ">H", ">i2": ">h", ">u4": ">I", ">d4": ">I"}
"""The `struct` code of each type of data.json. >d4 is BCD, and converted afterwards."""


@functools.cache
def variable_map() -> dict[str, tuple[int, str, bool]]:
    """Return for each variable of data.json its offset in work RAM, its `struct` code,
    and True if it is BCD.
    """
    info = json.loads((FOLDER / "data.json").read_text())["info"]
    variables: dict[str, tuple[int, str, bool]] = {}
    for name, entry in info.items():
        offset = entry["address"] - RAM_ADDRESS
        variables[name] = (offset, FORMATS[entry["type"]], "d" in entry["type"])
    return variables


class Game:
    """A game, which begins with power-on.

    Its frames and variables are those of the ROM with `blank` set.
    """

    def __init__(self) -> None:
        """Power the game on; it is at the title."""
        self._library = library()
        self._image = ctypes.create_string_buffer(self._library.duel_image_bytes())
        self._ram = self._library.duel_image_ram()
        self._library.duel_power_on(self._image)

    def begin(self, **settings: int) -> None:
        """Begin a match.

        Args:
            settings: Variables to write first, such as `seed`, `mode`, `enemy_level`,
                `agent_character` and `stage`.
        """
        self._library.duel_power_on(self._image)
        self.step()
        for name, value in settings.items():
            self.set(name, value)
        self.set("start", 1)
        self.step()

    def step(self, pad1: int = 0, pad2: int = 0, frames: int = 1) -> None:
        """Play some frames with the same buttons held.

        Args:
            pad1: The buttons of pad 1, as bits of the variable `agent_pad`.
            pad2: The buttons of pad 2, likewise; used in mode 1.
            frames: The number of frames.
        """
        self._library.duel_frames(self._image, pad1, pad2, frames)

    def get(self, name: str) -> int:
        """Return a variable of data.json after the latest frame."""
        offset, code, is_decimal = variable_map()[name]
        value: int = struct.unpack_from(code, self._image, self._ram + offset)[0]
        if is_decimal:
            return int(f"{value:x}")
        return value

    def set(self, name: str, value: int) -> None:
        """Write a variable of data.json, as a host does. The game reads it on the next frame."""
        offset, code, is_decimal = variable_map()[name]
        if is_decimal:
            value = int(str(value), 16)
        struct.pack_into(code, self._image, self._ram + offset, value)

    def variables(self) -> dict[str, int]:
        """Return all variables of data.json after the latest frame."""
        return {name: self.get(name) for name in variable_map()}
