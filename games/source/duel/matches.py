"""Matches of Duel without pictures: its ROM on stable-retro's emulator, a seed of its own for each match."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from games.source.duel import FOLDER, LEVELS, fighters
from nodes.fighting.fighters import RULES, Scripted

FRAMES_A_SECOND = 60
MOST_FRAMES = 60_000
CHECKED_EVERY = 8
"""Frames after which the end of the match is looked for; of a player that does not look, the console's."""
MOST_PACE = 12
"""Frames of the rules that the console plays in one of its own, if it can."""
QUEUED, QUEUE = 0xFF9046, 0xFF9048
"""Where the host says that pad 1 comes from the queue, and the queue: words, a pad for each of those frames."""
BITS = {"UP": 1, "DOWN": 2, "LEFT": 4, "RIGHT": 8, "B": 16, "C": 32, "A": 64, "START": 128, "Z": 256, "Y": 512, "X": 1024}
"""Of a pad, there as in the game's variables."""
TRACED = ("agent_x", "enemy_x", "agent_hp", "enemy_hp")
PAD_CPU, PAD_PAD, CPU_CPU = 0, 1, 2
CHARACTERS = STAGES = 4
VICTORIES = 2
"""With so many a match is decided; one without any winner is seen by the countdown to the next."""


@dataclass(frozen=True)
class Setting:
    """One match: who holds pad 1 (a policy's name), against which level, and the rest of it."""

    policy: str
    level: int
    seed: int
    agent: int = 0
    enemy: int = 1
    stage: int = 0
    agent_level: int = 0
    """0: the policy plays; else both sides are computer opponents, and this is the level of pad 1's."""
    side: int = 0
    """Whose match it is: what is won and landed is told of this side."""


@dataclass
class Result:
    won: bool
    drawn: bool
    frames: int
    rounds: int
    time_outs: int
    kinds: tuple[int, int]
    """How many kinds of move were landed: by the side whose match it is, by the other."""
    trajectory: str
    """A hash of what could be seen on the way, at every eighth frame, or where the console's frames ended."""
    seconds: float = 0.0
    """Of processor time that it took."""


@functools.cache
def bits(pad: fighters.Pad) -> int:
    return sum(BITS[button] for button in pad)


class Bench:
    """The game in this process; a process can have one emulator."""

    def __init__(self) -> None:
        import stable_retro

        self.data = stable_retro.data.GameData()
        self.emulator = stable_retro.RetroEmulator(str(FOLDER / "rom.md"))
        self.emulator.configure_data(self.data)
        self.emulator.step()
        # the players see only these variables; fewer of them are also quicker to read
        self.data.load(str(FOLDER / "data_sf2.json"), str(FOLDER / "scenario.json"))
        self.overlay = json.loads((FOLDER / "data.json").read_text())["info"]
        buttons = stable_retro.get_system_info("Genesis")["buttons"]
        self.places = {name: place for place, name in enumerate(buttons)}
        self.masks: dict[tuple[str, ...], np.ndarray] = {}
        for _ in range(30):
            self.emulator.step()
        self.title = self.emulator.get_state()

    def get(self, name: str) -> int:
        where = self.overlay[name]
        return int(self.data.memory.extract(where["address"], where["type"]))

    def set(self, name: str, value: int) -> None:
        where = self.overlay[name]
        self.data.memory.assign(where["address"], where["type"], value)

    def press(self, pad: tuple[str, ...], player: int = 0) -> None:
        mask = self.masks.get(pad)
        if mask is None:
            mask = np.zeros(len(self.places), np.uint8)
            mask[[self.places[name] for name in pad]] = 1
            self.masks[pad] = mask
        self.emulator.set_button_mask(mask, player)

    def begin(self, **settings: int) -> None:
        """A new match, drawn or not, with these settings."""
        self.press((), 0)
        self.press((), 1)
        self.emulator.set_state(self.title)
        self.emulator.step()
        for name, value in settings.items():
            self.set(name, value)
        self.set("start", 1)
        self.emulator.step()

    def play_queued(self, pads: Iterable[int]) -> int:
        """One frame of the console with pads for MOST_PACE frames of the game; how many of them it has played."""
        before = self.get("frame")
        for place, four in enumerate(struct.unpack(">3Q", struct.pack(">12H", *pads))):
            self.data.memory.assign(QUEUE + 8 * place, ">u8", four)
        self.emulator.step()
        return self.get("frame") - before

    def play(self, setting: Setting, player: fighters.Player) -> Result:
        begin = time.process_time()
        self.begin(
            blank=1, mode=CPU_CPU if setting.agent_level else PAD_CPU,
            enemy_level=setting.level, agent_level=setting.agent_level or 1,
            seed=setting.seed, agent_character=setting.agent, enemy_character=setting.enemy, stage=setting.stage,
        )  # fmt: skip
        sees = getattr(player, "sees", True)
        if not sees:
            self.set("pace", MOST_PACE)
            self.data.memory.assign(QUEUED, ">u2", 1)
        player.reset(setting.seed)
        trace = hashlib.sha256()
        frames = 0
        variables = self.data.lookup_all()
        coming: deque[int] = deque()
        while frames < MOST_FRAMES:
            if sees:
                for _ in range(CHECKED_EVERY):
                    self.press(player.pad(self.data.lookup_all()))
                    self.emulator.step()
                frames += CHECKED_EVERY
            else:
                while len(coming) < MOST_PACE:
                    coming.append(bits(player.pad(variables)))
                for _ in range(self.play_queued(coming)):
                    coming.popleft()
                    frames += 1
            variables = self.data.lookup_all()
            trace.update(bytes(variables[name] & 255 for name in TRACED))
            if VICTORIES in (variables["agent_victories"], variables["enemy_victories"]) or variables["reset_countdown"]:
                break
        sides = ("agent", "enemy") if setting.side == 0 else ("enemy", "agent")
        mine, theirs = (variables[f"{side}_victories"] for side in sides)
        kinds = self.get(f"{sides[0]}_landed").bit_count(), self.get(f"{sides[1]}_landed").bit_count()
        rounds, time_outs, seconds = self.get("round"), self.get("time_outs"), time.process_time() - begin
        return Result(mine > theirs, mine == theirs, frames, rounds, time_outs, kinds, trace.hexdigest(), seconds)


def player_named(policy: str) -> fighters.Player:
    """cpu (nobody: pad 1 has a computer opponent as well), noop, random44, rusher, rusher:KIND, macro:I[,J], a style,
    style/rule (that rule of it alone), or patient@N[:LATE] (through the action table, a decision every N frames, seeing late)."""
    if policy in ("noop", "cpu"):
        return fighters.Nothing()
    if policy == "random44":
        return fighters.random44()
    if policy == "rusher":
        return fighters.Rusher()
    if policy.startswith("rusher:"):
        return fighters.RUSHERS[policy.removeprefix("rusher:")]
    if policy.startswith("macro:"):
        return fighters.macro([int(number) for number in policy[6:].split(",")])
    if "@" in policy:
        interval, _, late = policy.partition("@")[2].partition(":")
        return fighters.Restricted(int(interval), int(late or 0))
    name, _, rule = policy.partition("/")
    rules = RULES[name]
    return Scripted([r for r in rules if r.__name__ == rule] if rule else rules)


def settings(policy: str, level: int) -> Iterator[Setting]:
    """Matches over all match-ups, then stages, in turn and without end, each with a seed of its own."""
    for number in itertools.count():
        agent, enemy = number % CHARACTERS, number // CHARACTERS % CHARACTERS
        yield Setting(policy, level, _seed(f"{policy} {level} {number}"), agent, enemy, number // CHARACTERS**2 % STAGES)


def computers(level: int, other: int) -> Iterator[Setting]:
    """Matches of one computer opponent against another, in turn from the left and from the right."""
    for number, setting in enumerate(settings(f"cpu{level}", other)):
        side = number // CHARACTERS**2 % 2
        yield replace(setting, policy="cpu", side=side, agent_level=other if side else level, level=level if side else other)


def mirrored() -> Iterator[Setting]:
    """Two equal computer opponents with the same fighter, on all levels in turn."""
    for number, setting in enumerate(settings("mirror", 0)):
        level = number // CHARACTERS % LEVELS + 1
        yield replace(setting, policy="cpu", level=level, agent_level=level, enemy=setting.agent)


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@functools.cache
def bench() -> Bench:
    """Return the game of this process."""
    return Bench()


def play_one(setting: Setting) -> Result:
    return bench().play(setting, player_named(setting.policy))
