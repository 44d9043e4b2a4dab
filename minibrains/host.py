"""The services that the engine offers to a node."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from minibrains.errors import RunError
from minibrains.loading import BrainRef

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Episode:
    """One game within a run, as one node sees it.

    Everything random in a node comes from here: from (run seed, node id, episode index) and nothing
    else, so adding a node, or spreading episodes over processes, changes no other game.
    """

    index: int
    seed: int
    node: str = ""
    limit: int | None = None
    """Ticks after which the run ends the episode if nothing else has; None: it does not."""

    def rng(self) -> np.random.Generator:
        """A new generator for this node in this episode; two calls give equal generators."""
        return np.random.default_rng([self.seed, _stable_number(self.node), self.index])

    def shuffled(self, count: int) -> int:
        """A number from 0 to count - 1 such that any `count` episodes in a row get each number once a round."""
        round_, position = divmod(self.index, count)
        order = np.random.default_rng([self.seed, _stable_number(self.node), round_]).permutation(count)
        return int(order[position])


def _stable_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Host(Protocol):
    """Given to `Node.open`: where a node writes, and how it speaks to the engine and to people."""

    @property
    def node(self) -> str:
        """The node's id in the workflow."""

    @property
    def dir(self) -> Path:
        """The run folder, or a worker's own within it. What a node leaves behind goes here."""

    @property
    def tick(self) -> int:
        """The current tick of the episode."""

    @property
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock, once the console is open; None in a graph without one."""

    def load(self, ref: BrainRef, what: str, make: Callable[[BrainRef], T]) -> T:
        """What `make` makes of a brain file, a model say, from what this process keeps within a budget of memory.

        `what` names it: the same reference and name give the same object, in every node and run. Nobody may change it.
        """

    def size(self, **sizes: int) -> None:
        """Say sizes of this node's sockets that only became known now: `host.size(h=224, w=320)`."""

    def rate(self, frames_per_second: float) -> None:
        """Say that this node sets the clock: it emulates so many frames in a second of the game."""

    def say(self, text: str) -> None:
        """Tell people one line."""

    def record(self, **metadata: str) -> None:
        """Add metadata of the whole run to its results: `host.record(game="Airstriker-Genesis-v0")`."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The function applied to every item, results in the order of the items.

        In a run with `--workers` the items are spread over this worker and those that are free, otherwise they
        are done here, one after the other. The function stands at the top of a module, a node pack's say, and
        neither keeps nor changes anything outside of it; functions, items and results travel as pickles. If an
        item raises, this raises the same once those already begun are done. Raises RunError if something cannot
        be pickled, or if an item's worker died twice.
        """


def map_here(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`Host.map` in this process. A function that could not travel is refused here as well."""
    pickle_function(function)
    return [function(item) for item in items]


def pickle_function(function: Callable[..., Any]) -> bytes:
    """A function by its name, as another process will look it up. Raises RunError if it cannot be found by that."""
    name = getattr(function, "__qualname__", repr(function))
    try:
        if getattr(function, "__module__", None) == "__main__":
            raise pickle.PicklingError("it stands in the program itself, which another process does not import")
        return pickle.dumps(function)
    except Exception as error:
        reason = f"host.map: {name} cannot be sent to a worker; expected a function at the top of a module: {error}"
        raise RunError(reason) from None
