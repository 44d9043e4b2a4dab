"""Matches of Duel without pictures, on the ROM or natively, each with a seed of its own."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import struct
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from games.source.duel import FOLDER, LEVELS, fighters
from games.source.duel.native.game import Game
from nodes.fighting.fighters import Scripted
from nodes.fighting.styles import STYLES

FRAMES_A_SECOND = 60
MOST_FRAMES = 60_000
CHECKED_EVERY = 8
"""Frames between two checks for the end of a match, unless RomBench plays several in one console
frame."""
MOST_PACE = 12
"""The most game frames in one frame of the console."""
QUEUED, QUEUE = 0xFF9046, 0xFF9048
"""Addresses of the word that switches the queue for pad 1 on, and of the queue, with a word per
game frame."""
BITS = {
    "UP": 1,
    "DOWN": 2,
    "LEFT": 4,
    "RIGHT": 8,
    "B": 16,
    "C": 32,
    "A": 64,
    "START": 128,
    "Z": 256,
    "Y": 512,
    "X": 1024,
}
"""The bits of a pad, in the queue and in the game's variables."""
TRACED = ("agent_x", "enemy_x", "agent_hp", "enemy_hp")
PAD_CPU, PAD_PAD, CPU_CPU = 0, 1, 2
CHARACTERS = STAGES = 4
MOVES = (
    "none", "X", "Y", "Z", "A", "B", "C", "down X", "down Y", "down Z", "down A", "down B",
    "down C", "air X", "air Y", "air Z", "air A", "air B", "air C", "throw", "projectile", "rising",
)  # fmt: skip
"""The names of the moves, by their numbers in the variables agent_move and enemy_move."""
VICTORIES = 2
"""Rounds that win a match. A match without a winner has ended once `reset_countdown` is not 0."""


@dataclass(frozen=True)
class Setting:
    """One match: the name of the policy on pad 1, the level of the opponent,
    and the other settings.
    """

    policy: str
    level: int
    seed: int
    agent: int = 0
    enemy: int = 1
    stage: int = 0
    agent_level: int = 0
    """The level of a computer opponent on pad 1; 0 if the policy plays."""
    side: int = 0
    """The side that the result is about: 0 for pad 1, 1 for the opponent."""


@dataclass
class Result:
    """The result of a match for one side."""

    won: bool
    drawn: bool
    frames: int
    rounds: int
    time_outs: int
    kinds: tuple[int, int]
    """The numbers of different moves that this side and the other one have landed."""
    trajectory: str
    """A hash of positions and health at each check for the end of the match."""
    seconds: float = 0.0
    """Processor time."""
    damage: Mapping[str, int] = field(default_factory=dict)
    """The damage that this side dealt, by name of the move; empty if the player of pad 1 does not
    look."""


class Account:
    """The counts for one side that must be made while a match is played."""

    def __init__(self, bench: Bench, side: int) -> None:
        self.bench = bench
        self.mine, self.theirs = ("agent", "enemy") if side == 0 else ("enemy", "agent")
        self.damage: Counter[str] = Counter()
        self._hp = 0
        self._move = 0
        self._shot = 0

    def count_damage(self, variables: Mapping[str, int]) -> None:
        """Count the damage dealt on this frame. Call it on every frame."""
        hp = variables[f"{self.theirs}_hp"]
        move = self.bench.get(f"{self.mine}_move")
        shot = self.bench.get(f"{self.mine}_projectile_x")
        if hp < self._hp:
            # a fighter that was hit on the same frame has no move any more
            by = "projectile" if self._shot and not shot else MOVES[move or self._move]
            self.damage[by] += self._hp - hp
        self._hp, self._move, self._shot = hp, move, shot


@functools.cache
def bits(pad: fighters.Pad) -> int:
    """Return a pad as bits, as in the game's variables."""
    return sum(BITS[button] for button in pad)


class Bench(ABC):
    """A game on which matches are played one after another."""

    @abstractmethod
    def begin(self, **settings: int) -> None:
        """Begin a match with these settings, which are variables of data.json."""

    @abstractmethod
    def step(self, pad: fighters.Pad) -> None:
        """Play a frame with these buttons of pad 1 held."""

    @abstractmethod
    def variables(self) -> Mapping[str, int]:
        """Return the variables that players see, which are those of data_sf2.json."""

    @abstractmethod
    def get(self, name: str) -> int:
        """Return a variable of data.json."""

    def advance(
        self, player: fighters.Player, account: Account, variables: Mapping[str, int]
    ) -> int:
        """Play some frames.

        Args:
            player: The player of pad 1.
            account: Counts the damage, if the player looks at the variables.
            variables: The current variables.

        Returns:
            The number of frames that were played.
        """
        sees = sees_what_it_does(player)
        for _ in range(CHECKED_EVERY):
            self.step(player.pad(variables))
            if sees:
                variables = self.variables()
                account.count_damage(variables)
        return CHECKED_EVERY

    def play(self, setting: Setting, player: fighters.Player) -> Result:
        """Play a match to its end, or for MOST_FRAMES frames, and return its result."""
        begin = time.process_time()
        self.begin(
            blank=1, mode=CPU_CPU if setting.agent_level else PAD_CPU, enemy_level=setting.level,
            agent_level=setting.agent_level or 1, seed=setting.seed, agent_character=setting.agent,
            enemy_character=setting.enemy, stage=setting.stage,
        )  # fmt: skip
        player.reset(setting.seed)
        trace = hashlib.sha256()
        frames = 0
        variables = self.variables()
        account = Account(self, setting.side)
        while frames < MOST_FRAMES:
            frames += self.advance(player, account, variables)
            variables = self.variables()
            traced = [variables[name] & 255 for name in TRACED]
            trace.update(bytes(traced))
            if (
                VICTORIES in (variables["agent_victories"], variables["enemy_victories"])
                or variables["reset_countdown"]
            ):
                break
        mine = variables[f"{account.mine}_victories"]
        theirs = variables[f"{account.theirs}_victories"]
        own_kinds = self.get(f"{account.mine}_landed").bit_count()
        other_kinds = self.get(f"{account.theirs}_landed").bit_count()
        return Result(
            won=mine > theirs,
            drawn=mine == theirs,
            frames=frames,
            rounds=self.get("round"),
            time_outs=self.get("time_outs"),
            kinds=(own_kinds, other_kinds),
            trajectory=trace.hexdigest(),
            seconds=time.process_time() - begin,
            damage=account.damage,
        )


def sees_what_it_does(player: fighters.Player) -> bool:
    """Return True if a player looks at the variables; others can be played faster."""
    return getattr(player, "sees", True)


class NativeBench(Bench):
    """The native game."""

    def __init__(self) -> None:
        self.game = Game()
        self.seen = list(json.loads((FOLDER / "data_sf2.json").read_text())["info"])

    def begin(self, **settings: int) -> None:
        self.game.begin(**settings)

    def step(self, pad: fighters.Pad) -> None:
        self.game.step(bits(pad))

    def variables(self) -> Mapping[str, int]:
        return {name: self.game.get(name) for name in self.seen}

    def get(self, name: str) -> int:
        return self.game.get(name)


class RomBench(Bench):
    """The ROM on the emulator. A process can have only one."""

    def __init__(self) -> None:
        import stable_retro

        self.data = stable_retro.data.GameData()
        self.emulator = stable_retro.RetroEmulator(str(FOLDER / "rom.md"))
        self.emulator.configure_data(self.data)
        self.emulator.step()
        # the players see only these variables, and fewer are faster to read
        self.data.load(str(FOLDER / "data_sf2.json"), str(FOLDER / "scenario.json"))
        self.overlay = json.loads((FOLDER / "data.json").read_text())["info"]
        buttons = stable_retro.get_system_info("Genesis")["buttons"]
        self.positions = {name: position for position, name in enumerate(buttons)}
        self.masks: dict[tuple[str, ...], np.ndarray] = {}
        self.coming: deque[int] = deque()
        for _ in range(30):
            self.emulator.step()
        self.title = self.emulator.get_state()

    def get(self, name: str) -> int:
        where = self.overlay[name]
        return int(self.data.memory.extract(where["address"], where["type"]))

    def set(self, name: str, value: int) -> None:
        """Write a variable of data.json."""
        where = self.overlay[name]
        self.data.memory.assign(where["address"], where["type"], value)

    def variables(self) -> Mapping[str, int]:
        variables: Mapping[str, int] = self.data.lookup_all()
        return variables

    def press(self, pad: tuple[str, ...], player: int = 0) -> None:
        """Hold these buttons, and no others, from the next frame on; `player` is 0 for pad 1,
        1 for pad 2.
        """
        mask = self.masks.get(pad)
        if mask is None:
            mask = np.zeros(len(self.positions), np.uint8)
            for name in pad:
                mask[self.positions[name]] = 1
            self.masks[pad] = mask
        self.emulator.set_button_mask(mask, player)

    def step(self, pad: fighters.Pad) -> None:
        self.press(pad)
        self.emulator.step()

    def begin(self, **settings: int) -> None:
        self.press((), 0)
        self.press((), 1)
        self.emulator.set_state(self.title)
        self.emulator.step()
        for name, value in settings.items():
            self.set(name, value)
        self.set("start", 1)
        self.emulator.step()
        self.coming.clear()

    def play_queued(self, pads: Iterable[int]) -> int:
        """Play one console frame with pads for MOST_PACE game frames;
        return how many of these it has played.
        """
        before = self.get("frame")
        words = struct.pack(">12H", *pads)
        for position, four in enumerate(struct.unpack(">3Q", words)):
            self.data.memory.assign(QUEUE + 8 * position, ">u8", four)
        self.emulator.step()
        return self.get("frame") - before

    def advance(
        self, player: fighters.Player, account: Account, variables: Mapping[str, int]
    ) -> int:
        """Play as any bench; for a player that does not look,
        play the game frames of one console frame.
        """
        if sees_what_it_does(player):
            return super().advance(player, account, variables)
        self.set("pace", MOST_PACE)
        self.data.memory.assign(QUEUED, ">u2", 1)
        while len(self.coming) < MOST_PACE:
            self.coming.append(bits(player.pad(variables)))
        played = self.play_queued(self.coming)
        for _ in range(played):
            self.coming.popleft()
        return played


def player_named(policy: str) -> fighters.Player:
    """Return the player of a policy.

    Args:
        policy: cpu (no player, because pad 1 has a computer opponent), noop, random44, rusher,
            heavy_rusher, a style, or patient[-RULE]@N[:LATE]: the scripted teacher without this
            rule, with a decision every N frames and a delay of LATE frames.

    Raises:
        KeyError: There is no such policy.
    """
    if policy in ("noop", "cpu"):
        return fighters.Nothing()
    if policy == "random44":
        return fighters.random44()
    if policy in fighters.RUSHERS:
        return fighters.RUSHERS[policy]
    if "@" in policy:
        name, _, timing = policy.partition("@")
        interval, _, late = timing.partition(":")
        without = name.removeprefix("patient").removeprefix("-")
        return fighters.Restricted(int(interval), int(late or 0), without)
    return Scripted(STYLES[policy])


def settings(policy: str, level: int) -> Iterator[Setting]:
    """Yield matches without end, over all match-ups and then stages in turn,
    each with its own seed.
    """
    for number in itertools.count():
        seed = _seed(f"{policy} {level} {number}")
        agent = number % CHARACTERS
        enemy = number // CHARACTERS % CHARACTERS
        stage = number // CHARACTERS**2 % STAGES
        yield Setting(policy, level, seed, agent, enemy, stage)


def computers(level: int, other: int) -> Iterator[Setting]:
    """Yield matches of a level against another; after every 16 matches the two change sides."""
    for number, setting in enumerate(settings(f"cpu{level}", other)):
        if number // CHARACTERS**2 % 2:
            yield replace(setting, policy="cpu", side=1, agent_level=other, level=level)
        else:
            yield replace(setting, policy="cpu", side=0, agent_level=level, level=other)


def mirrored() -> Iterator[Setting]:
    """Yield mirror matches of two computer opponents of the same level, over all levels in turn."""
    for number, setting in enumerate(settings("mirror", 0)):
        level = number // CHARACTERS % LEVELS + 1
        yield replace(setting, policy="cpu", level=level, agent_level=level, enemy=setting.agent)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@functools.cache
def native() -> NativeBench:
    """Return the native game of this process."""
    return NativeBench()


@functools.cache
def rom() -> RomBench:
    """Return the ROM of this process."""
    return RomBench()


def play_one(setting: Setting) -> Result:
    """Play a match natively."""
    return native().play(setting, player_named(setting.policy))


def goes_alike(setting: Setting, player: fighters.Player, here: Result) -> bool:
    """Play a match on the ROM, and compare the results.

    Args:
        setting: The match.
        player: The player of pad 1.
        here: The native result.

    Returns:
        True if the results are equal, apart from processor time and from the trajectory and the
        number of frames, which depend on when the end of the match is checked.
    """
    there = rom().play(setting, player)
    return replace(there, trajectory="", seconds=0, frames=0) == replace(
        here, trajectory="", seconds=0, frames=0
    )
