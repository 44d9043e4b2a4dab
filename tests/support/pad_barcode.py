"""Read the barcode that the Pad ROMs draw: from a frame as it is, in grey, or scaled.

Each cell is 8x8 pixels of the console's picture. From top to bottom: a row that alternates, white
first; six rows of white, 16 bits with the highest first, black; a row that alternates, black first.
White is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SIZES = {"Pad-Genesis": (224, 320), "Pad-GbAdvance": (160, 240)}
"""Height and width of each game's frame."""
BITS = {
    "Pad-Genesis": ("UP", "DOWN", "LEFT", "RIGHT", "B", "C", "A", "START", "Z", "Y", "X", "MODE"),
    "Pad-GbAdvance": ("A", "B", "SELECT", "START", "RIGHT", "LEFT", "UP", "DOWN", "R", "L"),
}
"""The buttons of a pad's 16 bits, lowest bit first: the order in which the consoles themselves have
them."""
CELL, LEFT, TOP, COLUMNS, ROWS = 8, 8, 24, 18, 8
CONTRAST = 64


class Barcode(NamedTuple):
    """What a frame says about itself."""

    frame: int
    pad1: int
    pad2: int
    presses: int
    """The lowest 16 bits."""


def read_barcode(frame: np.ndarray) -> Barcode:
    """The barcode of a frame [h, w] or [h, w, colours] of values from 0 to 255.

    Raises ValueError if there is none.
    """
    grey = frame if frame.ndim == 2 else frame.mean(axis=2)
    for height, width in SIZES.values():
        found = _decode(_cells(grey, grey.shape[0] / height, grey.shape[1] / width))
        if found is not None:
            return found
    raise ValueError(f"there is no barcode in this frame of {grey.shape[1]}x{grey.shape[0]} pixels")


def _cells(grey: np.ndarray, down: float, across: float) -> np.ndarray:
    """The pixel in the middle of each cell."""
    rows = (TOP + CELL * (np.arange(ROWS) + 0.5)) * down
    columns = (LEFT + CELL * (np.arange(COLUMNS) + 0.5)) * across
    cells: np.ndarray = grey[np.ix_(rows.astype(int), columns.astype(int))]
    return cells


def _decode(cells: np.ndarray) -> Barcode | None:
    white, black = cells[0, 0::2].min(), cells[0, 1::2].max()
    if float(white) - float(black) < CONTRAST:
        return None
    bits = cells > (float(white) + float(black)) / 2
    alternating = np.arange(COLUMNS) % 2 == 0
    edges = bits[1:-1, 0].all() and not bits[1:-1, -1].any()
    if not (edges and (bits[0] == alternating).all() and (bits[-1] != alternating).all()):
        return None
    high, low, pad1, pad2, presses, check = (
        int("".join("01"[bit] for bit in row), 2) for row in bits[1:-1, 1:-1].astype(int)
    )
    if high ^ low ^ pad1 ^ pad2 ^ presses ^ check != 0xFFFF:
        return None
    return Barcode(high << 16 | low, pad1, pad2, presses)
