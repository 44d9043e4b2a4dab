"""The progress of a run on the command line, printed to standard error: a progress bar,
and lines of text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minibrains.hooks import Hook, NodeProgress, Progress
from minibrains.run.run import Run
from server.terminal import tell

if TYPE_CHECKING:
    from tqdm import tqdm


class PrintMessages(Hook):
    """Prints the messages of the run and its nodes."""

    def on_message(self, run: Run, text: str) -> None:
        tell(text)


class ProgressBar(Hook):
    """Shows episode, ticks a second and score, and below them the progress of nodes that work for
    long, if standard error is a terminal.
    """

    def before_open(self, run: Run) -> None:
        from tqdm import tqdm

        self._episodes = run.settings.episodes
        self._ticks = run.settings.ticks or 0
        whole = self._episodes * self._ticks or None
        form = "{desc} {bar} {elapsed}{postfix}" if whole else "{desc} {elapsed}{postfix}"
        self._bar = tqdm(total=whole, bar_format=form, disable=None, leave=False)
        self._nodes: dict[str, tqdm[Any]] = {}

    def on_progress(self, run: Run, progress: Progress) -> None:
        shown = f"{progress.ticks_per_s:.0f} ticks/s"
        if progress.score is not None:
            shown += f", score {progress.score:g}"
        self._bar.set_description(f"episode {progress.episode + 1}/{self._episodes}", refresh=False)
        self._bar.set_postfix_str(shown, refresh=False)
        self._bar.n = progress.episode * self._ticks + progress.tick
        self._bar.refresh()

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        from tqdm import tqdm

        bar = self._nodes.get(progress.node)
        if bar is None:
            form = "{desc} {bar} {n_fmt}/{total_fmt}, {remaining} left{postfix}"
            bar = tqdm(desc=progress.node, bar_format=form, disable=None, leave=False)
            self._nodes[progress.node] = bar
        bar.set_postfix_str(progress.text, refresh=False)
        bar.total, bar.n = progress.total, progress.done
        bar.refresh()

    def before_close(self, run: Run) -> None:
        for bar in (*self._nodes.values(), self._bar):
            bar.close()
