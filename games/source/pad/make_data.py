"""Write what follows from a Pad's ROM: `make_data.py FOLDER` makes
Start.state and picture.png there.

Run again with the same stable-retro it writes the same bytes, except for the state of a Genesis:
Genesis Plus GX saves some of its own pointers with it, which are others in each process and mean
nothing to the next.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import stable_retro
from PIL import Image

BOOT_FRAMES = 30
"""The state is that long after power-on: both consoles count their frames by then."""
HELD = ("UP", "RIGHT", "A", "START"), ("LEFT", "B")
"""The buttons that are held in the picture, on pad 1 and 2."""
SCALE = 2


def make(folder: Path) -> None:
    """Write Start.state and picture.png beside the ROM.

    Raises SystemExit if the game's files cannot be read.
    """
    (rom,) = folder.glob("rom.[gm]*")
    emulator = stable_retro.RetroEmulator(str(rom))
    data = stable_retro.data.GameData()
    emulator.configure_data(data)
    emulator.step()
    if not data.load(str(folder / "data.json"), str(folder / "scenario.json")):
        raise SystemExit(f"{folder}: data.json or scenario.json cannot be read")
    for _ in range(BOOT_FRAMES - 1):
        emulator.step()
    (folder / "Start.state").write_bytes(gzip.compress(emulator.get_state(), mtime=0))

    buttons = stable_retro.get_system_info(stable_retro.get_romfile_system(str(rom)))["buttons"]
    variables = data.list_variables()
    for frame in range(70):
        # press and release by turns, so that there are presses to count; the last time it stays
        # down
        is_down = frame // 3 % 2
        for player, held in enumerate(HELD):
            pressed = [is_down and name in held for name in buttons]
            emulator.set_button_mask(np.array(pressed, np.uint8), player)
        if "mailbox" in variables:
            data.set_value("mailbox", 34 * is_down)
        emulator.step()
    picture = Image.fromarray(emulator.get_screen())
    size = (picture.width * SCALE, picture.height * SCALE)
    picture.resize(size, Image.Resampling.NEAREST).quantize(16).save(
        folder / "picture.png", optimize=True
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
