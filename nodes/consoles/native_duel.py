"""NativeDuel: our fighting game Duel, compiled for this computer, as a console without pictures."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import re
import struct
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, Final, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Episode,
    Flag,
    Host,
    Lazy,
    Number,
    Pad,
    Socket,
    Variables,
    widget,
)
from minibrains.brain_file import hash_file
from minibrains.console import without_opposites
from minibrains.errors import GameError
from minibrains.files import bundled_dir
from minibrains.games.catalog import Game, read_json
from minibrains.games.splits import Splits
from nodes.consoles.catalog_console import FLUSH, STATE, CatalogConsole, unknown_button
from nodes.consoles.scenario import PlainScenario

GAME: Final = "Duel-Genesis"
PAD_BITS: Final = {
    "B": 16, "A": 64, "MODE": 2048, "START": 128, "UP": 1, "DOWN": 2, "LEFT": 4, "RIGHT": 8,
    "C": 32, "Y": 512, "X": 1024, "Z": 256,
}  # fmt: skip
"""The buttons of a pad and their bits in the game's variables, in the order in which stable-retro
has them."""
VARIABLES: Final = (
    "enemy_x", "frame", "time_outs", "enemy_victories", "enemy_level", "demo", "enemy_hp",
    "enemy_move_frame", "blank", "enemy_pad", "enemy_actionable", "agent_y", "enemy_status",
    "agent_actionable", "agent_projectile_x", "agent_move", "agent_hp", "agent_x",
    "reset_countdown", "enemy_y", "magic", "mode", "agent_move_frame", "phase", "agent_status",
    "round", "score", "seed", "stage", "enemy_move", "pace", "enemy_projectile_x",
    "round_countdown", "agent_pad", "agent_victories", "agent_level", "agent_stun", "hit_stop",
    "enemy_stun", "agent_landed", "enemy_character", "enemy_landed", "agent_character", "start",
)  # fmt: skip
"""The game's variables, in the order of stable-retro, which is that of a hash table: the hash of a
trajectory depends on it."""
DECIMAL: Final = "score"
"""The variable that is stored as eight decimal digits of four bits each (BCD)."""
FRAME_RATE: Final = 59.92274340431231
"""Frames a second of a Genesis, as Genesis Plus GX has it."""
TITLE_FRAMES: Final = 25
"""Frames at the title before a match of the save states begins, which show only in `frame`."""
BEGIN_FRAMES: Final = 2
"""Frames in which make_states begins a match, before the introduction."""
PAD_AND_COMPUTER, TWO_PADS = 0, 1
"""Values of the variable `mode`."""
_STATE: Final = re.compile(r"(?:Level(?P<level>\d+)|TwoPads)\.(?P<match_up>[A-Za-z]+Vs[A-Za-z]+)")

NoPicture = Annotated[None, Socket("no picture (a RetroEmulator has one)")]
"""The output of a console that draws nothing. No node takes it, so `check` refuses a link,
and shows this name."""


class NativeOutput(NamedTuple):
    """The outputs at the start of a tick."""

    frame: NoPicture | Absent
    variables: Lazy[Variables]
    reward: Number
    terminated: Flag
    truncated: Flag


_output = partial(tuple.__new__, NativeOutput)
"""Make a NativeOutput from a tuple, which takes half as long as from fields."""


class NativeDuel(CatalogConsole, version=2, renamed_widgets={1: {"noops": "noop_max"}}):
    """Duel, compiled for this computer: the game of the ROM frame by frame, in microseconds, and
    without pictures.

    It is for training. A workflow that was trained with it plays on the ROM once its console is a
    `RetroEmulator` with the same widgets: the same seed gives the same starts, and the same pads
    the same variables, rewards and hashes. Published results are measured on the ROM.

    frame:      nothing, because nothing is drawn. An agent that sees needs a RetroEmulator
    variables:  the game's variables by name; read only on ticks on which something reads this
                output

    Episodes begin in the game's save states for one pad or two, which are reached by playing their
    introductions. A state from the middle of a match, or a person's own, is refused, and no state
    can be saved. A process may have several of these consoles.

    It is compiled with gcc from the sources of Duel, so it needs a checkout of Minibrains.
    """

    game: str | tuple[str, ...] = widget(
        default=GAME, rebuild=True, doc=f"{GAME}, the only game that this console plays"
    )

    def check(self) -> None:
        game = self._find()
        _check_game(game)
        splits = _splits(game)
        for state in self._state_names(game):
            _split(splits, game, state)
        if "pace" in self.write:
            raise GameError(
                "write: 'pace' has no effect in NativeDuel, where a tick is always one frame of "
                "the game; leave it out, or play with a RetroEmulator"
            )
        self._check_write()

    def open(self, host: Host) -> None:
        game = self._find()
        library = _load_library()
        info = read_json(game.data / "data.json")["info"]
        types = {name: info[name]["type"] for name in VARIABLES}

        # the image of a game, and its variables within it
        self._bytes = np.zeros(library.duel_image_bytes(), np.uint8)
        self._image = self._bytes.ctypes.data_as(ctypes.c_void_p)
        self._play = library.duel_frames
        begin = library.duel_image_ram()
        layout = _layout(info)
        self._ram = self._bytes[begin : begin + layout.itemsize].view(layout)
        self._where = begin + _places(info)
        self._row = np.dtype([(name, layout[name]) for name in VARIABLES])
        self._unpack = struct.Struct(f">{''.join(map(_code, types.values()))}").unpack

        # its rules: reward and end depend on few variables, which take few different values
        scenario = PlainScenario(read_json(game.data / "scenario.json"))
        self._judged = self._ram[scenario.names]
        self._judge = lru_cache(maxsize=1 << 16)(partial(_judge, scenario))

        # the states that episodes start from
        splits = _splits(game)
        hashes: dict[str, str] = {}
        self._starts: dict[str, np.ndarray] = {}
        for name in self._state_names(game):
            hashes[name] = hash_file(game.state_file(name))
            library.duel_power_on(self._image)
            self._play_introduction(_settings(name, _split(splits, game, name)))
            self._starts[name] = self._bytes.copy()

        # reported to the host
        self._prepare(game, hashes, types, host)
        host.rate(FRAME_RATE)

    def buttons(self) -> tuple[str, ...]:
        return tuple(PAD_BITS)

    def reset(self, episode: Episode) -> None:
        self._choose_start(episode)
        self._bytes[:] = self._starts[self._start]
        self._held: list[Pad | None] = [None, None]
        self._latched = [0] * self.players
        self._bits = [0, 0]
        for name, value in self._written.items():
            self._write(name, value)
        self._play(self._image, 0, 0, self._waited)
        self._before = self._judged.item()
        self._begin_log(episode, self._variables().values())
        self._rows = np.empty((FLUSH, len(self._where)), np.uint8)
        self._shown = NativeOutput(ABSENT, self._variables, 0.0, False, self._limit == 1)

    def emit(self) -> NativeOutput:  # type: ignore[override]  # its own frame and lazy variables
        return self._shown

    def latch(self, pad1: Pad | None = None, pad2: Pad | None = None) -> None:
        held = self._held
        if pad1 is not held[0]:
            self._hold(0, pad1)
        if self.players == 2 and pad2 is not held[1]:
            self._hold(1, pad2)
        self._play(self._image, *self._bits, 1)
        after = self._judged.item()
        reward, terminated = self._judge(self._before, after)
        self._before = after
        frame = self._frames % FLUSH
        self._frames = frames = self._frames + 1
        truncated = frames + 1 == self._limit and not terminated
        self._shown = _output((ABSENT, self._variables, reward, terminated, truncated))
        self._score += reward
        self._bytes.take(self._where, out=self._rows[frame], mode="clip")
        log = self._log
        log += self._latched
        log.append(reward)
        if frame == FLUSH - 1:
            self._actions, self._trajectory = self._chain()
            log.clear()

    def report(self) -> Mapping[str, Any]:
        return self._results(self._variables(), self._shown.terminated)

    def state(self) -> dict[str, Any]:
        """Return the state of this node and the image of the game:
        everything needed to continue from here.
        """
        saved = {name: copy.deepcopy(getattr(self, name)) for name in STATE}
        logged = len(self._log) // (self.players + 1)
        _, _, *shown = self._shown
        return {
            **saved,
            "image": self._bytes.tobytes(),
            "rows": self._rows[:logged].copy(),
            "shown": shown,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        image = np.frombuffer(state["image"], np.uint8)
        if len(image) != len(self._bytes):
            raise GameError(
                f"the console's state has {len(image)} bytes, and this build of Duel "
                f"{len(self._bytes)}: it was kept by another build; expected one of this build"
            )
        for name in STATE:
            setattr(self, name, copy.deepcopy(state[name]))
        self._bytes[:] = image
        for player in range(self.players):
            self._hold(player, self._held[player])
        self._before = self._judged.item()
        self._rows = np.empty((FLUSH, len(self._where)), np.uint8)
        self._rows[: len(state["rows"])] = state["rows"]
        self._shown = NativeOutput(ABSENT, self._variables, *state["shown"])

    def _play_introduction(self, settings: Mapping[str, int]) -> None:
        """Play a game that was just powered on to the moment of a save state, as make_states does,
        and one frame more, in which an emulator loads the state.
        """
        from games.source.duel.starts import INTRO_FRAMES, INTRO_LEFT

        self._play(self._image, 0, 0, TITLE_FRAMES)
        for name, value in settings.items():
            self._write(name, value)
        self._play(self._image, 0, 0, BEGIN_FRAMES + INTRO_FRAMES - INTRO_LEFT)
        self._play(self._image, 0, 0, 1)

    def _variables(self) -> dict[str, int]:
        values = self._unpack(self._bytes.take(self._where))
        variables = dict(zip(VARIABLES, values, strict=True))
        variables[DECIMAL] = int(f"{variables[DECIMAL]:x}")
        return variables

    def _write(self, name: str, value: int) -> None:
        if name == DECIMAL:
            value = int(str(value)[-8:], 16)
        self._ram[name] = value

    def _hold(self, player: int, pad: Pad | None) -> None:
        self._held[player] = pad
        self._latched[player], self._bits[player] = _masks(pad or ())

    def _logged(self) -> np.ndarray:
        held = np.array(self._log).reshape(-1, self.players + 1)
        rows = self._rows[: len(held)].view(self._row)[:, 0]
        variables = np.empty((len(held), len(VARIABLES)))
        for column, name in enumerate(VARIABLES):
            variables[:, column] = rows[name]
        variables[:, VARIABLES.index(DECIMAL)] = _from_decimal(rows[DECIMAL])
        return np.hstack([held, variables])


def _check_game(game: Game) -> None:
    """Raise GameError if it is not the game that is compiled here."""
    if game.name != GAME:
        raise GameError(
            f"NativeDuel plays only {GAME}, not {game.name}; play other games with a RetroEmulator"
        )
    if game.data != bundled_dir("games") / GAME:
        raise GameError(
            f"NativeDuel plays with the data that {GAME} came with, but {game.data} takes its "
            "place; remove data.json there, or play with a RetroEmulator"
        )
    sha1 = hashlib.sha1(game.rom.read_bytes()).hexdigest()
    compiled = _splits(game).rom_sha1
    if sha1 != compiled:
        raise GameError(
            f"NativeDuel is compiled from the sources of the ROM {compiled[:8]}, "
            f"but {game.rom} is {sha1[:8]}; play that one with a RetroEmulator"
        )


def _splits(game: Game) -> Splits:
    splits = Splits.of(game)
    assert splits is not None, "it is in the folder of the game's own data"
    return splits


def _split(splits: Splits, game: Game, state: str) -> str:
    """Return the split of a state. Raises GameError if it cannot be reached without an emulator."""
    if _STATE.fullmatch(state):
        sha256 = hash_file(game.state_file(state))
        for split, digests in splits.parts.items():
            if digests.get(state) == sha256:
                return split
    raise GameError(
        f"states: only an emulator can load {state!r}; expected states called Level… or TwoPads… "
        f"that came with {GAME}, such as training/Level4.*; or play with a RetroEmulator"
    )


def _settings(state: str, split: str) -> dict[str, int]:
    """Return the variables with which the match of a save state begins."""
    from games.source.duel.splits import FIGHTERS, PARTS
    from games.source.duel.starts import FIRST_SEED, TWO_PADS_LEVEL

    named = _STATE.fullmatch(state)
    assert named is not None
    agent, enemy = map(FIGHTERS.index, named["match_up"].split("Vs"))
    mode, level = TWO_PADS, TWO_PADS_LEVEL
    if named["level"]:
        mode, level = PAD_AND_COMPUTER, int(named["level"])
    return {
        "mode": mode,
        "agent_level": level,
        "enemy_level": level,
        "agent_character": agent,
        "enemy_character": enemy,
        "stage": PARTS[split].stage(agent, level),
        "seed": FIRST_SEED,
        "start": 1,
    }


def _load_library() -> ctypes.PyDLL:
    """Return the compiled game. Raises GameError if it cannot be compiled here."""
    try:
        from games.source.duel.native.compiled import library
    except ModuleNotFoundError as error:
        raise GameError(
            f"NativeDuel needs the sources of Duel, which an installed Minibrains does not have "
            f"({error}); run it in a checkout of Minibrains, or play with a RetroEmulator"
        ) from None
    return library()


def _layout(info: Mapping[str, Mapping[str, Any]]) -> np.dtype[Any]:
    """Return the variables with their places in work RAM, from the "info" of data.json."""
    formats = [info[name]["type"].replace("d", "u") for name in VARIABLES]
    offsets = [_offset(info[name]) for name in VARIABLES]
    return np.dtype({"names": list(VARIABLES), "formats": formats, "offsets": offsets})


def _places(info: Mapping[str, Mapping[str, Any]]) -> np.ndarray:
    """Return the places of all bytes of the variables in work RAM, one variable after another."""
    places: list[int] = []
    for name in VARIABLES:
        offset = _offset(info[name])
        places += range(offset, offset + int(info[name]["type"][-1]))
    return np.array(places, np.intp)


def _offset(entry: Mapping[str, Any]) -> int:
    from games.source.duel.native.game import RAM_ADDRESS

    offset: int = entry["address"] - RAM_ADDRESS
    return offset


def _code(kind: str) -> str:
    """Return the `struct` code of a type of data.json."""
    from games.source.duel.native.game import FORMATS

    return FORMATS[kind].removeprefix(">")


def _judge(
    scenario: PlainScenario, before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[float, bool]:
    """Return the reward of a frame, and whether the game is over, from the values of the
    scenario's variables before it and after it.
    """
    scenario.restart(dict(zip(scenario.names, before, strict=True)))
    return scenario.frame(dict(zip(scenario.names, after, strict=True)))


@lru_cache(maxsize=4096)
def _masks(pad: Pad) -> tuple[int, int]:
    """Return a pad as the bits that are hashed, and as those of the game."""
    buttons = list(PAD_BITS)
    hashed = bits = 0
    for name in without_opposites(pad):
        if name not in PAD_BITS:
            raise unknown_button(name, buttons)
        hashed |= 1 << buttons.index(name)
        bits |= PAD_BITS[name]
    return hashed, bits


def _from_decimal(packed: np.ndarray) -> np.ndarray:
    """Return numbers of eight decimal digits, which are stored as four bits each."""
    number = np.zeros(packed.shape)
    for digit in range(8):
        number += (packed >> 4 * digit & 15) * 10.0**digit
    return number
