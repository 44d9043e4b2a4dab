"""A run within a run: a workflow that a node runs, by `Host.run`."""

from __future__ import annotations

from typing import Any

from minibrains.hooks import Hook, NodeProgress, Progress
from minibrains.host import Host
from minibrains.run.episode import EpisodeResult
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec


class ShownAt(Hook):
    """Shows the progress of a nested run at the node that started it, and stops it with that
    node's run."""

    def __init__(self, host: Host) -> None:
        """Show runs at the node of this host."""
        self._host = host

    def on_progress(self, run: Run, progress: Progress) -> None:
        run.stopping = run.stopping or self._host.stopping

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        run.stopping = run.stopping or self._host.stopping
        text = f"{run.workflow.name}: {progress.text}"
        self._host.progress(progress.done, progress.total, text)

    def on_message(self, run: Run, text: str) -> None:
        self._host.say(f"{run.workflow.name}: {text}")

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        if run.settings.episodes > 1:
            over = len(run.results.episodes)
            self._host.progress(over, run.settings.episodes, f"{run.workflow.name}: episodes")


def run_nested(spec: RunSpec, host: Host) -> dict[str, Any]:
    """Run a workflow for a node, and return its summary.

    Args:
        spec: The run.
        host: The host of the node.

    Raises:
        MinibrainsError: The workflow is wrong, or the run failed.
    """
    run = Run(spec, [ShownAt(host)])
    for _ in run:
        pass
    return run.summary
