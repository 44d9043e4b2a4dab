"""DecisionLog: the questions to a strategist, its answers and the resulting actions,
with the pictures it was shown.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import Action, Episode, Frame, Host, Node, Number, On, Text, widget
from minibrains.errors import MinibrainsError, RunError, describe_error
from minibrains.files import LineFile
from nodes.actions.sink import ActionTable

_AHEAD: Final = 64
"""Number of decisions that may wait to be written before the game waits; at two a second, none ever
waits."""


class _Decision(NamedTuple):
    line: dict[str, Any]
    image: np.ndarray | None


class DecisionLog(
    Node,
    category="recording",
    collects_data=True,
    version=2,
    renamed_inputs={1: {"rung": "method"}},
):
    """Append every decision to a file of JSON lines in the run folder, named after this node,
    with its pictures beside it.

    prompt:  the question
    tokens:  the number of tokens of the question
    image:   the picture that was asked about; the last one at the time of the prompt is kept
    text:    the answer
    method:  how the action was found in it, from ActionParser
    action:  the action that was taken; the brain, an action table, has its name
    unknown: share of the picture's tiles that are in no codebook, from TileTokenizer; the last one
             at the time of the prompt is kept, and their mean is in the episode's results
    A line has episode, tick and the values delivered on that tick; if question and answer come on
    one tick, there is one line per decision. `image` names a file in the folder with the node's
    name; equal pictures are one file. Lines and pictures are written on a thread, a picture before
    the line that names it; when the run is killed, only the last moment is lost. A model can be
    trained on these files, so no game begins in a held-back state while this node is in the graph.
    """

    brain: ActionTable | None
    pictures: int = widget(
        default=2000,
        min=0,
        max=1_000_000,
        doc="the largest number of different pictures; later lines name none",
    )

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return node, f"{node}.jsonl"

    def open(self, host: Host) -> None:
        self._host = host
        self._pictures = host.dir / host.file_stem
        self._path = host.dir / f"{host.file_stem}.jsonl"
        self._written: dict[bytes, str] = {}
        self._waiting: SimpleQueue[_Decision | None] = SimpleQueue()
        self._room = threading.Semaphore(_AHEAD)
        self._failure = ""
        self._file = LineFile(self._path)
        self._thread = threading.Thread(target=self._write, name=f"{host.node} writes", daemon=True)
        self._thread.start()

    def reset(self, episode: Episode) -> None:
        self.episode = episode.index
        self.shown, self.unknown = 0, 0.0

    def tick(
        self,
        image: Frame | None = None,
        prompt: On[Text] = None,
        text: On[Text] = None,
        method: On[Text] = None,
        action: On[Action] = None,
        tokens: On[Number] = None,
        unknown: Number | None = None,
    ) -> None:
        if prompt is None and text is None and action is None:
            return
        name = None
        if self.brain is not None and action is not None:
            name = _name(self.brain, action)
        fields = {
            "prompt": prompt,
            "tokens": tokens,
            "text": text,
            "method": method,
            "action": action,
            "name": name,
        }
        if prompt is not None and unknown is not None:
            fields["unknown"] = unknown
            self.shown += 1
            self.unknown += unknown
        line: dict[str, Any] = {"episode": self.episode, "tick": self._host.tick}
        for key, value in fields.items():
            if value is not None:
                line[key] = value
        if prompt is None:
            image = None  # no question was asked about it
        self._room.acquire()
        self._check_written()
        self._waiting.put(_Decision(line, image))

    def report(self) -> Mapping[str, Any]:
        if self.shown:
            return {"unknown_tiles": round(self.unknown / self.shown, 4)}
        return {}

    def close(self) -> None:
        if not hasattr(self, "_thread"):
            return
        self._waiting.put(None)
        self._thread.join()
        self._file.close()
        self._check_written()

    def _check_written(self) -> None:
        if self._failure:
            raise RunError(f"{self._path} cannot be written: {self._failure}")

    def _write(self) -> None:
        """Write decisions one after another, on a thread:
        encoding a picture takes as long as several ticks.
        """
        while (decision := self._waiting.get()) is not None:
            try:
                if not self._failure:
                    line = decision.line
                    if decision.image is not None and (file := self._picture(decision.image)):
                        line = {**line, "image": file}
                    self._file.append(json.dumps(line, ensure_ascii=False))
            except Exception as error:
                # any error: otherwise a tick that waits for space would block forever
                self._failure = getattr(error, "strerror", None) or describe_error(error)
            finally:
                self._room.release()

    def _picture(self, image: np.ndarray) -> str | None:
        """Return the file of a picture, after writing it if it is new;
        None if there are too many already.
        """
        from PIL import Image

        picture = np.ascontiguousarray(image)
        key = hashlib.blake2b(
            picture.data, digest_size=8, person=str(picture.shape).encode()[:16]
        ).digest()
        if key not in self._written and len(self._written) < self.pictures:
            self._pictures.mkdir(exist_ok=True)
            path = self._pictures / f"{key.hex()}.png"
            partial = path.with_suffix(".partial")
            if picture.shape[2] == 1:
                picture = picture[:, :, 0]
            Image.fromarray(picture).save(partial, "png", compress_level=1)
            partial.replace(path)
            self._written[key] = f"{self._pictures.name}/{path.name}"
        return self._written.get(key)


def _name(table: ActionTable, action: int) -> str:
    if action >= len(table.names):
        raise MinibrainsError(
            f"action {action} is not in the action table, which has 0 to {len(table.names) - 1}"
        )
    return table.names[action]
