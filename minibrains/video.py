"""MP4 clips: writing them frame by frame, and the workflow that a clip carries."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final
from uuid import UUID

import numpy as np

from minibrains.errors import RunError
from minibrains.files import to_bytes

WORKFLOW_BOX: Final = UUID("6d696e69-6272-4169-9e73-776f726b666c")
"""Type of the box with the workflow that a clip was made by. Players skip boxes they do not know.

Source: ISO/IEC 14496-12, 4.2 and 11.1, "uuid".
"""
_CLOSING: Final = 60
"""Seconds that the encoder gets for what it has not written yet."""


class ClipWriter:
    """Writes frames to an MP4 file, which has its name only once it is whole.

    Encoding happens in a process of its own.
    """

    def __init__(
        self, path: Path, shape: tuple[int, ...], frame_rate: float, scale: int = 2
    ) -> None:
        """Start the encoder.

        Args:
            path: The file; an older one is replaced.
            shape: The shape of all frames, [h, w, 1] or [h, w, 3].
            frame_rate: Frames per second.
            scale: The factor by which the clip is larger than a frame.
        """
        self._path = path
        # a separate name, because after a live edit the previous writer may still be closing
        self._partial = path.with_suffix(f".{token_hex(4)}.partial.mp4")
        self._shape = shape
        # a separate session, because Ctrl-C is for the run, which then finishes the clip; and a
        # pipe that holds a few frames, so that not every tick waits for the encoder
        self._encoder = subprocess.Popen(
            self._command(frame_rate, scale),
            stdin=subprocess.PIPE,
            start_new_session=True,
            pipesize=1 << 20,
        )

    def write(self, frame: np.ndarray) -> None:
        """Write a frame, uint8. Raises RunError if it has another size, or the encoder ended."""
        if frame.shape != self._shape:
            raise RunError(
                f"the frame changed its size from {self._shape} to {frame.shape} within one clip"
            )
        try:
            self._pipe.write(np.ascontiguousarray(frame).data)
        except BrokenPipeError:
            raise RunError(f"the video encoder ended with {self._encoder.wait()}") from None

    def close(self) -> None:
        """Finish the file. Raises RunError if the encoder failed."""
        self._pipe.close()
        if self._encoder.wait(_CLOSING):
            raise RunError(
                f"the video encoder ended with {self._encoder.returncode}; "
                f"{self._partial} is not whole"
            )
        os.replace(self._partial, self._path)

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._encoder.stdin is not None
        return self._encoder.stdin

    def _command(self, frame_rate: float, scale: int) -> list[str]:
        import imageio_ffmpeg

        height, width, colors = self._shape
        size = f"{width * scale}:{height * scale}"
        even = f"scale={size}:flags=neighbor,pad=ceil(iw/2)*2:ceil(ih/2)*2"
        pixels = "rgb24" if colors == 3 else "gray"
        source = ["-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{width}x{height}"]
        source += ["-r", f"{frame_rate:.6f}", "-i", "-"]
        codec = [
            "-an", "-vf", even, "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt",
            "yuv420p", "-movflags", "+faststart",
        ]  # fmt: skip
        program = imageio_ffmpeg.get_ffmpeg_exe()
        return [program, "-v", "error", "-y", *source, *codec, str(self._partial)]


def append_workflow(clip: Path, workflow: Mapping[str, Any]) -> None:
    """Append a workflow, as JSON in UTF-8, to a clip, so that the editor can open it from there.

    Raises OSError.
    """
    text = to_bytes(json.dumps(workflow, ensure_ascii=False))
    size = 8 + len(WORKFLOW_BOX.bytes) + len(text)
    with clip.open("ab") as file:
        file.write(size.to_bytes(4, "big") + b"uuid" + WORKFLOW_BOX.bytes + text)
