"""A tile codebook, learned from pictures whose tiles are labelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nodes.vision.tiles import SIDE, TileCodebook, keys_of

UNLABELLED = -1
"""The label of a tile that is not learned."""


def learn_codebook(
    pictures: Iterable[tuple[np.ndarray, np.ndarray]], labels: Sequence[str], most: int
) -> TileCodebook:
    """Return the codebook of the most frequent tiles, each with its most frequent label.

    Args:
        pictures: The pictures, uint8 [h, w, 3], each with the labels of its tiles,
            int [h / 8, w / 8]: indices into `labels`, or UNLABELLED.
        labels: The names of the labels.
        most: The largest number of tiles.
    """
    seen: dict[bytes, np.ndarray] = {}
    for frame, label_of in pictures:
        tiles = [bytes(key) for key in keys_of(frame)]
        for tile, label in zip(tiles, label_of.ravel(), strict=True):
            if label == UNLABELLED:
                continue
            if tile not in seen:
                seen[tile] = np.zeros(len(labels), np.int64)
            seen[tile][label] += 1

    often = sorted(seen, key=lambda tile: (-int(seen[tile].sum()), tile))[:most]
    pixels = np.frombuffer(b"".join(often), np.uint8)
    label_of_tile = [seen[tile].argmax() for tile in often]
    return TileCodebook(
        labels=tuple(labels),
        tiles=pixels.reshape(-1, SIDE, SIDE, 3),
        label=np.array(label_of_tile, np.int32),
    )
