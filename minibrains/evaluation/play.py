"""Play the missing episodes of an evaluation in worker processes, and store each as it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minibrains.errors import sentence
from minibrains.evaluation.player import Player
from minibrains.evaluation.rows import Rows
from minibrains.process.pool import Launcher, Pool, WorkerExited, WorkerLost
from minibrains.run.episode import lost_episode
from minibrains.run.parallel import EpisodeTask, LogLine, PlayedEpisode


class EpisodeRunner:
    """Plays the episodes of one player after another.

    Once `stopping` is set, no further episode begins.
    """

    def __init__(
        self,
        launch: Callable[[], Launcher],
        say: Callable[[str], None],
        ended: Callable[[dict[str, Any]], None],
    ) -> None:
        """Prepare to play; nothing is started yet.

        Args:
            launch: Returns the launcher of the workers.
            say: Called with lines for people.
            ended: Called with the row of each episode that is over.
        """
        self._launch, self._say, self._ended = launch, say, ended
        self._pool: Pool | None = None
        self._stopping = False

    @property
    def stopping(self) -> bool:
        """True once no further episode is to begin. May be set by a signal handler."""
        return self._stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._stopping = stopping
        if self._pool is not None:
            self._pool.stopping = stopping

    @property
    def writing_results(self) -> bool:
        """False: each row is written as its episode ends, and a torn one is played again."""
        return False

    def play(self, player: Player, missing: Sequence[int], rows: Rows, folder: Path) -> None:
        """Play episodes of a player. Returns early, without an error, once `stopping` is set.

        An episode that fails gets a row with its error, and the others are played. A workflow that
        cannot be opened at all raises its error.

        Args:
            player: The player.
            missing: The numbers of the episodes.
            rows: Gets the row of each episode as it ends.
            folder: The folder below which nodes write.
        """
        if not missing or self._stopping:
            return
        with Pool(self._launch(), EpisodeTask(player.spec, folder), self._on_note) as pool:
            self._pool = pool
            if self._stopping:  # set since the check above
                pool.stopping = True
            for position, played in pool.imap_unordered(missing):
                row = self._row(played)
                if row is not None:
                    rows.append(missing[position], row)
                    self._ended(row)
        self._pool = None
        for error in pool.close_errors:
            self._say(error)

    def _row(self, played: PlayedEpisode | BaseException) -> dict[str, Any] | None:
        """Return the row of an episode; None if it was stopped.

        Raises the error of a workflow that cannot be opened.
        """
        if isinstance(played, WorkerExited):
            return None if self._stopping else lost_episode(str(played))
        if isinstance(played, BaseException):
            raise played
        if played.row is None or played.row["ended"] == "stopped":
            return None
        if played.failure is None:
            return played.row
        return {**played.row, "error": sentence(played.failure.unpack())}

    def _on_note(self, worker: int, content: Any) -> None:
        if isinstance(content, LogLine):
            self._say(content.text)
        elif isinstance(content, WorkerLost):
            self._say(f"worker {worker} died ({content.reason}); its episode is restarted, once")
