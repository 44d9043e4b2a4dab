"""What the world around a node looks like from inside the node."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Episode:
    """One game within a run, as one node sees it.

    Everything random in a node comes from here: from (run seed, node id, episode index) and nothing
    else, so adding a node, or spreading episodes over processes, changes no other game.
    """

    index: int
    seed: int
    node: str = ""

    def rng(self) -> np.random.Generator:
        """A new generator for this node in this episode; two calls give equal generators."""
        return np.random.default_rng([self.seed, _stable_number(self.node), self.index])

    def shuffled(self, count: int) -> int:
        """A number from 0 to count - 1 such that any `count` episodes in a row get each number once a round."""
        round_, place = divmod(self.index, count)
        order = np.random.default_rng([self.seed, _stable_number(self.node), round_]).permutation(count)
        return int(order[place])


def _stable_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Host(Protocol):
    """Given to `Node.open`: where a node writes, and how it speaks to the engine and to people."""

    @property
    def node(self) -> str:
        """The node's id in the workflow."""

    @property
    def dir(self) -> Path:
        """The run folder. What a node leaves behind goes here."""

    @property
    def tick(self) -> int:
        """The current tick of the episode."""

    @property
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock, once the console is open; None in a graph without one."""

    def size(self, **sizes: int) -> None:
        """Say sizes of this node's sockets that only became known now: `host.size(h=224, w=320)`."""

    def rate(self, frames_per_second: float) -> None:
        """Say that this node sets the clock: it emulates so many frames in a second of the game."""

    def say(self, text: str) -> None:
        """Tell people one line."""

    def record(self, **facts: str) -> None:
        """Put facts about the whole run into its results: `host.record(game="Airstriker-Genesis-v0")`."""
