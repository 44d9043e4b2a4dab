"""RetroEmulator: a console of stable-retro as one node,
with frames and variables out and pads in.
"""

from __future__ import annotations

import copy
import gzip
import struct
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from minibrains import ConsoleOutput, Episode, Host, Pad, widget
from minibrains.brain_file import hash_file
from minibrains.console import without_opposites
from minibrains.errors import GameError
from minibrains.files import is_plain_name
from minibrains.games.catalog import Game, read_json
from minibrains.games.save_states import SaveState
from nodes.consoles.catalog_console import FLUSH, STATE, CatalogConsole, unknown_button
from nodes.consoles.scenario import PlainScenario, Scenario, ScriptedScenario, needs_script

_output = partial(tuple.__new__, ConsoleOutput)
"""Make a ConsoleOutput from a tuple, which takes half as long as from fields: there is one on every
tick."""
_LARGEST_STATE: Final = 64 << 20
"""Size limit of an unpacked save state in bytes: the file may come from anybody."""


class RetroEmulator(
    CatalogConsole,
    version=3,
    renamed_outputs={1: {"done": "terminated"}},
    renamed_widgets={2: {"noops": "noop_max"}},
):
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
    overlay: str = widget(
        default="",
        rebuild=True,
        doc="a file of the game's with more variables than data.json, such as truth.json: "
        "for tests and teachers, not for an agent that is evaluated",
    )

    def check(self) -> None:
        game = self._find()
        if game.rom.stat().st_size == 0:
            raise GameError(f"the emulator cannot start {game.rom}: the file is empty")
        for state in self._state_names(game):
            # only check that it is one: there may be hundreds
            read_state(game.state_file(state), 1)
        self._check_write()

    def open(self, host: Host) -> None:
        import stable_retro

        game = self._find()
        if not isinstance(self.game, str):
            host.say(f"plays {game.name}")
        self.data = stable_retro.data.GameData()
        self.emulator = start_emulator(game)
        self.emulator.configure_data(self.data)
        self.emulator.step()
        load_data(self.data, game)
        if self.overlay:
            self._load_overlay(game)

        # its pad and its rules
        system = stable_retro.get_romfile_system(str(game.rom))
        buttons = stable_retro.get_system_info(system)["buttons"]
        self._bits = {name: 1 << bit for bit, name in enumerate(buttons) if name}
        self._masks: dict[tuple[str, ...], tuple[int, np.ndarray]] = {
            (): (0, np.zeros(len(buttons), np.uint8))
        }
        self.scenario = self._read_scenario(game)

        # the states that episodes start from; the first is loaded now, for the size of its screen
        names = self._state_names(game)
        hashes: dict[str, str] = {}
        self._starts: dict[str, bytes] = {}
        for name in names:
            file = game.state_file(name)
            hashes[name] = hash_file(file)
            self._starts[name] = read_state(file)
        if not self._starts:
            hashes = {"power-on": ""}
            self._starts = {"power-on": self.emulator.get_state()}
        self._start_from(next(iter(self._starts)))
        self.emulator.step()
        known = self.data.list_variables()
        types = {name: known[name]["type"] for name in self.data.lookup_all()}
        self._row_width = self.players + 1 + len(types)

        # reported to the host
        self._prepare(game, hashes, types, host)
        height, width, _ = self._screen().shape
        host.size(h=height, w=width)
        host.rate(self.emulator.get_screen_rate())

    def reset(self, episode: Episode) -> None:
        self._choose_start(episode)
        self._start_from(self._start)
        self._held: list[tuple[str, ...] | None] = [None, None]
        self._latched = [0] * self.players
        self._release()
        self.emulator.step()
        for name, value in self._written.items():
            self.data.set_value(name, value)
        for _ in range(self._waited):
            self.emulator.step()
        variables = self.data.lookup_all()
        self.scenario.restart(variables)
        self._begin_log(episode, variables.values())
        self._shown = ConsoleOutput(self._screen, variables, 0.0, False, self._limit == 1)

    def buttons(self) -> tuple[str, ...] | None:
        return self._find().buttons()

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
        if not frames % FLUSH:
            self._actions, self._trajectory = self._chain()
            log.clear()

    def report(self) -> Mapping[str, Any]:
        return self._results(self._shown.variables, self._shown.terminated)

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
        saved = {name: copy.deepcopy(getattr(self, name)) for name in STATE}
        shown = {**self._shown._asdict(), "frame": self._shown.frame()}
        return {**saved, "emulator": self.emulator.get_state(), "shown": shown}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if "terminated" not in state["shown"]:
            raise GameError(
                "the console's state was kept by an older version; "
                "expected one that this version kept"
            )
        for name in STATE:
            setattr(self, name, copy.deepcopy(state[name]))
        self.emulator.set_state(state["emulator"])
        for player in range(self.players):
            self._hold(player, self._held[player])
        # a core draws its screen only while it emulates a frame: until then the saved picture is
        # used
        shown = copy.deepcopy(state["shown"])
        self._shown = ConsoleOutput(**{**shown, "frame": lambda: shown["frame"]})
        self.scenario.restart(shown["variables"])

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

    def _load_overlay(self, game: Game) -> None:
        """Add the variables of the overlay. Raises GameError."""
        path = game.data / self.overlay
        if not is_plain_name(self.overlay) or not path.is_file():
            raise GameError(
                f"overlay: the game {game.name!r} has no file {self.overlay!r}; "
                "expected one beside its data.json"
            )
        info = read_json(path).get("info")
        if not isinstance(info, dict):
            raise GameError(f'{path}: expected an object "info", as in data.json')
        for name, place in info.items():
            try:
                self.data.set_variable(name, place)
            except (KeyError, RuntimeError, TypeError, ValueError) as error:
                raise GameError(f"{path}: the variable {name!r} cannot be read: {error}") from None

    def _start_from(self, name: str) -> None:
        if not self.emulator.set_state(self._starts[name]):
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
                raise unknown_button(name, self._bits)
            number |= self._bits[name]
        array = np.array([number >> bit & 1 for bit in range(len(self._masks[()][1]))], np.uint8)
        self._masks[pad] = number, array
        return number, array

    def _logged(self) -> np.ndarray:
        packed = struct.pack(f"<{len(self._log)}d", *self._log)
        return np.frombuffer(packed, "<f8").reshape(-1, self._row_width)


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
