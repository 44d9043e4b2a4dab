"""Hooks: what looks at a run, or steers it, from outside of its graph."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from minibrains.errors import MinibrainsError, near

if TYPE_CHECKING:
    from minibrains.engine.live_edit import Edit
    from minibrains.graph.registry import Registry
    from minibrains.graph.workflow import Workflow
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run


class Budget(NamedTuple):
    """How far a run may go before its hooks are asked again."""

    ticks: int = sys.maxsize
    """At most so many."""
    seconds: float = 0.1
    """About so long, at most."""


NO_LIMIT: Final = Budget()


class Progress(NamedTuple):
    """How far a run is."""

    episode: int
    """Index of the episode; with several workers, how many are over."""
    tick: int
    """Ticks of the episode; with several workers, of all episodes that are being played."""
    ticks_per_s: float
    """Over the whole run."""
    score: float | None
    """Of the episode so far."""


_MOMENTS: Final = ("before_", "after_", "between_", "on_")


class Hook:
    """Something that a run calls at certain moments. Override the methods you need; the others do nothing.

    They are called on the thread that ticks, but for `on_message`, which may be called on any thread, and for
    `on_edit` and the `prepare` of an edit, which are called on the thread that edits. A hook that raises ends the
    run with that error. With several workers nothing ticks in this process: `after_open`, `before_episode`,
    `between_ticks` and `on_edit` are not called, and `run.engine` is not open.

    Example:
        class PrintScores(Hook):
            def after_episode(self, run, episode):
                print(episode.index, episode.score)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a method that looks like one of these and would never be called. Raises MinibrainsError."""
        super().__init_subclass__(**kwargs)
        for name in vars(cls):
            if name.startswith(_MOMENTS) and not hasattr(Hook, name):
                known = [method for method in vars(Hook) if not method.startswith("_")]
                hint = near(name, known) or f"Hooks have {', '.join(known)}"
                raise MinibrainsError(f"{cls.__name__}.{name} is not called by any run. {hint}")

    def prepare(self, workflow: Workflow, registry: Registry) -> Workflow:
        """Change the workflow before it is checked, also in a live edit: put in a node that films, say.

        registry:  the node types of the run; the workflow's nodes have their versions
        """
        return workflow

    def before_open(self, run: Run) -> None:
        """Get ready: the workflow was checked, and no node is open."""

    def after_open(self, run: Run) -> None:
        """Begin: the nodes are open."""

    def before_episode(self, run: Run, index: int) -> None:
        """See an episode begin: the nodes were reset."""

    def between_ticks(self, run: Run) -> Budget | None:
        """Look at the engine or change it, between two ticks, and return how far it may go until the next look.

        None: as far as others let it. `Budget(ticks=1)` asks for a look before every tick.

        It may wait; after that it has to call `resume` of a realtime clock.
        """
        return None

    def on_progress(self, run: Run, progress: Progress) -> None:
        """Hear how far the run is, ten times a second."""

    def on_message(self, run: Run, text: str) -> None:
        """Hear a line for people, from a node or from the run itself. May be called on any thread."""

    def on_edit(self, run: Run, edit: Edit) -> None:
        """Hear of a live edit that is ready to be applied between two ticks. Called on the thread that edits."""

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        """Take an episode that is over, also one that failed."""

    def before_close(self, run: Run) -> None:
        """Let go of the engine, which does no more ticks; the nodes are still open. `run.error` says what went wrong."""

    def after_close(self, run: Run) -> None:
        """Finish what belongs to the results: the nodes are closed."""

    def on_summary(self, run: Run) -> None:
        """Take `run.summary`, which is whole."""
