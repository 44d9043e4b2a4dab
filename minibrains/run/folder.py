"""The run folder: runs/<time>-<workflow>/ with the workflow, the episodes as they end, and the summary."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minibrains.errors import MinibrainsError, RunError
from minibrains.files import write_whole
from minibrains.graph.workflow import Workflow
from minibrains.hooks import Hook

if TYPE_CHECKING:
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run


class RunFolder(Hook):
    """One run's files. What was appended or written is on the disk, whatever happens next. Can be sent to another process."""

    def __init__(self, runs: Path, workflow: Workflow) -> None:
        """Make a new folder below `runs` and put the workflow into it. Raises MinibrainsError."""
        stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{workflow.name}"
        try:
            self.path = _new_folder(runs.absolute(), stem)
            workflow.save(self.path / "workflow.json")
            (self.path / "episodes.jsonl").touch()
        except OSError as error:
            raise MinibrainsError(f"the run folder {runs / stem} cannot be made: {error.strerror or error}") from None

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        """Add an episode to episodes.jsonl. Raises RunError if it cannot be written."""
        with self._writing("episodes.jsonl"), (self.path / "episodes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(episode.row) + "\n")

    def on_summary(self, run: Run) -> None:
        """Write summary.json, and error.txt if the run failed. Raises RunError."""
        if run.error is not None:
            self.keep_traceback(run.error)
        self.finish(run.summary)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json as a whole. Raises RunError."""
        with self._writing("summary.json"):
            write_whole(self.path / "summary.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")

    def keep_traceback(self, error: BaseException) -> None:
        """Write error.txt: for people the sentence is enough, who wrote the node wants file and line."""
        with suppress(OSError):
            write_whole(self.path / "error.txt", "".join(traceback.format_exception(error)))

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RunError(f"{self.path / name} cannot be written: {reason}") from error


def _new_folder(runs: Path, stem: str) -> Path:
    runs.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        path = runs / (f"{stem}-{number}" if number else stem)
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{stem} is taken a thousand times")
