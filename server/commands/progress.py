"""The progress of a run on the command line, printed to standard error: progress bars,
and lines of text.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from minibrains.hooks import Hook, NodeProgress, Progress
from minibrains.run.run import Run
from server.terminal import tell

if TYPE_CHECKING:
    from tqdm import tqdm


_LINE_AFTER: Final = 60.0
"""Seconds from one line about the progress to the next, where no bar can be shown."""


class PrintMessages(Hook):
    """Prints the messages of the run and its nodes."""

    def on_message(self, run: Run, text: str) -> None:
        tell(text)


def progress_hook() -> Hook:
    """Return what shows the progress: bars on a terminal, and a line a minute in a file or pipe."""
    if sys.stderr.isatty():
        return ProgressBar()
    return ProgressLines()


class ProgressLines(Hook):
    """Prints a line about the episode and each node that works for long, once a minute."""

    def before_open(self, run: Run) -> None:
        self._since = time.monotonic()
        self._told: dict[str, float] = {}
        """What a line is about -> when the last one was printed."""

    def on_progress(self, run: Run, progress: Progress) -> None:
        if self._is_due("episode"):
            episodes = run.settings.episodes
            tell(f"episode {progress.episode + 1} of {episodes}, {_speed_and_score(progress)}")

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        if self._is_due(f"node {progress.node}"):
            done = f"{progress.done:g}"
            if progress.total is not None:
                done += f" of {progress.total:g}"
            tell(f"{progress.node}: {done}, {progress.text}")

    def _is_due(self, about: str) -> bool:
        now = time.monotonic()
        if now - self._told.get(about, self._since) < _LINE_AFTER:
            return False
        self._told[about] = now
        return True


class ProgressBar(Hook):
    """Shows episode, ticks a second and score, and below them the progress of nodes that work for
    long.
    """

    def before_open(self, run: Run) -> None:
        from tqdm import tqdm

        self._episodes = run.settings.episodes
        self._ticks = run.settings.ticks or 0
        whole = self._episodes * self._ticks or None
        form = "{desc} {bar} {elapsed}{postfix}" if whole else "{desc} {elapsed}{postfix}"
        self._bar = tqdm(total=whole, bar_format=form, leave=False)
        self._nodes: dict[str, tqdm[Any]] = {}

    def on_progress(self, run: Run, progress: Progress) -> None:
        self._bar.set_description(f"episode {progress.episode + 1}/{self._episodes}", refresh=False)
        self._bar.set_postfix_str(_speed_and_score(progress), refresh=False)
        self._bar.n = progress.episode * self._ticks + progress.tick
        self._bar.refresh()

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        from tqdm import tqdm

        bar = self._nodes.get(progress.node)
        if bar is None:
            form = "{desc} {bar} {n_fmt}/{total_fmt}, {remaining} left{postfix}"
            bar = tqdm(desc=progress.node, bar_format=form, leave=False)
            self._nodes[progress.node] = bar
        bar.set_postfix_str(progress.text, refresh=False)
        if bar.total != progress.total:
            # other work has begun, or it has gone on where it was stopped: the time that is left is
            # reckoned from here
            bar.reset(progress.total)
            bar.initial = progress.done
        bar.n = progress.done
        bar.refresh()

    def before_close(self, run: Run) -> None:
        for bar in (*self._nodes.values(), self._bar):
            bar.close()


def _speed_and_score(progress: Progress) -> str:
    speed = f"{progress.ticks_per_s:.0f} ticks/s"
    if progress.score is None:
        return speed
    return f"{speed}, score {progress.score:g}"
