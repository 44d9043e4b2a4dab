"""The splits of a game: which save states are for training, for validation, or held back.

They are read from its splits.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from minibrains.brain_file import hash_file
from minibrains.errors import GameError, suggest
from minibrains.files import is_plain_name
from minibrains.games.catalog import Game, folders, read_json

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
        return cls._first_in((game.data, *game.folders))

    @classmethod
    def named(cls, game: str) -> Splits | None:
        """Read the splits of the game of this name, which needs no ROM; None if there are none
        on this machine.

        Raises GameError if they cannot be read.
        """
        if not is_plain_name(game):
            return None
        places = [folder / game for folder in folders()]
        data = [place for place in places if os.path.isfile(place / "data.json")]
        return cls._first_in((*data[:1], *places))

    @classmethod
    def _first_in(cls, places: Iterable[Path]) -> Splits | None:
        files = [folder / "splits.json" for folder in places]
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
        return self.holds_back_file(state, hash_file(game.state_file(state)))

    def holds_back_file(self, state: str, sha256: str) -> bool:
        """Return whether a state is held back, by its name or by the SHA-256 of its file."""
        held_back = self.parts.get(HELD_BACK, {})
        return state in held_back or sha256 in held_back.values()

    def select(self, text: str) -> dict[str, str]:
        """Return the states that `SPLIT` or `SPLIT/PATTERN` selects, with the SHA-256 of their
        files.

        Args:
            text: A split, or one with a pattern for the names of its states, as for file names:
                `training/Level[2-7].*`.

        Raises:
            GameError: There is no such split, or none of its states matches.
        """
        split, _, pattern = text.partition("/")
        pattern = pattern or "*"
        if split not in self.parts:
            hint = suggest(split, self.parts) or ""
            raise GameError(
                (
                    f"{self.path.parent.name} has no split {split!r}; "
                    f"expected {', '.join(self.parts)}. {hint}"
                ).rstrip(" ")
            )
        chosen: dict[str, str] = {}
        for state, digest in self.parts[split].items():
            if fnmatchcase(state, pattern):
                chosen[state] = digest
        if not chosen:
            some = ", ".join(list(self.parts[split])[:3])
            raise GameError(
                f"no state of the split {split!r} matches {pattern!r}; it has {some}, …"
            )
        return chosen


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
    if splits is not None:
        starts = {state: hash_file(game.state_file(state)) for state in states}
        _refuse(splits, starts, written, collectors)


def refuse_held_back_start(
    game: str, state: str, sha256: str, written: Iterable[str], collectors: Sequence[str] = ()
) -> None:
    """Refuse the held-back start of an episode, known only by what was recorded of it.

    Args:
        game: The name of the game. If this machine has no splits of it, nothing is refused.
        state: The name of the state.
        sha256: The SHA-256 of its file; empty if the episode began without one.
        written: Names of variables that were set at the start.
        collectors: Names of the nodes that collect or train, if there are any.

    Raises:
        GameError: The state is held back, by its name or by its contents, or a variable was
            written that may have turned it into one that is.
    """
    splits = Splits.named(game)
    if splits is not None:
        _refuse(splits, {state: sha256}, written, collectors)


def _refuse(
    splits: Splits, starts: Mapping[str, str], written: Iterable[str], collectors: Sequence[str]
) -> None:
    """Raise GameError if a start is held back; `starts`: state -> SHA-256 of its file."""
    who = ""
    if collectors:
        verb = "collects or trains" if len(collectors) == 1 else "collect or train"
        who = f"{' and '.join(collectors)} {verb}, and "
    for state, sha256 in starts.items():
        if splits.holds_back_file(state, sha256):
            allowed = " or ".join(repr(name) for name in splits.parts if name != HELD_BACK)
            raise GameError(
                f"{who}the state {state!r} is held back by {splits.path}; "
                f"expected states of {allowed}"
            )
    for name in written:
        if name in splits.decided_by:
            raise GameError(
                f"{who}writing {name!r} makes another state of one in {splits.path}, "
                "perhaps one that is held back; "
                "choose a state instead"
            )
