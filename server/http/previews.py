"""Encode pictures for pages: losslessly and cheaply with up to 256 colours, otherwise as JPEG."""

from __future__ import annotations

import io
import json
import struct
from typing import Any, Final, NamedTuple

import numpy as np

JPEG, PALETTE = 4, 100
"""The kinds of binary messages: ComfyUI's PREVIEW_IMAGE_WITH_METADATA, and our own."""
_MAX_COLOURS: Final = 256
_NONE: Final = 0xFFFFFFFF
"""A value that is not a colour."""
_QUALITY: Final = 80
_BACKOFF: Final = 60
"""Number of pictures of a node that are sent as JPEG before its colours are counted again."""


def is_picture(value: Any) -> bool:
    """Return whether a value on a link is a picture: uint8 [h, w] or [h, w, 1 to 3]."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.uint8
        and value.size > 0
        and (value.ndim == 2 or (value.ndim == 3 and 1 <= value.shape[2] <= 3))
    )


class Encoded(NamedTuple):
    """An encoded picture: the kind of its message, its entries in the JSON part, and its bytes."""

    kind: int
    about: dict[str, int]
    body: bytes

    def message(self, about: dict[str, Any]) -> bytes:
        """Return a complete binary message of the websocket; `about` is added to its JSON part."""
        header = json.dumps({**about, **self.about}).encode()
        return struct.pack(">II", self.kind, len(header)) + header + self.body


class Encoder:
    """Encodes the pictures of one node. A colour keeps its number once it was seen."""

    def __init__(self) -> None:
        # one byte for each possible colour; the system allocates memory only for those that occur
        self._numbers = np.zeros(1 << 24, np.uint8)
        self._colours = np.full(_MAX_COLOURS, _NONE, np.uint32)
        self._count = 0
        self._rich = 0

    def encode(self, picture: np.ndarray) -> Encoded:
        """Encode a picture for the websocket. Of two channels, such as those of a FighterMask, the
        first is shown in blue, and the second in red.
        """
        if picture.ndim == 3 and picture.shape[2] == 2:
            first, second = picture[:, :, 0], picture[:, :, 1]
            picture = np.stack([second, np.zeros_like(first), first], axis=2)
        if self._rich:
            self._rich -= 1
            return _as_jpeg(picture)
        found = self._palette(picture)
        if found is None:
            self._rich = _BACKOFF
            return _as_jpeg(picture)
        colours, indices = found
        height, width = picture.shape[:2]
        palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], 1).astype(np.uint8)
        about = {"width": width, "height": height, "colours": len(palette)}
        return Encoded(PALETTE, about, palette.tobytes() + indices.tobytes())

    def _palette(self, picture: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the colours, and each pixel's index into them;
        None if there are too many colours.
        """
        if picture.ndim == 2 or picture.shape[2] == 1:
            return np.arange(_MAX_COLOURS, dtype=np.uint32) * 0x010101, picture
        red, green, blue = picture[:, :, 0], picture[:, :, 1], picture[:, :, 2]
        pixels = red.astype(np.uint32) << 16
        pixels |= green.astype(np.uint32) << 8
        pixels |= blue
        indices = self._numbers[pixels]
        strange = self._colours[indices] != pixels
        if strange.any():
            if not self._learn(np.unique(pixels[strange])) and not self._learn(
                np.unique(pixels), anew=True
            ):
                return None
            indices = self._numbers[pixels]
        return self._colours[: self._count], indices

    def _learn(self, colours: np.ndarray, anew: bool = False) -> bool:
        """Number new colours, forgetting all others if `anew`.

        Returns False if there are too many.
        """
        first = 0 if anew else self._count
        if first + len(colours) > _MAX_COLOURS:
            return False
        self._count = first + len(colours)
        self._colours[first:] = _NONE
        self._colours[first : self._count] = colours
        self._numbers[colours] = np.arange(first, self._count, dtype=np.uint8)
        return True


def _as_jpeg(picture: np.ndarray) -> Encoded:
    from PIL import Image

    height, width = picture.shape[:2]
    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[:, :, 0]
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "jpeg", quality=_QUALITY)
    return Encoded(JPEG, {"width": width, "height": height}, file.getvalue())
