"""Players for Duel that are no learners: scripted styles, a rusher, random actions, macros.

Each reads only variables of the shared Street Fighter II map, and the styles see them LATE frames late.
A player is asked once a frame and answers with the names of the held buttons.
"""

from __future__ import annotations

import json
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nodes.fighters import JUMP, LATE, RULES, Plan, Rule, Scripted, View

PLAIN = 39
"""The actions before this one are single buttons and directions; those from here on are sequences."""

Pad = tuple[str, ...]
Variables = Mapping[str, int]


class Player(Protocol):
    """Who can hold a pad. One that has `sees` = False never looks at the variables."""

    def reset(self, seed: int) -> None: ...
    def pad(self, variables: Variables) -> Pad: ...


def actions() -> list[list[Pad]]:
    """The 44-action table: frames of held buttons, the last of which is held on."""
    table = json.loads((Path(__file__).parent / "actions.json").read_text())["actions"]
    return [[tuple(filter(None, row.split("+"))) for row in rows] for rows in table.values()]


def action_names() -> list[str]:
    return list(json.loads((Path(__file__).parent / "actions.json").read_text())["actions"])


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


def macro(sequence: Sequence[int], interval: int = 8) -> TablePlayer:
    """The same actions in turn for ever."""
    return TablePlayer(lambda _, turn: sequence[turn % len(sequence)], interval)


class Nothing:
    sees = False

    def reset(self, seed: int) -> None: ...

    def pad(self, variables: Variables) -> Pad:
        return ()


class Rusher:
    """Walks up and presses attack after attack, without looking at what the other does."""

    def reset(self, seed: int) -> None:
        self.random, self.held, self.left = random.Random(seed), (), 0

    def pad(self, variables: Variables) -> Pad:
        if self.left == 0:
            ahead = "RIGHT" if variables["agent_x"] < variables["enemy_x"] else "LEFT"
            if abs(variables["agent_x"] - variables["enemy_x"]) > 62:
                self.plan = [((ahead,), 4)] if self.random.random() < 0.93 else [((ahead, "UP"), 4), ((), 18), (("C",), 3)]
            else:
                button = self.random.choice("XYZABC")
                way = self.random.choice([(), (ahead,), ("DOWN",)])
                self.plan = [((*way, button), 3), ((), 5)]
            self.held, self.left = self.plan.pop(0)
        held = self.held
        self.left -= 1
        if self.left == 0 and self.plan:
            self.held, self.left = self.plan.pop(0)
        return held


def style(name: str, late: int = LATE) -> Scripted:
    return Scripted(RULES[name], late)


COOLDOWN = {"punch": 11, "kick": 12, "jump": 15}
"""Of the first seed: frames after such an action before the next one."""
JUMP_KICK = ("C",)


@dataclass
class Restricted:
    """A style as a learning agent could be it: actions of the table, a decision every `interval` frames, cooldowns,
    and no action more than twice running."""

    rules: Iterable[Rule]
    interval: int
    late: int = LATE

    def reset(self, seed: int) -> None:
        self.style = Scripted(self.rules, self.late)
        self.style.reset(seed)
        self.table = actions()
        self.index = {frozenset(rows[0]): place for place, rows in reversed(list(enumerate(self.table))) if place < PLAIN}
        self.names = action_names()
        self.frame = self.cooldown = self.at = 0
        self.latest: deque[int] = deque([0, 0], maxlen=2)
        self.rows = self.table[0]

    def pad(self, variables: Variables) -> Pad:
        self.style.seen.append(variables)
        view = self.style.view(self.style.seen[0])
        if self.frame % self.interval == 0 and self.cooldown <= 0:
            self.decide(view)
        self.frame += 1
        self.cooldown -= 1
        held = self.rows[min(self.at, len(self.rows) - 1)]
        self.at += 1
        self.style.held = held
        return held

    def decide(self, view: View) -> None:
        plan = next((plan for rule in self.rules if (plan := rule(view))), None)
        action = self.action(view, plan)
        if self.latest[0] == self.latest[1] == action:
            action = 0
        self.latest.append(action)
        self.rows, self.at = self.table[action], 0
        name = self.names[action]
        kind = (
            "jump" if "up" in name else "kick" if name[-1] in "ABC" else "punch" if name[-1] in "XYZ" or action >= PLAIN else ""
        )
        self.cooldown = COOLDOWN.get(kind, 0)

    def action(self, view: View, plan: Plan | None) -> int:
        if view.mine == JUMP:
            return self.index[frozenset(JUMP_KICK)]
        if not plan:
            return 0
        if len(plan) > 3 and plan[0][0] == "DOWN":
            return self.names.index(f"projectile {view.ahead.lower()}")
        names = {"F": view.ahead, "G": view.back}
        return self.index.get(frozenset(names.get(name, name) for name in plan[0][0].split("+") if name), 0)
