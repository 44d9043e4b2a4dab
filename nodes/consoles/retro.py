"""RetroEmulator: a console of stable-retro as one node,
with frames and variables out and pads in.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from minibrains import Console, ConsoleOutput, Episode, Host, Pad, widget
from minibrains.brain_file import hash_file
from minibrains.console import without_opposites
from minibrains.errors import GameError, suggest
from minibrains.games.catalog import Game, find_game, read_json
from minibrains.games.save_states import SaveState
from minibrains.games.splits import Splits, refuse_held_back
from minibrains.host import EpisodeStart
from nodes.consoles.scenario import PlainScenario, Scenario, ScriptedScenario, needs_script

_output = partial(tuple.__new__, ConsoleOutput)
"""Make a ConsoleOutput from a tuple, which takes half as long as from fields: there is one on every
tick."""
_FLUSH: Final = 1024
"""Number of ticks after which the log is hashed, to bound its memory. It is one list for all ticks,
which packs quickly."""
_SAVED: Final = (
    "_start", "_waited", "_written", "_held", "_score", "_episode", "_limit", "_frames", "_first",
    "_log", "_actions",
    "_trajectory",
)  # fmt: skip
_LARGEST_STATE: Final = 64 << 20
"""Size limit of an unpacked save state in bytes: the file may come from anybody."""
_PADS: Final = np.dtype([("episode", "<u4"), ("tick", "<u4"), ("player", "<u4"), ("mask", "<u4")])


class RetroEmulator(Console, version=2, renamed_outputs={1: {"done": "terminated"}}):
    """A game on an emulated console: shows its screen, takes the pads,
    and emulates one frame a tick.

    While the node is open, `emulator` and `data` are stable-retro's own objects, and `scenario`
    computes reward and end.
    """

    game: str | tuple[str, ...] = widget(
        default="Airstriker-Genesis-v0",
        rebuild=True,
        names="game",
        doc="one game, or several, of which the first with a ROM is played",
    )

    def check(self) -> None:
        game = self._find()
        if game.rom.stat().st_size == 0:
            raise GameError(f"the emulator cannot start {game.rom}: the file is empty")
        for state in self._state_names(game):
            # only check that it is one: there may be hundreds
            read_state(game.state_file(state), 1)
        for name, value in self.write.items():
            if isinstance(value, str) and value != "$seed":
                raise GameError(f'write: {name!r} is {value!r}; expected a number or "$seed"')

    def check_collectors(self, names: Sequence[str]) -> None:
        game = self._find()
        refuse_held_back(game, self._state_names(game), self.write, names)

    def open(self, host: Host) -> None:
        import stable_retro

        game = self._game = self._find()
        if not isinstance(self.game, str):
            host.say(f"plays {game.name}")
        self.data = stable_retro.data.GameData()
        self.emulator = start_emulator(game)
        self.emulator.configure_data(self.data)
        self.emulator.step()
        load_data(self.data, game)

        # its pad and its rules
        system = stable_retro.get_romfile_system(str(game.rom))
        buttons = stable_retro.get_system_info(system)["buttons"]
        self._bits = {name: 1 << bit for bit, name in enumerate(buttons) if name}
        self._masks: dict[tuple[str, ...], tuple[int, np.ndarray]] = {
            (): (0, np.zeros(len(buttons), np.uint8))
        }
        self.scenario = self._read_scenario(game)
        self._victory = self._read_victory(game)

        # the states that episodes start from; the first is loaded now, for the size of its screen
        names = self._state_names(game)
        self._hashes = {"power-on": ""}
        self._starts = []
        for name in names:
            file = game.state_file(name)
            self._hashes[name] = hash_file(file)
            self._starts.append((name, read_state(file)))
        if not self._starts:
            self._starts = [("power-on", self.emulator.get_state())]
        self._start_from(*self._starts[0])
        self.emulator.step()
        self._widths = self._writable()
        self._wide = self.players + 1 + len(self.data.lookup_all())

        # reported to the host
        height, width, _ = self._screen().shape
        host.size(h=height, w=width)
        host.rate(self.emulator.get_screen_rate())
        self._rom_sha1 = hashlib.sha1(game.rom.read_bytes()).hexdigest()
        host.record(game=game.name, rom_sha1=self._rom_sha1)
        self._host = host

    def reset(self, episode: Episode) -> None:
        # the starts do not depend on the console's id, so that workflows can be compared game by
        # game
        episode = replace(episode, node="console")
        number = episode.shuffled(len(self._starts) * (self.noops + 1))
        self._start, state = self._starts[number % len(self._starts)]
        self._waited = number // len(self._starts)
        self._start_from(self._start, state)
        self._held: list[tuple[str, ...] | None] = [None, None]
        self._latched = [0] * self.players
        self._release()
        self.emulator.step()
        seed = int(episode.rng().integers(2**32))
        self._written = {}
        for name, value in self.write.items():
            if isinstance(value, str):
                value = seed % (1 << self._widths[name])
            self._written[name] = value
            self.data.set_value(name, value)
        start = EpisodeStart(
            self._game.name,
            self._rom_sha1,
            self._start,
            self._hashes[self._start],
            self._waited,
            self._written,
        )
        self._host.begin(start)
        for _ in range(self._waited):
            self.emulator.step()
        variables = self.data.lookup_all()
        self.scenario.restart(variables)
        self._limit = episode.limit
        self._shown = ConsoleOutput(self._screen, variables, 0.0, False, self._limit == 1)
        self._score = 0.0
        self._episode, self._frames = episode.index, 0
        self._first = list(variables.values())
        self._log: list[float] = []
        self._actions = self._trajectory = bytes(32)

    def buttons(self) -> tuple[str, ...] | None:
        return self._find().buttons()

    @property
    def frames(self) -> int:
        return self._frames

    def save_state(self) -> SaveState:
        return SaveState(self._game, self.emulator.get_state(), self._start, tuple(self._written))

    def emit(self) -> ConsoleOutput:
        return self._shown

    def latch(self, pad1: Pad | None = None, pad2: Pad | None = None) -> None:
        held = self._held
        if pad1 is not held[0]:
            self._hold(0, pad1)
        if self.players == 2 and pad2 is not held[1]:
            self._hold(1, pad2)
        self.emulator.step()
        variables = self.data.lookup_all()
        reward, terminated = self.scenario.frame(variables)
        self._frames = frames = self._frames + 1
        truncated = frames + 1 == self._limit and not terminated
        self._shown = _output((self._screen, variables, reward, terminated, truncated))
        self._score += reward
        log = self._log
        log += self._latched
        log.append(reward)
        log += variables.values()
        if not frames % _FLUSH:
            self._actions, self._trajectory = self._chain()
            log.clear()

    def report(self) -> Mapping[str, Any]:
        """Return start, score, victory or draw of the episode,
        and hashes of its pads and of its trajectory.

        The trajectory consists of rewards and all variables, each as its change since the start, so
        that a value set at the start, or a counter that began elsewhere, does not make games
        differ.
        """
        actions, trajectory = self._chain()
        variables = self._shown.variables
        start: dict[str, Any] = {"state": self._start, "noops": self._waited}
        if self._written:
            start["write"] = self._written
        won = drawn = None
        if self._victory:
            over = self._shown.terminated
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

    def close(self) -> None:
        if hasattr(self, "emulator"):
            if hasattr(self, "_masks"):
                self._release()
            del self.emulator, self.data
            self.scenario = PlainScenario({})

    def state(self) -> dict[str, Any]:
        """Return the state of this node and the console's own save state:
        everything needed to continue from here.
        """
        saved = {name: copy.deepcopy(getattr(self, name)) for name in _SAVED}
        shown = {**self._shown._asdict(), "frame": self._shown.frame()}
        return {**saved, "emulator": self.emulator.get_state(), "shown": shown}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if "terminated" not in state["shown"]:
            raise GameError(
                "the console's state was kept by an older version; "
                "expected one that this version kept"
            )
        for name in _SAVED:
            setattr(self, name, copy.deepcopy(state[name]))
        self.emulator.set_state(state["emulator"])
        for player in range(self.players):
            self._hold(player, self._held[player])
        # a core draws its screen only while it emulates a frame: until then the saved picture is
        # used
        shown = copy.deepcopy(state["shown"])
        self._shown = ConsoleOutput(**{**shown, "frame": lambda: shown["frame"]})
        self.scenario.restart(shown["variables"])

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

    def _read_scenario(self, game: Game) -> Scenario:
        """Make the scenario, which judges each frame, and try it. Raises GameError."""
        path = game.data / "scenario.json"
        try:
            rules = read_json(path)
            if needs_script(rules):
                return ScriptedScenario(self.data)
            scenario = PlainScenario(rules)
            variables = self.data.lookup_all()
            scenario.restart(variables)
            scenario.frame(variables)
        except KeyError as error:
            raise GameError(
                f"{path}: the scenario needs the variable {error}, which data.json does not have"
            ) from None
        except (AttributeError, TypeError, ValueError) as error:
            raise GameError(f"{path}: the scenario cannot be read: {error}") from None
        return scenario

    def _start_from(self, name: str, state: bytes) -> None:
        if not self.emulator.set_state(state):
            raise GameError(f"{name!r} is not a save state of this game's console")

    def _screen(self) -> np.ndarray:
        return read_screen(self.emulator, self.data)

    def _hold(self, player: int, pad: tuple[str, ...] | None) -> None:
        self._held[player] = pad
        self._latched[player], array = self._mask(pad or ())
        self.emulator.set_button_mask(array, player)

    def _release(self) -> None:
        for player in range(self.players):
            self.emulator.set_button_mask(self._masks[()][1], player)

    def _mask(self, pad: tuple[str, ...]) -> tuple[int, np.ndarray]:
        known = self._masks.get(pad)
        if known is not None:
            return known
        number = 0
        for name in without_opposites(pad):
            if name not in self._bits:
                hint = suggest(name, self._bits) or ""
                raise GameError(
                    (
                        f"this console's pad has no button {name!r}; "
                        f"it has {', '.join(self._bits)}. {hint}"
                    ).rstrip(" ")
                )
            number |= self._bits[name]
        array = np.array([number >> bit & 1 for bit in range(len(self._masks[()][1]))], np.uint8)
        self._masks[pad] = number, array
        return number, array

    def _read_victory(self, game: Game) -> tuple[str, str] | None:
        """Return `"won": ["mine", "theirs"]` of metadata.json, if given:
        the episode is won if mine is greater at its end.
        """
        names = read_json(game.data / "metadata.json").get("won")
        if names is None:
            return None
        variables = self.data.lookup_all()
        if isinstance(names, list) and len(names) == 2 and all(name in variables for name in names):
            return names[0], names[1]
        raise GameError(
            f'{game.data / "metadata.json"}: "won" is {names!r}; '
            "expected two of the game's variables"
        )

    def _writable(self) -> dict[str, int]:
        """Return the width in bits of every variable that `write` names.

        Raises GameError if a value does not fit.
        """
        known = self.data.list_variables()
        widths = {}
        for name, value in self.write.items():
            if name not in known:
                hint = suggest(name, known) or ""
                raise GameError(f"write: the game has no variable {name!r}. {hint}".rstrip(" "))
            kind = known[name]["type"]
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

    def _chain(self) -> tuple[bytes, bytes]:
        """Return the hashes, updated with everything since the last update.

        A chain of hashes can be saved in mid-game.
        """
        if not self._log:
            return self._actions, self._trajectory
        packed = struct.pack(f"<{len(self._log)}d", *self._log)
        log = np.frombuffer(packed, "<f8").reshape(-1, self._wide)
        records = np.empty((len(log), self.players), _PADS)
        records["episode"] = self._episode
        records["tick"] = np.arange(self._frames - len(log), self._frames)[:, None]
        records["player"] = np.arange(self.players)
        records["mask"] = log[:, : self.players]
        came = log.copy()
        came[:, self.players + 1 :] -= self._first
        actions, trajectory = self._actions + records.tobytes(), self._trajectory + came.tobytes()
        return hashlib.sha256(actions).digest(), hashlib.sha256(trajectory).digest()


def load_data(data: Any, game: Game) -> None:
    """Let stable-retro read the game's data.json and scenario. Raises GameError."""
    files = (game.data / "data.json", game.data / "scenario.json")
    for file in files:
        read_json(file)  # JSON that is nested too deeply would crash the process in there
    try:
        loaded = data.load(*map(str, files))
    except RuntimeError as error:
        raise GameError(
            f"{game.data}: data.json or scenario.json cannot be read: {error}"
        ) from None
    if not loaded:
        raise GameError(f"{game.data}: data.json or scenario.json cannot be read")


def read_screen(emulator: Any, data: Any) -> np.ndarray:
    """Return the screen of stable-retro's emulator, cropped and turned as the game's data says."""
    screen: np.ndarray = emulator.get_screen()
    x, y, width, height = data.crop_info(0)
    if x or y or width or height:
        bottom = y + height if height else None
        right = x + width if width else None
        screen = screen[y:bottom, x:right]
    turns = int(emulator.get_rotation()) % 4
    if turns:
        screen = np.ascontiguousarray(np.rot90(screen, turns))
    screen.flags.writeable = False
    return screen


def start_emulator(game: Game) -> Any:
    """Return stable-retro's emulator with the game's ROM. Raises GameError."""
    import stable_retro

    try:
        return stable_retro.RetroEmulator(str(game.rom))
    except RuntimeError as error:
        if "multiple emulator" in str(error):
            reason = (
                "a process can have one emulator, and it is running; close the run that has it, "
                "or play this one with "
                "workers; to change the game of a console that plays, stop its run first"
            )
            raise GameError(reason) from None
        raise GameError(f"the emulator cannot start {game.rom}: {error}") from None


def read_state(path: Path, maximum: int = _LARGEST_STATE + 1) -> bytes:
    """Unpack up to `maximum` bytes of a save state.

    Raises GameError if it cannot be read, or is too large.
    """
    try:
        with gzip.open(path) as file:
            data = file.read(maximum)
    except (OSError, EOFError, zlib.error) as error:
        raise GameError(f"{path}: the save state cannot be read: {error}") from None
    if len(data) > _LARGEST_STATE:
        raise GameError(
            f"{path}: the save state cannot be read: it is larger than {_LARGEST_STATE >> 20} MiB"
        )
    return data
