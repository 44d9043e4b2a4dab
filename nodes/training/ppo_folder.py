"""The folder of a training with PPO: checkpoints, tables, and events for TensorBoard."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import time
from typing import Any, Final

from minibrains.files import LineFile, write_atomic
from nodes.rewards.breakdown import BREAKDOWN, append_row, breakdown_row
from nodes.training import curves
from nodes.training.checkpoint import RESUME
from nodes.training.ppo_evaluation import Evaluations
from nodes.training.ppo_metrics import Metrics

_ROLLOUT: Final = frozenset({"decisions", "ep_rew_mean", "won", "stage"})
"""The scalars that are about what was played, and not about the update."""


class TrainingFolder:
    """The folder of a training. Its methods raise OSError."""

    def __init__(self, path: Path) -> None:
        """Name the folder, which is made by `make`."""
        self.path = path
        self.resume = path / RESUME
        """The file that a training goes on from."""
        self._events = curves.Events(path / "events")
        self._monitor: LineFile | None = None

    def make(self) -> None:
        """Make the folder, if it does not exist."""
        self.path.mkdir(parents=True, exist_ok=True)

    def open_logs(self, episodes: int, decisions: int) -> None:
        """Open monitor.csv and the events, without what came after a checkpoint, because that is
        played again; so it is removed from reward_breakdown.csv.

        Args:
            episodes: The number of episodes that were over at the checkpoint.
            decisions: Its number of decisions.
        """
        self._episodes = episodes
        path = self.path / "monitor.csv"
        head: dict[str, Any] = {"t_start": time(), "env_id": "minibrains/Workflow-v0"}
        lines: list[str] = []
        if path.exists():
            first, _, *lines = path.read_text().splitlines(keepends=True)
            head = json.loads(first.removeprefix("#"))
        self._started: float = head["t_start"]
        kept = "".join(lines[:episodes])
        write_atomic(path, f"#{json.dumps(head)}\nr,l,t,won\n{kept}")
        self._monitor = LineFile(path)

        path = self.path / BREAKDOWN
        if path.exists():
            columns, *rows = path.read_text().splitlines(keepends=True)
            before = [row for row in rows if int(row.partition(",")[0]) < episodes]
            write_atomic(path, "".join([columns, *before]))
        self._events.begin(decisions)

    @property
    def seconds(self) -> float:
        """The seconds since the training began."""
        return time() - self._started

    def log_episodes(self, lines: Iterable[str], infos: Iterable[Mapping[str, Any]]) -> None:
        """Append the episodes that are over to monitor.csv, and to reward_breakdown.csv if the
        rewards have terms.

        Args:
            lines: A line of monitor.csv for each of them.
            infos: The infos of the games, in the same order, also of those that go on.
        """
        assert self._monitor is not None
        for line in lines:
            self._monitor.append(line)
        for info in infos:
            if "results" not in info:
                continue
            if "rewards" in info["results"]:
                row = breakdown_row(self._episodes, info["results"])
                append_row(self.path / BREAKDOWN, row)
            self._episodes += 1

    def log_scalars(self, values: Mapping[str, float], decisions: int) -> None:
        """Add scalars to the events, under the names that Stable-Baselines3 gives them."""
        for name, value in values.items():
            if name.startswith("evaluation_"):
                name = f"eval/{name.removeprefix('evaluation_')}"
            elif name in _ROLLOUT:
                name = f"rollout/{name}"
            else:
                name = f"train/{name}"
            self._events.add(name, value, decisions)

    def close_logs(self) -> None:
        """Close monitor.csv and the events."""
        self._events.close()
        if self._monitor is not None:
            self._monitor.close()
            self._monitor = None

    def write_tables(self, metrics: Metrics, evaluations: Evaluations) -> None:
        """Write the tables with a row for each update, and for each evaluation."""
        curves.write_csv(self.path / "updates.csv", metrics.curves)
        curves.write_csv(self.path / "behavior_metrics.csv", metrics.behavior_curves)
        if evaluations.curves:
            curves.write_csv(self.path / "evaluations.csv", evaluations.curves)

    def draw_curves(self, title: str, metrics: Metrics) -> None:
        """Draw training_curves.png. Raises MinibrainsError if matplotlib is missing."""
        curves.draw_rewards(self.path / "training_curves.png", title, metrics.curves)

    def make_checkpoint(self, update: int) -> Path:
        """Return the folder for the brains of an update."""
        folder = self.path / f"update-{update:06d}"
        folder.mkdir(exist_ok=True)
        return folder

    def remove_old_checkpoints(self, most: int) -> None:
        """Remove the brains of old checkpoints, so that `most` are left: of those before the latest
        half, first all but every tenth, then the oldest.
        """
        folders = sorted(self.path.glob("update-??????*"))
        old = folders[: max(0, len(folders) - most // 2)]
        milestones = {folder for number, folder in enumerate(old) if number % 10 == 0}
        by_worth = sorted(old, key=lambda folder: (folder in milestones, folder.name))
        for folder in by_worth[: max(0, len(folders) - most)]:
            shutil.rmtree(folder)
