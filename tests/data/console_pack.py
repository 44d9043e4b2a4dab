"""For the tests of consoles: one without an emulator,
and a node that acts on how an episode ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minibrains import Console, ConsoleOutput, Episode, Flag, Host, Node, Pad


class Counting(Console):
    """A game that is over after nine frames:
    a grey screen that becomes brighter while A is held.
    """

    def open(self, host: Host) -> None:
        host.size(h=32, w=48)
        host.rate(60.0)

    def reset(self, episode: Episode) -> None:
        self.limit = episode.limit
        self.count = 0
        self.level = 0

    @property
    def frames(self) -> int:
        return self.count

    def emit(self) -> ConsoleOutput:
        terminated = self.count == 9
        truncated = self.count + 1 == self.limit and not terminated
        return ConsoleOutput(self._screen, {"level": self.level}, 1.0, terminated, truncated)

    def latch(self, pad1: Pad | None = None, pad2: Pad | None = None) -> None:
        self.count += 1
        self.level += "A" in (pad1 or ())

    def report(self) -> Mapping[str, Any]:
        return {"score": float(self.level)}

    def _screen(self) -> np.ndarray:
        return np.full((32, 48, 3), 25 * self.level, np.uint8)


class Ending(Node):
    """Press A on the last tick of an episode that its limit ends.

    terminated:  of the console
    truncated:   of the console
    """

    def reset(self, episode: Episode) -> None:
        self.ends: list[str] = []

    def tick(self, terminated: Flag, truncated: Flag) -> Pad:
        self.ends += ["terminated"] * terminated + ["truncated"] * truncated
        return ("A",) if truncated else ()

    def report(self) -> Mapping[str, Any]:
        return {"ends": self.ends}
