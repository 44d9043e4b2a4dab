"""TileTokenizer: a picture as tiles, each identified by its number in a codebook."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Final, NamedTuple

import numpy as np

from minibrains import (
    Brain,
    BrainError,
    Host,
    MinibrainsError,
    Node,
    Number,
    Socket,
    setting,
    tensor,
)

SIDE: Final = 8
"""Width and height of a tile in pixels."""

TileIds = Annotated[np.ndarray, Socket("tile_ids", "i32[rows columns]")]
"""The number of each tile of a picture in a codebook; the size of the codebook for unknown
tiles."""
TileLabels = Annotated[np.ndarray, Socket("tile_labels", "i32[rows columns]")]
"""The label of each tile of a picture, as an index into the legend; -1: unknown."""
Legend = Annotated[tuple[str, ...], Socket("legend")]
"""The names of the labels."""
CodebookFrame = Annotated[np.ndarray, Socket("frame", "u8[h w {c}]")]


class TileCodebook(Brain):
    """Known tiles, each with a label."""

    kind = "tile_codebook"
    labels: tuple[str, ...] = setting(doc="the names of the labels, such as wall, floor, water")
    tiles: np.ndarray = tensor("u8[tiles 8 8 c]", "the tiles; the id of a tile is its index")
    label: np.ndarray = tensor("i32[tiles]", "the label of each tile, as an index into labels")

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, object]
    ) -> Mapping[str, int]:
        return {"ids": sizes["tiles"] + 1}

    def check(self, where: str) -> None:
        if not len(self.tiles) or not self.tiles.shape[3]:
            raise BrainError(f"{where}: there must be at least one tile of at least one colour")
        if (self.label < 0).any() or (self.label >= len(self.labels)).any():
            raise BrainError(
                f"{where}: every label must be from 0 to {len(self.labels) - 1}, a place in labels"
            )
        if len({tile.tobytes() for tile in self.tiles}) < len(self.tiles):
            raise BrainError(f"{where}: two tiles are equal; expected each tile once")


class Tokens(NamedTuple):
    """A picture in tiles."""

    ids: TileIds
    labels: TileLabels
    legend: Legend
    unknown: Number


class TileTokenizer(Node, category="vision"):
    """Cut a picture into tiles of 8 by 8 pixels and look each up in the codebook;
    equal tiles always have equal ids.

    frame:   uint8 [h, w, c], h and w multiples of 8
    ids:     int32 [h / 8, w / 8], 0 to tiles - 1; equal to tiles for an unknown tile
    labels:  int32 [h / 8, w / 8], an index into legend; -1: unknown
    legend:  the names of the labels
    unknown: share of the tiles that are in no codebook, 0 to 1
    """

    brain: TileCodebook

    def open(self, host: Host) -> None:
        tiles = self.brain.tiles
        keys = np.ascontiguousarray(tiles).reshape(len(tiles), -1).view(np.uint64)
        self._multipliers, hashes = _distinct_hashes(keys)
        order = np.argsort(hashes)
        self._hashes, self._keys = hashes[order], keys[order]
        self._ids = np.append(order, len(order)).astype(np.int32)
        self._labels = np.append(self.brain.label[order], -1).astype(np.int32)

    def tick(self, frame: CodebookFrame) -> Tokens:
        shape = count_tiles("the frame is", frame)
        keys = keys_of(frame)
        positions = np.searchsorted(self._hashes[:-1], _hashed(keys, self._multipliers))
        # the hash gives the place to look, the pixels decide whether it is that tile; eight
        # comparisons are read at a time
        answers = (keys != self._keys.take(positions, axis=0)).view(np.uint64)
        differs = reduce(np.bitwise_or, answers.T) != 0
        positions[differs] = len(self._keys)
        unknown = float(np.count_nonzero(differs) / differs.size)
        return Tokens(
            self._ids[positions].reshape(shape),
            self._labels[positions].reshape(shape),
            self.brain.labels,
            unknown,
        )


def count_tiles(subject: str, picture: np.ndarray) -> tuple[int, int]:
    """Return the rows and columns of tiles in a picture.

    Args:
        subject: The beginning of the error's sentence, such as "the frame is".
        picture: The picture, [h, w, ...].

    Raises:
        MinibrainsError: Its height or width is not a multiple of SIDE.
    """
    height, width = picture.shape[:2]
    if height % SIDE or width % SIDE or not picture.size:
        raise MinibrainsError(
            f"{subject} {width}x{height}; expected multiples of {SIDE}; put a Resize before it"
        )
    return height // SIDE, width // SIDE


def check_labels(subject: str, picture: np.ndarray, labels: np.ndarray) -> None:
    """Raise MinibrainsError unless there is one label for each tile of a picture.

    Args:
        subject: The beginning of the error's sentence, such as "the frame is".
        picture: The picture, [h, w, ...].
        labels: The labels, int32 [rows, columns].
    """
    height, width = picture.shape[:2]
    rows, columns = labels.shape
    if (height, width) != (rows * SIDE, columns * SIDE):
        raise MinibrainsError(
            f"{subject} {width}x{height}, the labels are {columns}x{rows} tiles; "
            f"expected one label for {SIDE}x{SIDE} pixels, from a TileTokenizer of the same frame"
        )


def keys_of(frame: np.ndarray) -> np.ndarray:
    """Return each tile's pixels as 64-bit words: [tiles, 8 * c]."""
    height, width, colors = frame.shape
    rows = np.ascontiguousarray(frame).reshape(height, width * colors).view(f"V{SIDE * colors}")
    tiles = rows.reshape(height // SIDE, SIDE, width // SIDE).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles).view(np.uint64).reshape(-1, SIDE * colors)


def _hashed(keys: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Return a hash per tile: the sum of its words, each times its own multiplier, modulo 2**64."""
    hashes: np.ndarray = np.einsum("tw,w->t", keys, multipliers)
    return hashes


def _distinct_hashes(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers for which different tiles have different hashes, and these hashes."""
    random = np.random.default_rng(0)
    while True:
        multipliers = random.integers(2**64, size=(keys.shape[1],), dtype=np.uint64) | np.uint64(1)
        hashes = _hashed(keys, multipliers)
        if len(np.unique(hashes)) == len(hashes):
            return multipliers, hashes
