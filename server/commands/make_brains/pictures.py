"""Brains for pictures: colours and letters that are drawn over a game,
and tiles that a picture is cut into.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nodes.consoles.pads import PadFace
from nodes.vision.overlay import OverlayStyle
from nodes.vision.tiles import SIDE, TileCodebook
from server.commands.make_brains.made_brain import MadeBrain

Color = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""
Shade = tuple[int, int, int, int]
"""The same, and the opacity over the picture."""

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-.:!?%"
DRAWN = """\
### .#. ### ### #.# ### ### ### ### ### .#. ##. .## ##.
#.# ##. ..# ..# #.# #.. #.. ..# #.# #.# #.# #.# #.. #.#
#.# .#. ### ### ### ### ### ..# ### ### ### ##. #.. #.#
#.# .#. #.. ..# ..# ..# #.# .#. #.# ..# #.# #.# #.. #.#
### ### ### ### ..# ### ### .#. ### ### #.# ##. .## ##.

### ### .## #.# ### ..# #.# #.. #.# ### .#. ##. .#. ##.
#.. #.. #.. #.# .#. ..# #.# #.. ### #.# #.# #.# #.# #.#
##. ##. #.# ### .#. ..# ##. #.. ### #.# #.# ##. #.# ##.
#.. #.. #.# #.# .#. #.# #.# #.. #.# #.# #.# #.. ##. #.#
### #.. .## #.# ### .#. #.# ### #.# #.# .#. #.. .## #.#

.## ### #.# #.# #.# #.# #.# ### ... ... ... .#. ### #.#
#.. .#. #.# #.# #.# #.# #.# ..# ... ... .#. .#. ..# ..#
.#. .#. #.# #.# ### .#. .#. .#. ### ... ... .#. .#. .#.
..# .#. #.# #.# ### #.# .#. #.. ... ... .#. ... ... #..
##. .#. ### .#. #.# #.# .#. ### ... .#. ... .#. .#. #.#
"""
"""The letters in their order, 5 rows of 3 pixels each; # is ink."""

COLORS = {
    "wall": (220, 40, 40),
    "floor": (40, 200, 80),
    "water": (50, 90, 230),
    "door": (240, 210, 50),
    "person": (230, 90, 220),
    "fighter": (240, 210, 50),
    "background": (120, 120, 120),
}
COLORS_SHOW = 90
"""Opacity of a colour over the picture, 0 to 255."""
DUEL_COLORS = {
    "background": (70, 76, 90, 165),
    "floor": (40, 150, 80, 165),
    "hud": (60, 100, 220, 120),
}
FIGHTER_COLORS = {
    "own": (50, 120, 255, 110),
    "other": (255, 70, 50, 110),
}
"""For the labels of FighterTiles."""

FACE_SIZE = (28, 160)
"""Height and width of the pad's picture."""
GROUND: Color = (16, 18, 22)
BODY: Color = (40, 44, 53)
WORD: Color = (104, 111, 125)
WHITE: Color = (236, 240, 247)
BLUE: Color = (92, 178, 255)
RED: Color = (255, 118, 96)
YELLOW: Color = (250, 208, 84)

Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""
FACE: dict[str, tuple[Box, Color]] = {
    "UP": ((16, 3, 7, 8), WHITE),
    "DOWN": ((16, 17, 7, 8), WHITE),
    "LEFT": ((8.5, 10.5, 8, 7), WHITE),
    "RIGHT": ((22.5, 10.5, 8, 7), WHITE),
    "L": ((46, 4, 9, 9), WHITE),
    "START": ((57, 4, 25, 9), YELLOW),
    "R": ((84, 4, 9, 9), WHITE),
    "MODE": ((46, 15, 18, 9), YELLOW),
    "SELECT": ((66, 15, 27, 9), YELLOW),
    "X": ((110, 2, 11, 11), BLUE),
    "Y": ((124, 2, 11, 11), BLUE),
    "Z": ((138, 2, 11, 11), BLUE),
    "A": ((110, 15, 11, 11), RED),
    "B": ((124, 15, 11, 11), RED),
    "C": ((138, 15, 11, 11), RED),
}
"""The position of each button, and its colour while it is held."""
HUB: Box = (16, 10.5, 7, 7)
"""The middle of the d-pad."""
ROUND = 11
"""A button as wide and as high as this is a circle."""


def plain_overlay() -> MadeBrain:
    """Make colours for an overlay: green for ground, red for walls, blue for water,
    yellow for objects of interest.
    """
    palette = {label: (*color, COLORS_SHOW) for label, color in COLORS.items()}
    return overlay("Plain colours and letters", palette, grid_shows=60)


def duel_overlay() -> MadeBrain:
    """Make Duel's overlay: the stage is dimmed,
    so that moving objects stand out even if no codebook has their tiles.
    """
    title = "Duel: the stage dimmed, so that what moves stands out"
    return overlay(title, DUEL_COLORS, grid_shows=25)


def fighters_overlay() -> MadeBrain:
    """Make the overlay of FighterTiles: the own fighter blue, the other one red."""
    title = "The own fighter blue, the other one red"
    return overlay(title, FIGHTER_COLORS, grid_shows=25)


def overlay(title: str, palette: Mapping[str, Shade], grid_shows: int) -> MadeBrain:
    """Make an overlay with white lines and letters.

    Args:
        title: The title of the brain.
        palette: The colour and the opacity of each label.
        grid_shows: The opacity of the lines between tiles, 0 to 255.
    """
    style = OverlayStyle(
        labels=tuple(palette),
        letters=LETTERS,
        palette=np.array(list(palette.values()), np.uint8),
        grid=np.array([255, 255, 255, grid_shows], np.uint8),
        ink=np.array([255, 255, 255, 255], np.uint8),
        glyphs=glyphs(),
    )
    return MadeBrain(style, title)


def glyphs() -> np.ndarray:
    """Return the letters as uint8 [letters, 5, 3], 1: ink."""
    lines = []
    for drawn in DRAWN.split("\n\n"):
        rows = [list(row.replace(" ", "")) for row in drawn.splitlines()]
        pixels = np.array(rows).reshape(5, -1, 3)
        lines.append(pixels.swapaxes(0, 1))
    letters: np.ndarray = np.concatenate(lines) == "#"
    return letters.astype(np.uint8)


def plain_face() -> MadeBrain:
    """Make the picture of a pad: a d-pad, six buttons in two rows,
    and the menu buttons between them.
    """
    dark = np.full((*FACE_SIZE, 3), GROUND, np.float64)
    _paint(dark, HUB, 0, BODY)
    lit = dark.copy()
    button = np.zeros(FACE_SIZE, np.uint8)
    for number, (name, (box, color)) in enumerate(FACE.items(), 1):
        _, _, width, height = box
        corner = 2.0
        if width == height == ROUND:
            corner = ROUND / 2
        covered = _paint(dark, box, corner, BODY)
        _paint(lit, box, corner, color)
        button[covered > 0] = number
        if name not in ("UP", "DOWN", "LEFT", "RIGHT"):
            _write(dark, name, box, WORD)
            _write(lit, name, box, GROUND)
    face = PadFace(
        buttons=tuple(FACE),
        dark=np.rint(dark).astype(np.uint8),
        lit=np.rint(lit).astype(np.uint8),
        button=button,
    )
    return MadeBrain(face, "A pad of up to fifteen buttons")


def _paint(picture: np.ndarray, box: Box, corner: float, color: Color) -> np.ndarray:
    """Paint a rectangle with round corners and soft edges, which Pillow does not have.

    Args:
        picture: float64 [height, width, 3], modified in place.
        box: The position and size of the rectangle in pixels.
        corner: The radius of its corners in pixels.
        color: 0 to 255 each.

    Returns:
        The share of each pixel that is covered, float64 [height, width], 0 to 1.
    """
    left, top, width, height = box
    rows, columns = picture.shape[:2]
    y, x = np.mgrid[:rows, :columns] + 0.5
    beside = np.abs(x - left - width / 2) - width / 2 + corner
    above = np.abs(y - top - height / 2) - height / 2 + corner
    outside = np.sqrt(np.maximum(beside, 0) ** 2 + np.maximum(above, 0) ** 2)
    covered: np.ndarray = np.clip(0.5 + corner - outside, 0, 1)
    picture += covered[..., None] * (np.array(color, np.float64) - picture)
    return covered


def _write(picture: np.ndarray, word: str, box: Box, color: Color) -> None:
    """Write a word centred in a box, with one pixel between its letters."""
    left, top, width, height = box
    letters = glyphs()[[LETTERS.index(letter) for letter in word]]
    spaced = np.pad(letters, ((0, 0), (0, 0), (0, 1)))
    ink = np.concatenate(list(spaced), axis=1)[:, :-1]
    rows, columns = ink.shape
    y = int(top + (height - rows) / 2)
    x = int(left + (width - columns) / 2)
    behind = picture[y : y + rows, x : x + columns]
    behind[ink == 1] = color


def flat_tiles() -> MadeBrain:
    """Make a codebook of a black and a white tile,
    which is enough to find the empty parts of a picture.
    """
    black = np.full((SIDE, SIDE, 3), 0, np.uint8)
    white = np.full((SIDE, SIDE, 3), 255, np.uint8)
    codebook = TileCodebook(
        labels=("dark", "light"),
        tiles=np.stack([black, white]),
        label=np.array([0, 1], np.int32),
    )
    return MadeBrain(codebook, "Tiles of one colour: dark and light")
