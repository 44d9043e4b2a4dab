"""Players for Duel that do not learn: scripted styles, rushers, random actions,
the scripted teacher.

Each reads only variables of the shared Street Fighter II map; the styles see them with a delay of
LATE frames. A player is called once per frame, and returns the names of the buttons to hold.
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
from nodes.fighting.strategist import PATIENT, Eyes, first_choice
from nodes.fighting.styles import STYLES, View

Pad = tuple[str, ...]
Variables = Mapping[str, int]


class Player(Protocol):
    """A player of a pad. One with the attribute `sees` = False never looks at the variables."""

    def reset(self, seed: int) -> None:
        """Begin a match. All randomness comes from the seed."""

    def pad(self, variables: Variables) -> Pad:
        """Return the names of the buttons to hold on the next frame,
        given the variables of this one.
        """
        ...


def actions() -> list[list[Pad]]:
    """Return for each of the 44 actions the buttons of its frames, the last of which stay held."""
    table: list[list[Pad]] = []
    for rows in _table().values():
        table.append([_buttons(row) for row in rows])
    return table


def action_names() -> list[str]:
    """Return the names of the 44 actions, in order."""
    return list(_table())


def _buttons(held: str) -> Pad:
    """Return the buttons of a text such as "DOWN+Z"; an empty text has none."""
    return tuple(name for name in held.split("+") if name)


def _table() -> dict[str, list[str]]:
    """Return the table of the game's actions.json."""
    table: dict[str, list[str]] = json.loads((FOLDER / "actions.json").read_text())["actions"]
    return table


@dataclass
class TablePlayer:
    """A player that begins an action of the table every `interval` frames."""

    choose: Callable[[random.Random, int], int]
    """Choose the number of an action, given a generator and the number of earlier choices."""
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
    """Return a player that draws one of the 44 actions every `interval` frames."""
    return TablePlayer(lambda rng, _: rng.randrange(44), interval)


class Nothing:
    """A player that presses nothing."""

    sees = False

    def reset(self, seed: int) -> None: ...

    def pad(self, variables: Variables) -> Pad:
        return ()


@dataclass
class Rusher:
    """A player that walks up, or sometimes jumps in, and attacks without end.

    It never blocks, and looks only at the positions of both fighters.
    """

    near: int = 62
    """The distance in pixels up to which it attacks."""
    jumps: float = 0.0
    """The probability that it jumps in with a kick instead of walking for 4 frames."""
    buttons: str = "XYZABC"
    ways: Sequence[str] = ("", "F", "DOWN")
    """The directions held with a button; F is forward."""
    press: tuple[int, int] = (3, 3)
    """Fewest and most frames for which a button is held."""
    pause: tuple[int, int] = (5, 5)
    """Fewest and most frames between two buttons."""
    between: str = ""
    """The buttons held in the pause."""
    plan: list[tuple[str, int]] = field(default_factory=list)

    def reset(self, seed: int) -> None:
        self.random, self.plan = random.Random(seed), []
        self.held: Pad = ()

    def pad(self, variables: Variables) -> Pad:
        if not self.plan:
            gap = abs(variables["agent_x"] - variables["enemy_x"])
            self.plan = self.next_plan(gap)
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
        """Hold the first buttons of the plan;
        F is the side on which the enemy was when the plan was made.
        """
        held, _ = self.plan[0]
        facing = {"F": self.ahead}
        self.held = tuple(facing.get(name, name) for name in _buttons(held))

    def next_plan(self, gap: int) -> list[tuple[str, int]]:
        """Return the next steps: the buttons to hold, and for how many frames, at least 1."""
        rng = self.random
        if gap > self.near:
            if rng.random() < self.jumps:
                return [("F+UP", 4), ("", 18), ("C", 3)]
            return [("F", 4)]
        held = f"{rng.choice(self.ways)}+{rng.choice(self.buttons)}"
        plan = [(held, rng.randint(*self.press))]
        pause = rng.randint(*self.pause)
        if pause:
            plan.append((self.between, pause))
        return plan


RUSHERS = {
    "rusher": Rusher(jumps=0.07),
    "heavy_rusher": Rusher(70, buttons="ZC", ways=("F",), press=(2, 6), pause=(0, 10), between="F"),
}


def style(name: str, late: int = LATE) -> Scripted:
    """Return a player of a scripted style."""
    return Scripted(STYLES[name], late)


COOLDOWN = {"punch": 11, "kick": 12, "jump": 15}
"""Frames from the start of such an action to the next one, as in
models/recovery/sf2.safetensors."""


@dataclass
class Restricted:
    """The scripted teacher: ScriptedStrategist's rules, with the restrictions of a learning agent.

    It decides every `interval` frames, unless its latest action is still cooling down. It takes
    actions from the table, and none of them more than twice in a row.
    """

    interval: int
    late: int = 0
    """The delay of what it sees, in frames; agents have none."""
    without: str = ""
    """The name of a rule to leave out, for an ablation."""

    def __post_init__(self) -> None:
        """Check the name of the rule. Raises ValueError if there is no such rule."""
        names = [rule.name for rule in PATIENT]
        if self.without and self.without not in names:
            raise ValueError(
                f"the teacher has no rule {self.without!r}; expected one of {', '.join(names)}"
            )

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
        """Return the best action of the first rule that applies,
        or the second best after two of the best.
        """
        best, second = first_choice(self.rules, view)
        chosen = best if self.latest.count(best) < 2 else second
        self.latest.append(chosen)
        return in_table(chosen, view.ahead.lower(), view.back.lower())

    def begin(self, name: str) -> None:
        """Begin an action of the table."""
        self.rows, self.at = self.table[name], 0
        self.cooldown = cooldown_of(name)


@functools.cache
def cooldown_of(action: str) -> int:
    """Return the number of frames from the start of an action of the table to the next,
    at least.
    """
    rows = _table()[action]
    pressed = set(itertools.chain.from_iterable(map(_buttons, rows)))
    if "UP" in pressed:
        return COOLDOWN["jump"]
    if pressed & set("XYZ"):
        return COOLDOWN["punch"]
    if pressed & set("ABC"):
        return COOLDOWN["kick"]
    return 0


def in_table(action: str, ahead: str, back: str) -> str:
    """Return the table's name of an action whose directions are relative to the enemy.

    Args:
        action: The action, in which directions are "forward" and "back".
        ahead: The side on which the enemy is, "left" or "right".
        back: The other side.
    """
    if action in ("projectile", "rising"):
        return f"{action} {ahead}"
    return action.replace("forward", ahead).replace("back", back)
