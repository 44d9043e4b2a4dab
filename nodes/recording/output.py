"""Outputs of a run: a score, a clip, a picture, a log."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minibrains import Episode, Frame, Host, MinibrainsError, Node, Number, On, widget
from minibrains.files import LineFile, is_plain_name, write_atomic
from minibrains.video import ClipWriter


class Score(Node, category="recording", every_tick=True):
    """Sum up rewards: the episode's score.

    rewards:  any number of reward links
    Out:      the sum since the episode began
    """

    def reset(self, episode: Episode) -> None:
        self.total = 0.0

    def tick(self, rewards: list[On[Number]]) -> Number:
        for reward in rewards:
            if reward is not None:
                self.total += reward
        return self.total

    def report(self) -> Mapping[str, Any]:
        return {"score": self.total}


class VideoWriter(Node, category="recording"):
    """Write frames to an MP4 clip in the run folder, at the game's own frame rate.

    frame:  uint8 [h, w, c]; every delivered frame is written. Encoding happens in a process of its
            own.
    """

    file: str = widget(
        default="clip.mp4", rebuild=True, doc="the file's name within the run folder"
    )
    episodes: int = widget(
        default=1, min=0, doc="the number of episodes to write, from the first on; 0: all"
    )
    scale: int = widget(
        default=2,
        min=1,
        max=8,
        rebuild=True,
        doc="the factor by which the clip is larger than the frame",
    )

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return (widgets["file"],)

    def check(self) -> None:
        if not (is_plain_name(self.file) and self.file.endswith(".mp4")):
            raise MinibrainsError(
                f"the file is {self.file!r}; expected a plain name ending in .mp4, "
                "within the run folder"
            )

    def open(self, host: Host) -> None:
        self._host = host
        self._path = host.dir / self.file
        self._clip: ClipWriter | None = None

    def reset(self, episode: Episode) -> None:
        self._writing = not self.episodes or episode.index < self.episodes

    def tick(self, frame: Frame) -> None:
        if not self._writing:
            return
        if self._clip is None:
            rate = self._host.frame_rate or 60
            self._clip = ClipWriter(self._path, frame.shape, rate, self.scale)
        self._clip.write(frame)

    def close(self) -> None:
        clip = getattr(self, "_clip", None)
        if clip is not None:
            clip.close()


def _linked_as_value(entry: dict[str, Any]) -> dict[str, Any]:
    """Migrate a Preview that took only frames."""
    inputs = dict(entry.get("in", {}))
    if "frame" in inputs:
        inputs["value"] = inputs.pop("frame")
    return {**entry, "in": inputs}


class Preview(Node, category="recording", version=2, migrations={1: _linked_as_value}):
    """Show the newest value: a picture, a text, the course of a number, the buttons of a pad,
    probabilities. A run without the editor leaves the last picture in the run folder.

    value:  anything
    """

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return (f"{node}.png",)

    def open(self, host: Host) -> None:
        self._path = host.dir / f"{host.file_stem}.png"

    def reset(self, episode: Episode) -> None:
        self.newest: Any = None

    def tick(self, value: Any) -> None:
        self.newest = value

    def close(self) -> None:
        if not _is_picture(getattr(self, "newest", None)):
            return
        from PIL import Image

        frame, picture = np.asarray(self.newest), io.BytesIO()
        if frame.shape[2] == 1:
            frame = frame[:, :, 0]
        Image.fromarray(np.ascontiguousarray(frame)).save(picture, "png")
        write_atomic(self._path, picture.getvalue())


class Log(Node, category="recording"):
    """Append every delivered value to a file of JSON lines in the run folder: episode, tick, value.

    value:  anything; of an array, shape, dtype and mean are written
    Each line is written at once, so nothing is lost when the run is killed.
    """

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return (f"{node}.jsonl",)

    def open(self, host: Host) -> None:
        self._host = host
        self._file = LineFile(host.dir / f"{host.file_stem}.jsonl")

    def reset(self, episode: Episode) -> None:
        self.episode = episode.index

    def tick(self, value: Any) -> None:
        line = {"episode": self.episode, "tick": self._host.tick, "value": _plain(value)}
        self._file.append(json.dumps(line))

    def close(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def _is_picture(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.uint8
        and value.ndim == 3
        and value.shape[2] in (1, 3)
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        mean = None
        if value.size:
            mean = float(value.mean())
        return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return repr(value)
