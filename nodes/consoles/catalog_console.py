"""CatalogConsole: the base class of consoles that play games of the catalog, whatever emulates
them. On each of them, the same seed gives the same starts, and the same pads give the same hashes.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

from minibrains import Console, Episode, Host
from minibrains.errors import GameError, suggest
from minibrains.games.catalog import Game, find_game, read_json
from minibrains.games.splits import Splits, refuse_held_back
from minibrains.host import EpisodeStart

FLUSH: Final = 1024
"""Number of ticks after which the log is hashed, to bound its memory."""
STATE: Final = (
    "_start", "_waited", "_written", "_held", "_score", "_episode", "_limit", "_frames", "_first",
    "_log", "_actions",
    "_trajectory",
)  # fmt: skip
"""The attributes that are the state of any such console, besides the game's own."""
_PADS: Final = np.dtype([("episode", "<u4"), ("tick", "<u4"), ("player", "<u4"), ("mask", "<u4")])


class CatalogConsole(Console, abstract=True):
    """A console whose episodes begin in save states of a game of the catalog."""

    def check_collectors(self, names: Sequence[str]) -> None:
        game = self._find()
        refuse_held_back(game, self._state_names(game), self.write, names)

    @property
    def frames(self) -> int:
        return self._frames

    # -- opening -----------------------------------------------------------------------------------

    def _find(self) -> Game:
        if isinstance(self.game, str):
            return find_game((self.game,))
        return find_game(self.game)

    def _state_names(self, game: Game) -> tuple[str, ...]:
        """Return the names of the save states that episodes start from; empty: from power-on."""
        default = game.default_state(self.players)
        if self.states:
            return self._selected_states(game)
        if default:
            return (default,)
        return ()

    def _selected_states(self, game: Game) -> tuple[str, ...]:
        """Return the names of the states in `states`, with SPLIT/PATTERN replaced by the states
        that it selects. Raises GameError.
        """
        names: list[str] = []
        for text in self.states:
            if "/" not in text:
                names.append(text)
                continue
            splits = Splits.of(game)
            if splits is None:
                raise GameError(
                    f"states: {text!r} names a split, but {game.data} has no splits.json; "
                    "expected names of save states"
                )
            names += splits.select(text)
        return tuple(dict.fromkeys(names))

    def _check_write(self) -> None:
        """Raise GameError if a value of `write` is neither a number nor "$seed"."""
        for name, value in self.write.items():
            if isinstance(value, str) and value != "$seed":
                raise GameError(f'write: {name!r} is {value!r}; expected a number or "$seed"')

    def _prepare(
        self, game: Game, hashes: Mapping[str, str], types: Mapping[str, str], host: Host
    ) -> None:
        """Prepare the starts of episodes and their results, and tell the host which game it is.

        Args:
            game: The game.
            hashes: The states that episodes start from, with the SHA-256 of their files.
            types: The game's variables, with their types in data.json.
            host: The node's host.

        Raises:
            GameError: `write` or the game's metadata name a variable that the game does not have,
                or a value of `write` does not fit.
        """
        self._game = game
        self._hashes = dict(hashes)
        self._widths = self._writable(types)
        self._victory = _read_victory(game, types)
        self._rom_sha1 = hashlib.sha1(game.rom.read_bytes()).hexdigest()
        self._host = host
        host.record(game=game.name, rom_sha1=self._rom_sha1)

    def _writable(self, types: Mapping[str, str]) -> dict[str, int]:
        """Return the width in bits of every variable that `write` names.

        Raises GameError if a value does not fit.
        """
        widths = {}
        for name, value in self.write.items():
            if name not in types:
                hint = suggest(name, types) or ""
                raise GameError(f"write: the game has no variable {name!r}. {hint}".rstrip(" "))
            kind = types[name]
            widths[name] = bits = 8 * int(kind[-1])
            minimum, maximum = 0, (1 << bits) - 1
            if kind[1] == "i":
                minimum, maximum = -(1 << bits - 1), (1 << bits - 1) - 1
            if not isinstance(value, str) and not minimum <= value <= maximum:
                raise GameError(
                    f"write: {name!r} is {kind}, a number from {minimum} to {maximum}; "
                    f"found {value}"
                )
        return widths

    # -- an episode --------------------------------------------------------------------------------

    def _choose_start(self, episode: Episode) -> None:
        """Choose the state, the waiting frames and the variables to write, and tell the host."""
        # the starts do not depend on the console's id, so that workflows can be compared game by
        # game
        episode = replace(episode, node="console")
        states = self._allowed(episode)
        number = episode.shuffled(len(states) * (self.noop_max + 1))
        self._start = states[number % len(states)]
        self._waited = number // len(states)
        seed = int(episode.rng().integers(2**32))
        self._written: dict[str, int] = {}
        for name, value in self.write.items():
            if isinstance(value, str):
                value = seed % (1 << self._widths[name])
            self._written[name] = value
        start = EpisodeStart(
            self._game.name,
            self._rom_sha1,
            self._start,
            self._hashes[self._start],
            self._waited,
            self._written,
        )
        self._host.begin(start)

    def _allowed(self, episode: Episode) -> list[str]:
        """Return the names of the states that an episode may begin from. Raises GameError."""
        if not episode.states:
            return list(self._hashes)
        allowed: list[str] = []
        for name in self._hashes:
            if any(fnmatchcase(name, pattern) for pattern in episode.states):
                allowed.append(name)
        if not allowed:
            raise GameError(
                f"no state of the console is one of {', '.join(episode.states)}; expected names or "
                f"patterns of its own: {', '.join(list(self._hashes)[:3])} …"
            )
        return allowed

    def _begin_log(self, episode: Episode, variables: Iterable[int]) -> None:
        """Begin to count and log the frames of an episode that starts with these variables."""
        self._limit = episode.limit
        self._score = 0.0
        self._episode, self._frames = episode.index, 0
        self._first = list(variables)
        self._log: list[float] = []
        self._actions = self._trajectory = bytes(32)

    @abstractmethod
    def _logged(self) -> np.ndarray:
        """Return the frames since the log was hashed last, f64 [frames, players + 1 + variables]:
        the players' pads as bits, the reward and all variables.
        """

    def _chain(self) -> tuple[bytes, bytes]:
        """Return the hashes, updated with everything since the last update.

        A chain of hashes can be saved in mid-game.
        """
        if not self._log:
            return self._actions, self._trajectory
        log = self._logged()
        records = np.empty((len(log), self.players), _PADS)
        records["episode"] = self._episode
        records["tick"] = np.arange(self._frames - len(log), self._frames)[:, None]
        records["player"] = np.arange(self.players)
        records["mask"] = log[:, : self.players]
        relative = log.copy()
        relative[:, self.players + 1 :] -= self._first
        actions = self._actions + records.tobytes()
        trajectory = self._trajectory + relative.tobytes()
        return hashlib.sha256(actions).digest(), hashlib.sha256(trajectory).digest()

    def _results(self, variables: Mapping[str, int], over: bool) -> dict[str, Any]:
        """Return start, score, victory or draw of the episode,
        and hashes of its pads and of its trajectory.

        The trajectory consists of rewards and all variables, each as its change since the start, so
        that a value set at the start, or a counter that began elsewhere, does not make games
        differ.

        Args:
            variables: The current variables.
            over: Whether the game is over by its own rules.
        """
        actions, trajectory = self._chain()
        start: dict[str, Any] = {"state": self._start, "noops": self._waited}
        if self._written:
            start["write"] = self._written
        won = drawn = None
        if self._victory:
            my_variable, their_variable = self._victory
            mine, theirs = variables[my_variable], variables[their_variable]
            won, drawn = over and mine > theirs, over and mine == theirs
        return {
            "score": self._score,
            "won": won,
            "drawn": drawn,
            "start": start,
            "actions_sha256": actions.hex(),
            "trajectory_sha256": trajectory.hex(),
        }


def unknown_button(name: str, buttons: Iterable[str]) -> GameError:
    """Return the error for a button that the pad does not have."""
    buttons = list(buttons)
    hint = suggest(name, buttons) or ""
    return GameError(
        (f"this console's pad has no button {name!r}; it has {', '.join(buttons)}. {hint}").rstrip(
            " "
        )
    )


def _read_victory(game: Game, variables: Iterable[str]) -> tuple[str, str] | None:
    """Return `"won": ["mine", "theirs"]` of metadata.json, if given:
    the episode is won if mine is greater at its end.
    """
    names = read_json(game.data / "metadata.json").get("won")
    if names is None:
        return None
    if isinstance(names, list) and len(names) == 2 and all(name in variables for name in names):
        return names[0], names[1]
    raise GameError(
        f'{game.data / "metadata.json"}: "won" is {names!r}; expected two of the game\'s variables'
    )
