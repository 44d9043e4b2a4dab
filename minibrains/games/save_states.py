"""Save states that users make: the state of a game,
kept as a file from which an episode can start.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from minibrains.errors import GameError
from minibrains.files import write_atomic
from minibrains.games.catalog import STATE_SUFFIX, Game, own_games
from minibrains.games.splits import Splits

_NAME: Final = re.compile(r"\w(?:[\w. -]{0,98}\w)?")


@dataclass(frozen=True, slots=True)
class SaveState:
    """The state of a game between two ticks."""

    game: Game
    data: bytes
    """The emulator's own state."""
    start: str
    """The save state that the episode began from."""
    written: tuple[str, ...]
    """The variables that were set at its beginning."""

    def keep(self, name: str, replace: bool = False) -> Path:
        """Write the state to the user's folder of the game, and return the file, NAME.state.

        Args:
            name: The name of the new state.
            replace: Whether one of the user's own states of that name may be overwritten.

        Raises:
            GameError: The name cannot be used, the state must not be kept, or the file cannot be
                written.
        """
        self._check_name(name)
        self._check_start()
        file = own_games() / self.game.name / f"{name}{STATE_SUFFIX}"
        if file.exists() and not replace:
            raise GameError(
                f"{file} is there already; choose another name, or replace it with: "
                "save-state … --force"
            )
        try:
            write_atomic(file, gzip.compress(self.data, mtime=0))
        except OSError as error:
            raise GameError(
                f"{file}: the save state cannot be written: {error.strerror or error}"
            ) from None
        return file

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name) or name.endswith(STATE_SUFFIX):
            raise GameError(
                f"{name[:100]!r} cannot be the name of a save state; "
                "expected up to 100 letters, digits, blanks and . _ - between them, without .state"
            )
        own = own_games() / self.game.name
        if name in self.game.states() and self.game.state_file(name).parent != own:
            raise GameError(
                f"{name!r} is a save state that came with {self.game.name}; choose another name"
            )
        splits = Splits.of(self.game)
        if splits is not None and any(name in states for states in splits.parts.values()):
            raise GameError(
                f"{name!r} is a save state that {splits.path} names; choose another name"
            )

    def _check_start(self) -> None:
        """Raise GameError if the state derives from one that is held back:
        under a new name that would not be noticed.
        """
        splits = Splits.of(self.game)
        if splits is None:
            return
        if self.start in self.game.states() and splits.holds_back(self.game, self.start):
            raise GameError(
                f"the episode began from the state {self.start!r}, which {splits.path} holds back; "
                "one saved from it would be seen in training"
            )
        for variable in self.written:
            if variable in splits.decided_by:
                raise GameError(
                    f"the episode began with {variable!r} written, "
                    f"so it may have begun from a state that {splits.path} holds "
                    "back; one saved from it would be seen in training"
                )
