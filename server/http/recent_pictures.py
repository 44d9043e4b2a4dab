"""The last seconds of what pages were shown of a game, and a clip of them."""

from __future__ import annotations

import io
import itertools
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains.errors import RunError
from minibrains.files import rename
from minibrains.video import ClipWriter, append_workflow
from server.http.previews import JPEG, Encoded

SECONDS: Final = 20.0
"""The length of a clip."""
MEMORY: Final = 32 << 20
"""Largest number of bytes that the pictures of a run take; older ones are dropped first."""
_LONGEST_GAP: Final = 0.5
"""Seconds that a picture stays in a clip at most, so that a pause is not in it."""


class _Shown(NamedTuple):
    when: float
    kind: int
    about: dict[str, int]
    body: bytes
    """Compressed, unless it is a JPEG."""


class RecentPictures:
    """The pictures of one run's console, as they were encoded for pages.

    One thread adds pictures, and any may write a clip.
    """

    def __init__(self) -> None:
        self._pictures: deque[_Shown] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._keeping = threading.Lock()

    def add(self, when: float, encoded: Encoded) -> None:
        """Add a picture that was shown at a time in seconds, and drop those that are too old."""
        body = encoded.body
        if encoded.kind != JPEG:
            body = zlib.compress(body, level=1)
        with self._lock:
            self._pictures.append(_Shown(when, encoded.kind, encoded.about, body))
            self._bytes += len(body)
            while self._bytes > MEMORY or self._pictures[0].when < when - SECONDS:
                self._bytes -= len(self._pictures.popleft().body)

    def keep_clip(
        self, folder: Path, frame_rate: float, workflow: Mapping[str, Any]
    ) -> tuple[Path, float]:
        """Write a clip that carries the workflow into a folder, as the next of clip-1.mp4 and so
        on; return its path and its length in seconds.

        Raises RunError as `write_clip` does.
        """
        with self._keeping:
            numbered = (folder / f"clip-{number}.mp4" for number in itertools.count(1))
            path = next(path for path in numbered if not path.exists())
            partial = path.with_name(f".{path.name}")
            seconds = self.write_clip(partial, frame_rate)
            append_workflow(partial, workflow)
            rename(partial, path)
        return path, seconds

    def write_clip(self, path: Path, frame_rate: float) -> float:
        """Write what is kept to an MP4 file; return its length in seconds.

        If the size of the pictures has changed, the clip begins after that. Raises RunError if
        there are none.
        """
        with self._lock:
            pictures = list(self._pictures)
        if not pictures:
            raise RunError(
                "nothing was shown of a game yet; a clip needs a console whose picture is in view"
            )
        size = _size(pictures[-1])
        pictures = [shown for shown in pictures if _size(shown) == size]
        clip = ClipWriter(path, (*size, 3), frame_rate)
        try:
            frames = 0
            for shown, until in _timed(pictures, frame_rate):
                picture = _decode(shown)
                while frames < until:
                    clip.write(picture)
                    frames += 1
        finally:
            clip.close()
        return frames / frame_rate


def _size(shown: _Shown) -> tuple[int, int]:
    return shown.about["height"], shown.about["width"]


def _timed(pictures: list[_Shown], frame_rate: float) -> Iterator[tuple[_Shown, int]]:
    """Yield each picture, and the number of frames in the clip up to its end."""
    seconds = 0.0
    for shown, following in pairwise(pictures):
        seconds += min(following.when - shown.when, _LONGEST_GAP)
        yield shown, round(seconds * frame_rate)
    yield pictures[-1], round(seconds * frame_rate) + 1


def _decode(shown: _Shown) -> np.ndarray:
    """Return a picture as uint8 [h, w, 3]."""
    if shown.kind == JPEG:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(shown.body)).convert("RGB"))
    data = np.frombuffer(zlib.decompress(shown.body), np.uint8)
    colours = data[: 3 * shown.about["colours"]].reshape(-1, 3)
    return colours[data[3 * len(colours) :].reshape(_size(shown))]
