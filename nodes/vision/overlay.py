"""GridOverlay: a picture with information about its tiles drawn on it."""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np

from minibrains import (
    Brain,
    BrainError,
    ColorFrame,
    Host,
    MinibrainsError,
    Node,
    Socket,
    setting,
    tensor,
    widget,
)
from nodes.vision.tiles import SIDE, Legend, TileLabels, check_labels

Marker = Annotated[tuple[int, int, str], Socket("marker")]
"""A tile to highlight: column, row, and a word to write beside it."""
COORDINATES: Final = 4
"""Distance of coordinates in tiles: two digits are about one tile wide."""


class OverlayStyle(Brain):
    """Colours by label, and the shapes of the letters."""

    kind = "overlay_style"
    labels: tuple[str, ...] = setting(
        doc="the labels that have a colour; tiles with other labels are left as they are"
    )
    letters: str = setting(
        doc="the characters that can be written, in the order of glyphs; others are blank"
    )
    palette: np.ndarray = tensor("u8[labels 4]", "red, green, blue and opacity of each label")
    grid: np.ndarray = tensor("u8[4]", "the same for the lines between tiles")
    ink: np.ndarray = tensor("u8[4]", "the same for coordinates and markers")
    glyphs: np.ndarray = tensor("u8[letters height width]", "1: ink")

    def check(self, where: str) -> None:
        if len(self.labels) != len(self.palette) or len(set(self.labels)) < len(self.labels):
            raise BrainError(
                f"{where}: {len(self.palette)} colours need one label each, all different"
            )
        if len(self.letters) != len(self.glyphs) or len(set(self.letters)) < len(self.letters):
            raise BrainError(
                f"{where}: {len(self.glyphs)} glyphs need one letter each, all different"
            )
        if (self.glyphs > 1).any():
            raise BrainError(f"{where}: glyphs must be 0 or 1")


class GridOverlay(Node, category="vision"):
    """Draw the tile grid, its coordinates, colours by label, and markers on a copy of the picture.

    frame:    uint8 [h, w, 3]
    labels:   int32 [rows, columns] from TileTokenizer, -1: no colour
    legend:   the names of the labels, from TileTokenizer; without it the labels are the brain's own
    markers:  any number of (column, row, word): the tile is framed, the word written to its right
    Out:      uint8 [h, w, 3]; column numbers along the top and row numbers along the left, every
              fourth
    """

    brain: OverlayStyle
    grid: bool = widget(default=True, doc="draw lines between tiles")
    coordinates: bool = widget(default=True, doc="write column and row numbers")

    def open(self, host: Host) -> None:
        self._colors = dict(zip(self.brain.labels, self.brain.palette, strict=True))
        _, height, width = self.brain.glyphs.shape
        self._blank, self._gap = np.zeros((height, width), bool), np.zeros((height, 1), bool)
        self._glyphs = dict(zip(self.brain.letters, self.brain.glyphs.astype(bool), strict=True))
        self._size: tuple[int, ...] = ()
        self._numbers: tuple[np.ndarray, ...] = ()

    def tick(
        self,
        frame: ColorFrame,
        markers: list[Marker],
        labels: TileLabels | None = None,
        legend: Legend | None = None,
    ) -> ColorFrame:
        picture = frame.copy()
        if labels is not None:
            if legend is None:
                legend = self.brain.labels
            self._color(picture, labels, legend)
        if self.grid:
            lines = picture[
                ::SIDE
            ].copy()  # a copy, so that the crossings of lines are mixed only once
            picture[:, ::SIDE] = _mixed(picture[:, ::SIDE], self.brain.grid)
            picture[::SIDE] = _mixed(lines, self.brain.grid)
        if self.coordinates:
            if self._size != picture.shape[:2]:
                self._size, self._numbers = picture.shape[:2], self._numbered(*picture.shape[:2])
            picture[self._numbers] = _mixed(picture[self._numbers], self.brain.ink)
        for column, row, word in markers:
            self._mark(picture, column * SIDE, row * SIDE, word)
        return picture

    def _color(self, picture: np.ndarray, labels: np.ndarray, legend: tuple[str, ...]) -> None:
        check_labels("the frame is", picture, labels)
        if labels.max(initial=-1) >= len(legend):
            raise MinibrainsError(
                f"a tile has the label {labels.max()}, and the legend has {len(legend)} names; "
                "link labels and legend of one node"
            )
        nothing = np.zeros(4, np.uint8)
        colors = [self._colors.get(name, nothing) for name in legend]
        colors.append(nothing)  # for the label -1
        found = np.array(colors, np.uint8)[labels].repeat(SIDE, axis=1)
        share = found[..., 3:].astype(np.uint16).repeat(3, axis=2)
        # whole lines of pixels, because NumPy is slow with rows of only three numbers
        lines = picture.reshape(len(labels), SIDE, -1)
        light = (found[..., :3] * share).reshape(len(labels), 1, -1)
        rest = (255 - share).reshape(len(labels), 1, -1)
        lines[...] = _laid(lines, light, rest)

    def _numbered(self, height: int, width: int) -> tuple[np.ndarray, ...]:
        """Return the pixels of the column and row numbers, as rows and columns."""
        ink = np.zeros((height, width), bool)
        for column in range(COORDINATES, width // SIDE, COORDINATES):
            self._write(ink, column * SIDE + 1, 1, str(column))
        for row in range(COORDINATES, height // SIDE, COORDINATES):
            self._write(ink, 1, row * SIDE + 1, str(row))
        return ink.nonzero()

    def _mark(self, picture: np.ndarray, x: int, y: int, word: str) -> None:
        height, width = picture.shape[:2]
        if not (0 <= x < width and 0 <= y < height):
            return
        box = picture[y : y + SIDE, x : x + SIDE]
        edge = np.ones((box.shape[0], box.shape[1]), bool)
        edge[1 : SIDE - 1, 1 : SIDE - 1] = False
        box[edge] = _mixed(box[edge], self.brain.ink)
        ink = np.zeros((height, width), bool)
        self._write(ink, x + SIDE + 1, y + 1, word.upper())
        area = ink.nonzero()
        picture[area] = _mixed(picture[area], self.brain.ink)

    def _write(self, ink: np.ndarray, x: int, y: int, text: str) -> None:
        """Write `text` with its upper left corner at (x, y), clipped to the picture."""
        if not text:
            return
        parts: list[np.ndarray] = []
        for letter in text:
            parts += [self._glyphs.get(letter, self._blank), self._gap]
        drawn = np.concatenate(parts, axis=1)
        area = ink[y : y + drawn.shape[0], x : x + drawn.shape[1]]
        area |= drawn[: area.shape[0], : area.shape[1]]


def _mixed(pixels: np.ndarray, color: np.ndarray) -> np.ndarray:
    """Mix `color`, which is red, green, blue and opacity, with pixels [..., 3]."""
    *light, share = color.astype(np.uint16)
    mixed = np.empty_like(pixels)
    for channel, value in enumerate(light):
        mixed[..., channel] = _laid(pixels[..., channel], value * share, 255 - share)
    return mixed


def _laid(pixels: np.ndarray, added: Any, left: Any) -> np.ndarray:
    """Return (`left` * pixels + `added`) / 255, rounded: uint8, computed in uint16."""
    mixed: np.ndarray = pixels * left
    mixed += added
    mixed += 127
    mixed //= 255
    return mixed.astype(np.uint8)
