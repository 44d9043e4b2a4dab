"""The run folder: runs/<time>-<workflow>/ with the workflow, the episodes as they end,
and the summary.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from minibrains.errors import MinibrainsError, RunError
from minibrains.files import LineFile, numbered_paths, timestamped, write_atomic, write_into
from minibrains.graph.workflow import Workflow
from minibrains.hooks import Hook

if TYPE_CHECKING:
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run


_ROOM_FILE: Final = ".summary.json"
"""The file that reserves disk space for summary.json and becomes it."""
_ROOM: Final = 1 << 16
_ROOM_OF_A_NODE: Final = 1 << 10
"""Bytes that are reserved for a summary without episodes, and for each node in it."""


class RunFolder(Hook):
    """The files of one run. Can be sent to another process.

    Appended lines survive the end of the process; the summary survives a power cut as well.
    """

    def __init__(self, runs: Path, workflow: Workflow) -> None:
        """Make a new folder below `runs`, write the workflow, and reserve space for the summary.

        Raises MinibrainsError.
        """
        stem = timestamped(workflow.name)
        try:
            self.path = _new_folder(runs.absolute(), stem)
            workflow.save(self.path / "workflow.json")
            (self.path / "episodes.jsonl").touch()
            self._take_room(_ROOM + _ROOM_OF_A_NODE * len(workflow.nodes))
        except OSError as error:
            raise MinibrainsError(
                f"the run folder {runs / stem} cannot be made: {error.strerror or error}"
            ) from None

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        """Append an episode to episodes.jsonl. Raises RunError if it cannot be written."""
        with self._writing("episodes.jsonl"):
            line = json.dumps(episode.row)
            with closing(LineFile(self.path / "episodes.jsonl")) as file:
                file.append(line)
            self._take_room(2 * len(line))  # it is indented in the summary

    def on_summary(self, run: Run) -> None:
        """Write summary.json, and error.txt if the run failed. Raises RunError."""
        if run.error is not None:
            self.keep_traceback(run.error)
        self.finish(run.summary)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json as a whole, into the reserved space. Raises RunError."""
        with self._writing("summary.json"):
            text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
            try:
                write_into(self.path / _ROOM_FILE, self.path / "summary.json", text)
            except OSError:
                # no space is reserved: an earlier summary used it, or the disk was full before
                write_atomic(self.path / "summary.json", text)

    def keep_traceback(self, error: BaseException) -> None:
        """Write error.txt with the traceback, for the authors of nodes."""
        with suppress(OSError):
            write_atomic(self.path / "error.txt", "".join(traceback.format_exception(error)))

    def _take_room(self, size: int) -> None:
        """Reserve `size` more bytes on the disk if possible,
        because it may be full when the run ends.
        """
        with suppress(OSError), (self.path / _ROOM_FILE).open("ab") as file:
            file.write(bytes(size))

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, TypeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RunError(f"{self.path / name} cannot be written: {reason}") from error


def _new_folder(runs: Path, stem: str) -> Path:
    runs.mkdir(parents=True, exist_ok=True)
    for path in numbered_paths(runs, stem):
        with suppress(FileExistsError):
            path.mkdir()
            break
    return path
