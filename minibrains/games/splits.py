"""The splits of a game: which save states are for training, for validation, or held back.

They are read from its splits.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from minibrains.brain_file import hash_file
from minibrains.errors import GameError
from minibrains.games.catalog import Game, read_json

HELD_BACK: Final = "held_back"
"""The split on which nothing may be trained or collected."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The contents of a game's splits.json."""

    path: Path
    rom_sha1: str
    """SHA-1 of the ROM that the states belong to."""
    parts: Mapping[str, Mapping[str, str]]
    """Split -> its states -> the SHA-256 of their files."""
    decided_by: Sequence[str]
    """Variables that decide which split a state belongs to: if they are changed, it is another
    state."""

    @classmethod
    def of(cls, game: Game) -> Splits | None:
        """Read the splits of a game; None if it has none.

        Raises GameError if they cannot be read.
        """
        # all of its folders are searched, so that a user's own data for the game cannot release
        # states that are held back
        files = [folder / "splits.json" for folder in (game.data, *game.folders)]
        path = next(filter(os.path.isfile, files), None)
        if path is None:
            return None
        whole = read_json(path)
        parts = {name: value for name, value in whole.items() if isinstance(value, dict)}
        decided_by = whole.get("decided_by", [])
        if not isinstance(decided_by, list):
            raise GameError(f'{path}: "decided_by" is {decided_by!r}; expected a list of variables')
        return cls(path, str(whole.get("rom_sha1")), parts, decided_by)

    def holds_back(self, game: Game, state: str) -> bool:
        """Return whether a state of the game is held back, by its name or by its contents."""
        held_back = self.parts.get(HELD_BACK, {})
        return state in held_back or hash_file(game.state_file(state)) in held_back.values()


def refuse_held_back(
    game: Game, states: Iterable[str], written: Iterable[str], collectors: Sequence[str]
) -> None:
    """Refuse held-back states if there are nodes that collect or train.

    Args:
        game: The game that the states belong to.
        states: The states in which episodes start.
        written: Names of variables that are set at the start, which may turn one state into
            another.
        collectors: Names of the nodes that collect or train.

    Raises:
        GameError: One of the states is held back, or could be turned into one that is.
    """
    splits = Splits.of(game)
    if splits is None:
        return
    who = (
        f"{' and '.join(collectors)} "
        f"{'collects or trains' if len(collectors) == 1 else 'collect or train'}"
    )
    for state in states:
        if splits.holds_back(game, state):
            allowed = " or ".join(repr(name) for name in splits.parts if name != HELD_BACK)
            raise GameError(
                f"{who}, and the state {state!r} is held back by {splits.path}; "
                f"expected states of {allowed}"
            )
    for name in written:
        if name in splits.decided_by:
            raise GameError(
                f"{who}, and writing {name!r} makes another state of one in {splits.path}, "
                "perhaps one that is held back; "
                "choose a state instead"
            )
