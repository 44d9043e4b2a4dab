"""The protocol between the server and its workers, over a pipe: pairs of a command or an event,
and its content.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from minibrains.graph.breakpoint import Breakpoint
from minibrains.graph.workflow import RunSettings
from minibrains.run.folder import RunFolder
from minibrains.run.spec import RunSpec

WorkerCommand = Literal[
    "play", "stop", "pause", "resume", "step", "watch", "request_picture", "edit", "save_state",
    "clip", "record", "input", "seek", "timeline", "breakpoints", "speed", "fork", "digests",
    "find", "happened", "recent", "step_node", "quit",
]  # fmt: skip
"""To a worker. play: a RunRequest; watch: a Watch; request_picture: a node whose next frame may be
sent; edit: number and workflow; save_state: number, node and name; clip: number; record: number,
and True to begin a tape; seek: a tick of a recorded run; timeline, digests, recent: number; fork,
happened: number and tick; find: number, node, output and condition; breakpoints: number and
some of type Breakpoint; speed: a share of the frame rate; step_node: to the next node of a tick;
input: an external register and what a page sent to it; quit: finish the run and exit."""
Tape = Path | tuple[bytes, ...]
"""The file of a tape, or its records."""
WorkerEvent = Literal["ready", "changes", "frame", "message", "answer", "closing", "over"]
"""To the server. changes: those of a run's state; frame: node, number, message; message: node or
None, text; answer: of a command with a number, by that number; closing: this worker can play no
other run; over: an Outcome."""


CLIP: Final = "clip.mp4"
"""The clip of a run that is filmed, in its folder."""
SERVER_GONE: Final = "the server ended while this run was running"
"""The error of a run that failed because its server was gone."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that a worker is to play."""

    prompt_id: str
    spec: RunSpec
    settings: RunSettings
    folder: RunFolder
    film: bool = False
    """True: its first episode is filmed, to `CLIP` in its folder."""
    fork: bytes | None = None
    """The ForkPoint from which it begins, encoded by a worker; None: it begins anew."""


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """A recorded run, or the last ticks of one that goes on, that a worker is to play to any of its
    ticks.
    """

    prompt_id: str
    tape: Tape
    nodes: frozenset[str]
    """The nodes of the workflow itself, without those that hooks had added when it was played."""
    settings: RunSettings
    models: Path
    breakpoints: tuple[Breakpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Watch:
    """The nodes that pages watch: those whose pictures are wanted, those whose values are wanted
    in short, those whose inputs and outputs are wanted in full, and those whose time in each of
    the last ticks is wanted ("": that of the whole tick).
    """

    previews: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        """True if anything is wanted more often than the statistics."""
        return bool(self.previews or self.values or self.full or self.budgets)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run. The summary has the details for people and files."""

    state: Literal["done", "failed", "stopped"]
    summary: dict[str, Any]
    node: str | None = None
    """The node that failed."""
    traceback: tuple[str, ...] = ()
    exception: str = ""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The settings of a worker process."""

    models: Path
    packs: bool
    files: tuple[Path, ...]
