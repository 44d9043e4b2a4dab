"""ScriptedFighter: styles of play for one-on-one fighting games with the variables of the Street Fighter II map.

A style is an ordered list of rules; the first that has something to say is followed. It reads only
variables that Duel and a Street Fighter II cartridge share, and knows them some frames late, as a person does.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from minibrains import Episode, MinibrainsError, Node, Pad, Variables, widget

READ = ("agent_x", "agent_status", "enemy_x", "enemy_y", "enemy_status")
"""The variables that styles look at."""
LATE = 12
"""Frames between what happens and what a scripted style knows."""

STAND, CROUCH, JUMP, BLOCK, ATTACK, SPECIAL, HIT = 512, 514, 516, 518, 520, 522, 524
IDLE = (STAND, CROUCH, BLOCK)
FLOOR = 192
SHOT_LEAVES, SHOT_SPEED = 14, 3.6
"""A projectile as most characters throw it: frames until it flies, and pixels a frame."""

Held = tuple[str, ...]


@dataclass
class View:
    """What a style knows: both fighters LATE frames ago, and how long things have lasted."""

    gap: int
    mine: int
    theirs: int
    height: int
    """Of the other, above the floor."""
    falls: bool
    comes: int
    """Pixels a frame by which the other comes nearer."""
    since: int
    """Frames for which the other's status has been what it is."""
    shot_in: float
    """Frames until a projectile that the other may have thrown is here; negative once it should have passed."""
    ahead: str
    back: str
    random: random.Random


Plan = list[tuple[str, int]]
"""Held buttons, joined by +, with the number of frames. F and G stand for forward and back."""
Rule = Callable[[View], "Plan | None"]


def _press(way: str, button: str, after: int) -> Plan:
    return [("+".join(filter(None, [way, button])), 3), (way if way == "DOWN" else "", after)]


PROJECTILE: Plan = [("DOWN", 2), ("DOWN+F", 2), ("F+Y", 3), ("DOWN+G", 28)]
RISING: Plan = [("F", 2), ("DOWN", 2), ("DOWN+F+Z", 3), ("DOWN+G", 12)]


def guard(v: View) -> Plan | None:
    """Block an attack from the ground crouching, one from the air standing."""
    if v.theirs in (ATTACK, SPECIAL) and v.gap < 90 and v.since < 26:
        return [("G", 3)] if v.height > 8 else [("DOWN+G", 3)]
    return None


def guard_projectile(v: View) -> Plan | None:
    """The other made something special from afar: guard when it should be here."""
    if -14 < v.shot_in < 10:
        return [("DOWN+G", 2)]
    return None


def anti_air(v: View) -> Plan | None:
    """Meet a jump with the crouching heavy punch, once it comes down near enough."""
    if v.theirs not in (JUMP, ATTACK) or v.height < 10:
        return None
    if v.falls and v.gap < 80 and v.height < 75:
        return _press("DOWN", "Z", 16)
    if v.gap < 120:
        return [("G", 2)]
    return None


def rise(v: View) -> Plan | None:
    """Meet a jump with the rising attack: nothing hits the beginning of it."""
    if v.theirs in (JUMP, ATTACK) and v.height >= 10 and v.gap < 110:
        return RISING
    return None


def counter_shot(v: View) -> Plan | None:
    """A blow was made out of reach: a projectile is there before its owner can guard."""
    if v.theirs == ATTACK and v.height == 0 and 66 <= v.gap < 130:
        return PROJECTILE
    return None


def reverse(v: View) -> Plan | None:
    """Out of a guard, strike with what cannot be hit: the other's blow or throw goes through it."""
    if v.gap < 58 and v.theirs == ATTACK and v.since < 6 and v.height == 0:
        return RISING
    return None


def punish(v: View) -> Plan | None:
    """A long attack has missed or was blocked: hit into its recovery."""
    if v.theirs in (ATTACK, SPECIAL) and v.height == 0 and 12 <= v.since < 26 and v.gap < 68:
        return _press("DOWN", "C", 24)
    return None


def grab(v: View) -> Plan | None:
    """Throw who stands close and does nothing."""
    if v.gap < 42 and v.theirs in IDLE and v.height == 0:
        return _press("F", "Z", 12)
    return None


def poke(v: View) -> Plan | None:
    """Kick from as far as it reaches, at times: who kicks always is hit between two kicks."""
    if 48 < v.gap < 66 and v.theirs in IDLE and v.random.random() < 0.25:
        return _press("", "B", 14) if v.random.random() < 0.6 else _press("DOWN", "B", 14)
    return None


def sweep(v: View) -> Plan | None:
    """Take the legs away from who walks in."""
    if 46 < v.gap < 78 and v.theirs == STAND and v.comes > 0:
        return _press("DOWN", "C", 24)
    return None


def shoot(v: View) -> Plan | None:
    """Throw a projectile from afar."""
    if v.gap > 135 and v.theirs in (*IDLE, HIT):
        return PROJECTILE
    return None


def shoot_from_near(v: View) -> Plan | None:
    """A projectile from just out of reach, on the way in."""
    if 70 < v.gap < 135 and v.theirs in IDLE and v.random.random() < 0.15:
        return PROJECTILE
    return None


def jump_in(v: View) -> Plan | None:
    """Come down on the other with a kick."""
    if 95 < v.gap < 135 and v.random.random() < 0.04:
        return [("UP+F", 4), ("", 20), ("C", 3), ("", 12)]
    return None


def keep_away(v: View) -> Plan | None:
    """Give ground while the other comes on."""
    return [("G", 4)] if v.gap < 120 and v.comes > 0 and v.random.random() < 0.5 else None


def wait_for_rising(v: View) -> Plan | None:
    """Stand at kicking distance from who lies on the ground."""
    if v.theirs == HIT and v.since > 20:
        return [("F", 3)] if v.gap > 62 else [("DOWN+G", 3)]
    return None


def walk_up(v: View) -> Plan | None:
    """Come nearer, a few steps at a time, in a crouching guard between them."""
    if v.gap <= 66:
        return None
    return [("F", 4), ("DOWN+G", 3)] if v.random.random() < 0.4 else [("DOWN+G", 6)]


def stay_low(v: View) -> Plan | None:
    return [("DOWN+G", 6)]


RULES: dict[str, tuple[Rule, ...]] = {
    "aggressive": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, wait_for_rising, grab, sweep, poke, jump_in,
        shoot_from_near, walk_up, stay_low,
    ),
    "defensive": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, wait_for_rising, sweep, grab, poke, shoot, stay_low,
    ),
    "zoner": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, shoot, sweep, grab, poke, shoot_from_near,
        keep_away, stay_low,
    ),
    "grappler": (
        rise, anti_air, grab, punish, counter_shot, reverse, guard, guard_projectile, wait_for_rising, sweep, jump_in,
        walk_up, stay_low,
    ),
}  # fmt: skip


@dataclass
class Scripted:
    """Plays by an ordered list of rules: the first that has something to say is followed."""

    rules: Iterable[Rule]
    late: int = LATE
    seen: deque[Mapping[str, int]] = field(default_factory=deque)

    def reset(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seen = deque(maxlen=self.late + 1)
        self.plan: Plan = []
        self.left = 0
        self.held: Held = ()
        self.status, self.since, self.last_x, self.last_y = 0, 0, 0, FLOOR
        self.shot_in = -100.0

    def view(self, now: Mapping[str, int]) -> View:
        mine, theirs = now["agent_x"], now["enemy_x"]
        right = mine <= theirs
        status, height = now["enemy_status"], FLOOR - now["enemy_y"]
        self.since = self.since + 1 if status == self.status else 0
        comes = (self.last_x - theirs) * (1 if right else -1)
        falls = now["enemy_y"] > self.last_y
        self.status, self.last_x, self.last_y = status, theirs, now["enemy_y"]
        # walking towards it brings it nearer
        self.shot_in -= 1.6 if ("RIGHT" if right else "LEFT") in self.held and "DOWN" not in self.held else 1
        if status == SPECIAL and self.since == 0:
            self.shot_in = SHOT_LEAVES + (abs(mine - theirs) - 46) / SHOT_SPEED - self.late
        ahead, back = ("RIGHT", "LEFT") if right else ("LEFT", "RIGHT")
        return View(
            abs(mine - theirs),
            now["agent_status"],
            status,
            height,
            falls,
            comes,
            self.since,
            self.shot_in,
            ahead,
            back,
            self.random,
        )

    def pad(self, variables: Mapping[str, int]) -> Held:
        self.seen.append(variables)
        view = self.view(self.seen[0])
        if self.left == 0 and not self.plan:
            self.plan = list(next((plan for rule in self.rules if (plan := rule(view))), ()))
        if self.left == 0:
            held, self.left = self.plan.pop(0) if self.plan else ("", 1)
            names = {"F": view.ahead, "G": view.back}
            self.held = tuple(names.get(name, name) for name in held.split("+") if name)
        self.left -= 1
        return self.held


def noticed(variables: Variables) -> dict[str, int]:
    """The variables that styles look at. Raises MinibrainsError naming the one that the game does not have."""
    try:
        return {name: variables[name] for name in READ}
    except KeyError as missing:
        needed = ", ".join(READ)
        raise MinibrainsError(f"the game's map, its data.json, has no variable {missing}; a fighter needs {needed}") from None


class ScriptedFighter(Node, category="fighting"):
    """Fight by rules: the expert that an agent is compared with, and a sparring partner.

    variables:  of the Street Fighter II map; x and y in pixels, status 512 stand … 524 hit
    Out:        the buttons to hold now
    """

    style: Literal["aggressive", "defensive", "zoner", "grappler"] = widget(
        default="defensive", doc="which rules, in which order"
    )
    late: int = widget(default=LATE, min=0, max=120, doc="frames between what happens and what the fighter knows")

    def reset(self, episode: Episode) -> None:
        self.player = Scripted(RULES[self.style], self.late)
        self.player.reset(int(episode.rng().integers(2**31)))

    def tick(self, variables: Variables) -> Pad:
        return self.player.pad(noticed(variables))

    def state(self) -> dict[str, Any]:
        """What the player has seen and means to do; its rules are functions, which follow from the style."""
        return copy.deepcopy({name: value for name, value in vars(self.player).items() if name != "rules"})

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.player = Scripted(RULES[self.style])
        vars(self.player).update(copy.deepcopy(dict(state)))
