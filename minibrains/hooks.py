"""Hooks: objects that observe or steer a run from outside of its graph."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from minibrains.errors import MinibrainsError, suggest

if TYPE_CHECKING:
    from minibrains.engine.live_edit import Edit
    from minibrains.graph.registry import Registry
    from minibrains.graph.workflow import Workflow
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run


class Budget(NamedTuple):
    """A limit for the run until its hooks are called again."""

    ticks: int = sys.maxsize
    """The largest number of ticks."""
    seconds: float = 0.1
    """The longest time in seconds, approximately."""


DEFAULT_BUDGET: Final = Budget()


class Progress(NamedTuple):
    """The progress of a run."""

    episode: int
    """Index of the episode; with several workers, how many are over."""
    tick: int
    """Ticks of the episode; with several workers, of all episodes that are being played."""
    ticks_per_s: float
    """Ticks per second over the whole run."""
    score: float | None
    """The score of the episode so far."""


class NodeProgress(NamedTuple):
    """The progress of one node with work that takes long; see `Host.progress`."""

    node: str
    """Id of the node."""
    done: float
    """The amount of work that is done, in any unit."""
    total: float | None
    """All of the work, in the same unit; None: unknown."""
    text: str
    """A few words for people."""


_MOMENTS: Final = ("before_", "after_", "between_", "on_")


class Hook:
    """Something that a run calls at certain moments.

    Override the methods you need; the others do nothing.

    They are called on the thread that ticks, except for `on_message` and `on_node_progress`, which
    may be called on any thread, and for `on_edit` and the `prepare` of an edit, which are called on
    the thread that edits. A hook that raises ends the run with that error. With several workers
    nothing ticks in this process: `after_open`, `before_episode`, `between_ticks` and `on_edit` are
    not called, and `run.engine` is not open.

    Example:
        >>> class CollectScores(Hook):
        ...     def __init__(self):
        ...         self.scores = []
        ...
        ...     def after_episode(self, run, episode):
        ...         self.scores.append(episode.score)
        >>> class Misspelt(Hook):
        ...     def after_episodes(self, run, episode):
        ...         pass
        Traceback (most recent call last):
        minibrains.errors.MinibrainsError: Misspelt.after_episodes is not called by any run. ...
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a misspelt method, which would never be called. Raises MinibrainsError."""
        super().__init_subclass__(**kwargs)
        for name in vars(cls):
            if name.startswith(_MOMENTS) and not hasattr(Hook, name):
                known = [method for method in vars(Hook) if not method.startswith("_")]
                hint = suggest(name, known) or f"Hooks have {', '.join(known)}"
                raise MinibrainsError(f"{cls.__name__}.{name} is not called by any run. {hint}")

    def prepare(self, workflow: Workflow, registry: Registry) -> Workflow:
        """Change the workflow before it is checked, for example by adding a node.

        Called for live edits too.

        Args:
            workflow: The workflow as read, with the changes of the spec.
            registry: The node types of the run; the workflow's nodes have been migrated to their
                versions.

        Returns:
            The workflow to check and play.
        """
        return workflow

    def before_open(self, run: Run) -> None:
        """Get ready: the workflow was checked, and no node is open."""

    def after_open(self, run: Run) -> None:
        """Begin: the nodes are open."""

    def before_episode(self, run: Run, index: int) -> None:
        """Observe the beginning of an episode: the nodes were reset."""

    def between_ticks(self, run: Run) -> Budget | None:
        """Observe or change the engine between two ticks.

        It may wait, but must then call `run.ticker.resume()` if the clock is a realtime one.

        Returns:
            How far the run may go until the next call, or None for DEFAULT_BUDGET.
            With `Budget(ticks=1)` it is called before every tick.
        """
        return None

    def on_progress(self, run: Run, progress: Progress) -> None:
        """Receive the progress of the run, at most ten times a second, and at an episode's end."""

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        """Receive the progress of a node within a tick.

        May be called on any thread, at most 20 times a second and at the end of the work.
        """

    def on_message(self, run: Run, text: str) -> None:
        """Receive a line for people, from a node or from the run itself.

        May be called on any thread.
        """

    def on_edit(self, run: Run, edit: Edit) -> None:
        """Receive a live edit that is ready to be applied between two ticks.

        Called on the thread that edits.
        """

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        """Receive an episode that is over, even if it failed."""

    def before_close(self, run: Run) -> None:
        """Release the engine: there are no more ticks, but the nodes are still open.

        `run.error` is the error, if any.
        """

    def after_close(self, run: Run) -> None:
        """Finish the results: the nodes are closed."""

    def on_summary(self, run: Run) -> None:
        """Receive the complete `run.summary`."""
