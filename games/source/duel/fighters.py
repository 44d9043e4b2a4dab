"""Players for Duel that are no learners: scripted styles, rushers, random actions, the scripted teacher.

Each reads only variables of the shared Street Fighter II map, and the styles see them LATE frames late.
A player is asked once a frame and answers with the names of the held buttons.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from games.source.duel import FOLDER
from nodes.fighting.fighters import LATE, Scripted
from nodes.fighting.strategist import PATIENT, Eyes
from nodes.fighting.styles import STYLES, View

Pad = tuple[str, ...]
Variables = Mapping[str, int]


class Player(Protocol):
    """Who can hold a pad. One that has `sees` = False never looks at the variables."""

    def reset(self, seed: int) -> None: ...
    def pad(self, variables: Variables) -> Pad: ...


def actions() -> list[list[Pad]]:
    """The 44-action table: frames of held buttons, the last of which is held on."""
    return [[tuple(filter(None, row.split("+"))) for row in rows] for rows in _table().values()]


def action_names() -> list[str]:
    return list(_table())


def _table() -> dict[str, list[str]]:
    """The table as it stands beside the game."""
    table: dict[str, list[str]] = json.loads((FOLDER / "actions.json").read_text())["actions"]
    return table


@dataclass
class TablePlayer:
    """Plays actions of the table, a new one every `interval` frames."""

    choose: Callable[[random.Random, int], int]
    interval: int = 8
    sees: bool = False

    def reset(self, seed: int) -> None:
        self.random, self.frame, self.table = random.Random(seed), 0, actions()

    def pad(self, variables: Variables) -> Pad:
        at = self.frame % self.interval
        if at == 0:
            self.rows = self.table[self.choose(self.random, self.frame // self.interval)]
        self.frame += 1
        return self.rows[min(at, len(self.rows) - 1)]


def random44(interval: int = 8) -> TablePlayer:
    return TablePlayer(lambda rng, _: rng.randrange(44), interval)


class Nothing:
    sees = False

    def reset(self, seed: int) -> None: ...

    def pad(self, variables: Variables) -> Pad:
        return ()


@dataclass
class Rusher:
    """Walks up until `near`, or jumps in on some of the steps, and presses attack after attack.
    It never guards, and looks only at where the two stand."""

    near: int = 62
    jumps: float = 0.0
    """How many of its steps are jumps with a kick."""
    buttons: str = "XYZABC"
    ways: Sequence[str] = ("", "F", "DOWN")
    """What is held with a button; F is forward."""
    press: tuple[int, int] = (3, 3)
    """Fewest and most frames for which a button is held."""
    pause: tuple[int, int] = (5, 5)
    between: str = ""
    """What is held in the pause."""
    plan: list[tuple[str, int]] = field(default_factory=list)

    def reset(self, seed: int) -> None:
        self.random, self.plan = random.Random(seed), []
        self.held: Pad = ()

    def pad(self, variables: Variables) -> Pad:
        if not self.plan:
            gap = abs(variables["agent_x"] - variables["enemy_x"])
            self.plan = [(held, frames) for held, frames in self.next_plan(gap) if frames]
            self.ahead = "RIGHT" if variables["agent_x"] < variables["enemy_x"] else "LEFT"
            self.hold()
        held = self.held
        name, left = self.plan.pop(0)
        if left > 1:
            self.plan.insert(0, (name, left - 1))
        elif self.plan:
            self.hold()
        return held

    def hold(self) -> None:
        names = filter(None, self.plan[0][0].split("+"))
        self.held = tuple(self.ahead if name == "F" else name for name in names)

    def next_plan(self, gap: int) -> list[tuple[str, int]]:
        rng = self.random
        if gap > self.near:
            return [("F+UP", 4), ("", 18), ("C", 3)] if rng.random() < self.jumps else [("F", 4)]
        held = f"{rng.choice(self.ways)}+{rng.choice(self.buttons)}"
        return [(held, rng.randint(*self.press)), (self.between, rng.randint(*self.pause))]


RUSHERS = {
    "rusher": Rusher(jumps=0.07),
    "heavy_rusher": Rusher(70, buttons="ZC", ways=("F",), press=(2, 6), pause=(0, 10), between="F"),
}


def style(name: str, late: int = LATE) -> Scripted:
    return Scripted(STYLES[name], late)


COOLDOWN = {"punch": 11, "kick": 12, "jump": 15}
"""Of the first seed: frames after such an action before the next one."""


@dataclass
class Restricted:
    """What a learning agent could be: ScriptedStrategist's rules, through the table, a decision every `interval` frames
    unless the latest action still cools down, and no action more than twice running. It sees the present frame, as an
    agent does; `late` makes it see less."""

    interval: int
    late: int = 0
    without: str = ""
    """The name of a rule that is left out, to see what it is worth."""

    def __post_init__(self) -> None:
        names = [rule.name for rule in PATIENT]
        if self.without and self.without not in names:
            raise ValueError(f"the teacher has no rule {self.without!r}; expected one of {', '.join(names)}")

    def reset(self, seed: int) -> None:
        self.rules = [rule for rule in PATIENT if rule.name != self.without]
        self.eyes = Eyes((), self.late)
        self.eyes.reset(seed)
        self.table = dict(zip(action_names(), actions(), strict=True))
        self.rows = self.table["none"]
        self.frame = self.at = self.cooldown = 0
        self.held: Pad = ()
        self.latest: deque[str] = deque(maxlen=2)

    def pad(self, variables: Variables) -> Pad:
        view = self.eyes.look(variables, self.held)
        if self.frame % self.interval == 0 and self.cooldown <= 0:
            self.begin(self.decide(view))
        self.held = self.rows[min(self.at, len(self.rows) - 1)]
        self.at += 1
        self.frame += 1
        self.cooldown -= 1
        return self.held

    def decide(self, view: View) -> str:
        """Return the best action of the first rule that has something to say, or the next best if it was made twice running."""
        choice = next(choice for rule in self.rules if (choice := rule(view)))
        chosen = next(action for action in choice if self.latest.count(action) < 2)
        self.latest.append(chosen)
        return in_table(chosen, view.ahead.lower(), view.back.lower())

    def begin(self, name: str) -> None:
        self.rows, self.at = self.table[name], 0
        self.cooldown = cooldown_of(name)


@functools.cache
def cooldown_of(action: str) -> int:
    """Return the frames after an action of the table before the next one."""
    pressed = set(itertools.chain.from_iterable(actions()[action_names().index(action)]))
    if "UP" in pressed:
        return COOLDOWN["jump"]
    if pressed & set("XYZ"):
        return COOLDOWN["punch"]
    return COOLDOWN["kick"] if pressed & set("ABC") else 0


def in_table(action: str, ahead: str, back: str) -> str:
    """Return the name in the table, which tells left from right, of an action that is told by facing."""
    if action in ("projectile", "rising"):
        return f"{action} {ahead}"
    return action.replace("forward", ahead).replace("back", back)
