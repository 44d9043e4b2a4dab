"""Styles of play for one-on-one fighting games, as rules that a person could read out.

A style is an ordered list of rules; the first that has something to say is followed. They look only
at variables that Duel and a Street Fighter II cartridge share.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

STAND, CROUCH, JUMP, BLOCK, ATTACK, SPECIAL, HIT = 512, 514, 516, 518, 520, 522, 524
IDLE = (STAND, CROUCH, BLOCK)
FLOOR = 192
SHOT_LEAVES, SHOT_SPEED = 14, 3.6
"""The projectile of most characters: frames until it flies, and pixels a frame."""


@dataclass
class View:
    """The knowledge of a style: both fighters some frames ago, and how long things have lasted."""

    gap: int
    mine: int
    theirs: int
    height: int
    """Height of the other above the floor, in pixels."""
    falls: bool
    comes: int
    """Pixels a frame by which the other comes nearer."""
    since: int
    """Frames for which the other has had its current status."""
    shot_in: float
    """Frames until a projectile that the other may have thrown is here; negative once it should
    have passed."""
    ahead: str
    back: str
    random: random.Random


Plan = list[tuple[str, int]]
"""Held buttons, joined by +, with the number of frames. F and G stand for forward and back."""
Rule = Callable[[View], "Plan | None"]


def _press(way: str, button: str, after: int) -> Plan:
    """Return a plan that presses a button, in a direction or none, and waits for some frames,
    crouching if it crouched.
    """
    held = f"{way}+{button}" if way else button
    waiting = "DOWN" if way == "DOWN" else ""
    return [(held, 3), (waiting, after)]


PROJECTILE: Plan = [("DOWN", 2), ("DOWN+F", 2), ("F+Y", 3), ("DOWN+G", 28)]
RISING: Plan = [("F", 2), ("DOWN", 2), ("DOWN+F+Z", 3), ("DOWN+G", 12)]


def guard(v: View) -> Plan | None:
    """Block an attack from the ground crouching, one from the air standing."""
    if v.theirs in (ATTACK, SPECIAL) and v.gap < 90 and v.since < 26:
        return [("G", 3)] if v.height > 8 else [("DOWN+G", 3)]
    return None


def guard_projectile(v: View) -> Plan | None:
    """Guard against a projectile when it should be here."""
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
    """Answer a blow made out of reach with a projectile,
    which is there before its owner can guard.
    """
    if v.theirs == ATTACK and v.height == 0 and 66 <= v.gap < 130:
        return PROJECTILE
    return None


def reverse(v: View) -> Plan | None:
    """Strike out of a guard with the rising attack, which the other's blow or throw cannot hit."""
    if v.gap < 58 and v.theirs == ATTACK and v.since < 6 and v.height == 0:
        return RISING
    return None


def punish(v: View) -> Plan | None:
    """Hit into the recovery of a long attack that has missed or was blocked."""
    if v.theirs in (ATTACK, SPECIAL) and v.height == 0 and 12 <= v.since < 26 and v.gap < 68:
        return _press("DOWN", "C", 24)
    return None


def grab(v: View) -> Plan | None:
    """Throw an opponent who is standing close and does nothing."""
    if v.gap < 42 and v.theirs in IDLE and v.height == 0:
        return _press("F", "Z", 12)
    return None


def poke(v: View) -> Plan | None:
    """Kick from as far as it reaches, now and then:
    a fighter who always kicks is hit between two kicks.
    """
    if 48 < v.gap < 66 and v.theirs in IDLE and v.random.random() < 0.25:
        way = "" if v.random.random() < 0.6 else "DOWN"
        return _press(way, "B", 14)
    return None


def sweep(v: View) -> Plan | None:
    """Sweep an opponent who walks in."""
    if 46 < v.gap < 78 and v.theirs == STAND and v.comes > 0:
        return _press("DOWN", "C", 24)
    return None


def shoot(v: View) -> Plan | None:
    """Throw a projectile from afar."""
    if v.gap > 135 and v.theirs in (*IDLE, HIT):
        return PROJECTILE
    return None


def shoot_from_near(v: View) -> Plan | None:
    """Throw a projectile from just out of reach, on the way in."""
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
    if v.gap < 120 and v.comes > 0 and v.random.random() < 0.5:
        return [("G", 4)]
    return None


def wait_for_rising(v: View) -> Plan | None:
    """Stand at kicking distance from an opponent who lies on the ground."""
    if v.theirs != HIT or v.since <= 20:
        return None
    if v.gap > 62:
        return [("F", 3)]
    return [("DOWN+G", 3)]


def walk_up(v: View) -> Plan | None:
    """Come nearer, a few steps at a time, in a crouching guard between them."""
    if v.gap <= 66:
        return None
    if v.random.random() < 0.4:
        return [("F", 4), ("DOWN+G", 3)]
    return [("DOWN+G", 6)]


def stay_low(v: View) -> Plan | None:
    """Guard crouching, whatever happens."""
    return [("DOWN+G", 6)]


# ---- rules of the styles that are sparring partners only ----


def pressure(v: View) -> Plan | None:
    """Press attack after attack, whatever the other does."""
    if v.gap > 62:
        return None
    way = v.random.choice(["", "F", "DOWN"])
    button = v.random.choice("XYZABC")
    return _press(way, button, v.random.randint(2, 8))


def run_in(v: View) -> Plan | None:
    """Walk up without a guard, now and then in a jump."""
    if v.gap > 90 and v.random.random() < 0.06:
        return [("UP+F", 4), ("", 18), ("C", 3), ("", 8)]
    return [("F", 4)]


def bounce(v: View) -> Plan | None:
    """Jump in again and again, with a blow on the way down: forward from afar,
    straight up or back from near.
    """
    button = v.random.choice("BCZ")
    falls_from = v.random.randint(14, 24)
    if v.gap > 150:
        return [("UP+F", 4), ("", 40)]
    if v.gap > 60:
        return [("UP+F", 4), ("", falls_from), (button, 3), ("", 14)]
    way = v.random.choice(["UP", "UP+G", "UP+F"])
    return [(way, 4), ("", falls_from), (button, 3), ("", 14)]


def trip(v: View) -> Plan | None:
    """Kick low from as far as it reaches, and again while the other gets up."""
    if v.gap < 50:
        return _press("DOWN", "B", 12)
    if v.gap < 80:
        return _press("DOWN", "C", 22)
    return None


def creep(v: View) -> Plan | None:
    """Come nearer in short steps, in a crouching guard between them."""
    return [("F", 5), ("DOWN+G", 4)]


def counter_throw(v: View) -> Plan | None:
    """Throw whoever has come close, or is stuck in a guard there."""
    if v.gap < 46 and v.theirs in IDLE and v.height == 0:
        return _press("F", "Z", 10)
    return None


def jab_and_wait(v: View) -> Plan | None:
    """Make the other guard against a light blow, because a fighter who guards can be thrown."""
    if v.gap < 60 and v.theirs in IDLE and v.random.random() < 0.35:
        return [("X", 3), ("F", 9)]
    return None


def step_in(v: View) -> Plan | None:
    """Walk up to where a throw reaches."""
    if v.gap > 40:
        return [("F", 6), ("G", 2)]
    return None


def shoot_always(v: View) -> Plan | None:
    """Throw a projectile whenever there is time for one."""
    if v.gap > 100 and v.theirs != JUMP and v.random.random() < 0.5:
        return PROJECTILE
    return None


def wait_for_a_jump(v: View) -> Plan | None:
    """Guard crouching for a moment, in the hope that the other jumps over the projectile."""
    return [("DOWN+G", 5)]


def hold_off(v: View) -> Plan | None:
    """Sweep an opponent who has come past the projectiles, or step back."""
    if v.gap >= 76 or v.theirs not in IDLE:
        return None
    if v.random.random() < 0.5:
        return _press("DOWN", "C", 20)
    return [("G", 10)]


def whiff_punish(v: View) -> Plan | None:
    """Kick into the recovery of a blow that fell short, from a step further in."""
    if v.theirs == ATTACK and v.height == 0 and v.since >= 6 and 58 < v.gap < 104:
        return [("F", 4), ("C", 3), ("DOWN+G", 20)]
    return None


def dance(v: View) -> Plan | None:
    """Step in and out at the edge of the other's reach."""
    if v.gap < 72:
        return [("G", v.random.randint(4, 10))]
    if v.gap > 100:
        return [("F", v.random.randint(4, 10))]
    return [(v.random.choice(["F", "G", "DOWN+G"]), v.random.randint(3, 8))]


def react_at_times(v: View) -> Plan | None:
    """Guard against an attack in two of three cases, or strike through it."""
    if v.theirs not in (ATTACK, SPECIAL) or v.gap > 100 or v.since > 20:
        return None
    if v.random.random() < 0.66:
        return [("G", 8)] if v.height > 8 else [("DOWN+G", 8)]
    return RISING


ANYTHING: Final[tuple[Plan, ...]] = (
    [("F", 12)], [("F", 24)], [("G", 10)], [("DOWN+G", 14)], [("", 8)],
    [("UP+F", 4), ("", 20), ("C", 3), ("", 12)], [("UP", 4), ("", 30)], [("UP+G", 4), ("", 30)],
    [("X", 3), ("", 8)], [("Y", 3), ("", 12)], [("B", 3), ("", 14)], [("C", 3), ("", 20)],
    [("DOWN+B", 3), ("DOWN", 14)], [("DOWN+C", 3), ("DOWN", 22)], [("DOWN+Z", 3), ("DOWN", 18)],
    [("F+Z", 3), ("", 12)], PROJECTILE, RISING,
)  # fmt: skip


def do_anything(v: View) -> Plan | None:
    """Do one of many things, each as likely as the others."""
    return v.random.choice(ANYTHING)


STYLES: Final[dict[str, tuple[Rule, ...]]] = {
    "aggressive": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, wait_for_rising, grab, sweep,
        poke, jump_in, shoot_from_near, walk_up, stay_low,
    ),
    "defensive": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, wait_for_rising, sweep, grab,
        poke, shoot, stay_low,
    ),
    "zoner": (
        rise, anti_air, punish, counter_shot, guard, guard_projectile, shoot, sweep, grab, poke,
        shoot_from_near, keep_away, stay_low,
    ),
    "grappler": (
        rise, anti_air, grab, punish, counter_shot, reverse, guard, guard_projectile,
        wait_for_rising, sweep, jump_in, walk_up, stay_low,
    ),
    "rusher": (pressure, run_in),
    "jumper": (guard_projectile, bounce),
    "sweeper": (guard, trip, guard_projectile, creep),
    "turtle": (anti_air, punish, guard, guard_projectile, counter_throw, stay_low),
    "thrower": (counter_throw, guard, guard_projectile, jab_and_wait, step_in, stay_low),
    "shoto": (rise, shoot_always, guard_projectile, hold_off, wait_for_a_jump),
    "dancer": (anti_air, whiff_punish, guard_projectile, guard, poke, dance),
    "mixed": (react_at_times, anti_air, do_anything),
}  # fmt: skip
"""The first four are meant to be strong, and the game's calibration asks that of them; the others,
to be unlike each other."""

STRONG: Final = ("aggressive", "defensive", "zoner", "grappler")
HELD_BACK: Final = ("turtle", "thrower", "shoto", "dancer", "mixed")
"""Styles that nothing is trained against, so that an agent that beats them has not learned them by
heart."""
