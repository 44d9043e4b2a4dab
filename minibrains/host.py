"""The services that the engine offers to a node."""

from __future__ import annotations

import hashlib
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from minibrains.errors import RunError
from minibrains.loading import MODEL_CACHE, BrainRef

T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Episode:
    """One game within a run, as one node sees it.

    All randomness in a node comes from here. It depends on run seed, node id (but for the starts of
    a console) and episode index alone, so adding a node, or spreading episodes over processes,
    changes no other game.
    """

    index: int
    """The number of the episode in its run, from 0."""
    seed: int
    """The seed of the run."""
    node: str = ""
    """The id of the node in the workflow."""
    limit: int | None = None
    """Number of ticks after which the run ends the episode; None: no limit."""
    states: tuple[str, ...] = ()
    """The names of the save states, or patterns such as `Level4.*`, that it may begin from, out of
    those of the console; none: any."""

    def rng(self) -> np.random.Generator:
        """Return a new generator for this node in this episode;
        two calls return equal generators.
        """
        return np.random.default_rng([self.seed, _stable_number(self.node), self.index])

    def shuffled(self, count: int) -> int:
        """Return a number from 0 to count - 1,
        such that each number occurs once in every round of `count` episodes.
        """
        round_, position = divmod(self.index, count)
        order = np.random.default_rng([self.seed, _stable_number(self.node), round_]).permutation(
            count
        )
        return int(order[position])


@dataclass(frozen=True, slots=True)
class WorkflowInfo:
    """The workflow of a run, for the metadata of what its nodes write."""

    name: str
    """The name of its file, without the suffix."""
    sha256: str
    """The hash of everything that its games follow from, in hexadecimal: see `Workflow.hash`."""
    command: str = ""
    """The command that plays it; empty if it was not started from the command line."""

    @property
    def made_by(self) -> str:
        """The command that makes what its nodes write, for the header of a brain."""
        return self.command or f"python -m server run {self.name}"


@dataclass(frozen=True, slots=True)
class EpisodeStart:
    """The start of an episode, as the console has begun it."""

    game: str
    rom_sha1: str
    state: str
    """The name of the save state."""
    state_sha256: str
    """The SHA-256 of that state's file; empty if the episode began without one."""
    noops: int = 0
    """Frames before the first tick in which no button was held."""
    written: Mapping[str, int] = field(default_factory=dict)
    """The variables that were set, with their values."""


def file_stem(node: str) -> str:
    """Return the beginning of the names of a node's files: its id, with a dot for each `/`."""
    return node.replace("/", ".")


def _stable_number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Host(ABC):
    """The engine's services for a node, given to `Node.open`: its folder, its clock,
    and its messages.

    A member that is the same for every host, or has a default, is implemented here; each kind of
    host implements the others.
    """

    @property
    @abstractmethod
    def node(self) -> str:
        """The node's id in the workflow; inside of a box a path, such as `eyes/seen`."""

    @property
    def file_stem(self) -> str:
        """The beginning of the names of the node's files: its id, with a dot for each `/`."""
        return file_stem(self.node)

    @property
    @abstractmethod
    def dir(self) -> Path:
        """The folder for the files of a node: the run folder,
        or a worker's own folder within it.
        """

    @property
    @abstractmethod
    def tick(self) -> int:
        """The current tick of the episode."""

    @property
    @abstractmethod
    def frame_rate(self) -> float | None:
        """Ticks a second of the game's own clock, once the console is open;
        None in a graph without one.
        """

    @property
    @abstractmethod
    def workflow(self) -> WorkflowInfo:
        """The workflow as it was at the beginning of the run, before any live edit."""

    @property
    @abstractmethod
    def start(self) -> EpisodeStart | None:
        """The start of the current episode, as its console began it; None in a graph without one.

        Consoles are reset before other nodes, so it can be read in `reset`.
        """

    @abstractmethod
    def begin(self, start: EpisodeStart) -> None:
        """Tell the other nodes how an episode begins; called by a console in `reset`."""

    def load(self, ref: BrainRef, what: str, make: Callable[[BrainRef], T]) -> T:
        """Return what `make` makes from a brain file, for example a model,
        or take it from the cache of this process.

        Args:
            ref: The brain.
            what: A name for the result. The same reference and name give the same object in every
                node and run.
            make: Makes the object; called only if it is not in the cache.

        Returns:
            The object, which must not be changed.

        Raises:
            BrainError: The file is missing, or is not the one that the reference means.
        """
        return MODEL_CACHE.load(ref, what, make)

    @abstractmethod
    def size(self, **sizes: int) -> None:
        """Give sizes of this node's sockets that are known only now: `host.size(h=224, w=320)`."""

    @abstractmethod
    def rate(self, frames_per_second: float) -> None:
        """Declare that this node sets the clock:
        it emulates this many frames in a second of the game.
        """

    @abstractmethod
    def say(self, text: str) -> None:
        """Show people one line of text."""

    @abstractmethod
    def record(self, **metadata: str) -> None:
        """Add metadata of the whole run to its results:
        `host.record(game="Airstriker-Genesis-v0")`.
        """

    @abstractmethod
    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Show people how far this node is with work that takes long.

        It may be called thousands of times a second: at most 20 of these calls are shown, and the
        final one.

        Args:
            done: The amount of work that is done, in any unit.
            total: All of the work, in the same unit; None: unknown.
            text: A few words, such as the loss.
        """

    @property
    @abstractmethod
    def stopping(self) -> bool:
        """True once the run is to end after this tick: work that takes long ends early,
        and keeps what it has.
        """

    def sources(self, socket: str) -> tuple[str, ...]:
        """Return the ids of the nodes that are linked to one of this node's inputs, in the order
        in which `tick` gets the values of a list of links.

        The class needs the option `reads_sources`.

        Args:
            socket: The name of the input.

        Returns:
            One id for each link; links from muted nodes do not count.

        Raises:
            RunError: The class does not have this option, or the node has a process of its own.
        """
        raise RunError(f"{self.node}: only a node in the process of its run knows its links")

    @property
    def packs(self) -> tuple[Path, ...]:
        """The files of the node packs of this run, for a workflow that the node plays."""
        return ()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Apply the function to every item, and return the results in the order of the items.

        In a run with `--workers` the items are spread over this worker and those that are free;
        otherwise they are processed here, one after the other. If an item raises, this raises the
        same once the items already begun are done.

        Args:
            function: A function without side effects, defined at the top level of a module, which
                may be that of a node pack.
            items: Its arguments. Functions, items and results travel as pickles.

        Returns:
            The result for each item.

        Raises:
            RunError: Something cannot be pickled, or an item's worker died twice.
        """
        return map_here(function, items)

    def run(
        self,
        workflow: str,
        *,
        episodes: int | None = None,
        seed: int | None = None,
        workers: int = 1,
        widgets: Mapping[str, Any] = MappingProxyType({}),
        brains: Mapping[str, Path] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Run another workflow from its beginning to its end.

        Its messages and its progress are shown as those of this node. It ends early, after the
        current tick, when this run is stopped; ask `stopping` afterwards.

        Args:
            workflow: The name of the workflow, or its file.
            episodes: The number of episodes; None: that of the workflow.
            seed: The seed; None: that of the workflow.
            workers: The number of processes. With one, it runs in this process, so it can have no
                console if this run has one.
            widgets: Widget values that replace those of the file: "node.widget" -> value.
            brains: Brains that replace those of the file: node -> file.

        Returns:
            The summary of the run, as in summary.json.

        Raises:
            MinibrainsError: The workflow is wrong, or the run failed.
        """
        raise RunError(f"{self.node}: only a node in the process of its run can run a workflow")


def map_here(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Implement `Host.map` in this process.

    A function that could not travel is refused here as well.
    """
    pickle_function(function)
    return [function(item) for item in items]


def pickle_function(function: Callable[..., Any]) -> bytes:
    """Pickle a function by its name. Raises RunError if another process could not look it up."""
    name = getattr(function, "__qualname__", repr(function))
    try:
        if getattr(function, "__module__", None) == "__main__":
            raise pickle.PicklingError(
                "it is in the program itself, which another process does not import"
            )
        return pickle.dumps(function)
    except Exception as error:
        reason = (
            f"host.map: {name} cannot be sent to a worker; "
            f"expected a function at the top of a module: {error}"
        )
        raise RunError(reason) from None
