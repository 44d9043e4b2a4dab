"""ScriptedStrategist: rules for fighting when every decision binds for half a second.

They are told in the actions of a table by facing, and stand where a learning agent stands in a graph: asked now
and then, they answer with the best action and the second best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minibrains import ABSENT, Absent, Episode, Flag, Host, MinibrainsError, Node, On, Pad, Variables, widget
from nodes.actions.sink import ActionTable, TableAction
from nodes.fighting.fighters import Scripted, noticed
from nodes.fighting.styles import ATTACK, HIT, IDLE, JUMP, SPECIAL, View

Choice = tuple[str, str]
"""Names of actions of the table: the best, and the second best."""
Rule = Callable[[View], "Choice | None"]


def in_flight(v: View) -> Choice | None:
    """Kick on the way down."""
    return ("A", "B") if v.mine == JUMP else None


def meet_jump(v: View) -> Choice | None:
    """Nothing hits the first frames of the rising attack: it beats whoever comes through the air."""
    return ("rising", "down+Z") if v.height > 8 and v.theirs != HIT and v.gap < 130 else None


def meet_projectile(v: View) -> Choice | None:
    """Guard what will be here before the next decision."""
    return ("down+back", "back") if (v.theirs == SPECIAL and v.gap < 56) or -10 < v.shot_in < 34 else None


def answer_blow(v: View) -> Choice | None:
    """Strike through a blow that has just begun, guard one that comes, hit into one that is past or fell short."""
    if v.theirs != ATTACK:
        return None
    if v.gap < 62 and v.since < 4:
        return ("rising", "down+back")
    if v.gap < 66:
        return ("down+back", "back") if v.since < 8 else ("down+back+C", "C")
    return ("projectile", "down+back+C") if v.gap < 130 else None


def throw(v: View) -> Choice | None:
    """Who stands close and does nothing."""
    return ("forward+Z", "forward+C") if v.gap < 44 and v.theirs in IDLE else None


def strike(v: View) -> Choice | None:
    """From as far as it reaches, and the stick is held back afterwards: it ends in a guard."""
    return ("back+C", "down+back+C") if v.gap < 66 and v.theirs in IDLE else None


def shoot(v: View) -> Choice | None:
    """From the middle distance a projectile is there before it can be answered."""
    return ("projectile", "down+back+A") if v.gap < 180 and v.theirs in IDLE else None


def approach(v: View) -> Choice | None:
    """Who lies on the ground, or is too far away for everything above."""
    return ("forward", "down+back") if v.gap > 190 or (v.theirs == HIT and v.gap > 90) else None


def stay_low(v: View) -> Choice:
    """Guard: crouching, and every third time standing."""
    return ("down+back", "back")


PATIENT: tuple[Rule, ...] = (
    in_flight, meet_jump, meet_projectile, answer_blow, throw, strike, shoot, approach, stay_low,
)  # fmt: skip
"""The first that has something to say is followed; the last always has."""
NEEDED = (
    "A", "B", "C", "rising", "projectile", "forward", "back", "down+back", "down+Z", "forward+Z", "forward+C", "back+C",
    "down+back+A", "down+back+C",
)  # fmt: skip
"""Every action that a rule may name."""


class Eyes(Scripted):
    """What a fighter notices from frame to frame, without deciding anything."""

    def look(self, variables: Variables, held: Pad) -> View:
        """What is known now, by one who held these buttons on the frame before."""
        self.held = held
        self.seen.append(noticed(variables))
        return self.view(self.seen[0])


class Decision(NamedTuple):
    """What to do now, and what instead if that was done too often."""

    action: TableAction | Absent
    second: TableAction | Absent


_NOT_ASKED = Decision(ABSENT, ABSENT)


class ScriptedStrategist(Node, category="fighting"):
    """Decide by rules when asked: the scripted ceiling under which a learning strategist is judged.

    variables:  of the Street Fighter II map, on every frame: it notices how long things last and what comes nearer
    ask:        True: decide now
    pad:        the buttons held on the frame before, by which it guesses when a projectile is here
    action:     the best action, on the ticks on which it is asked
    second:     the second best, on the same ticks
    Its brain is the action table that the sink presses by.
    """

    brain: ActionTable
    late: int = widget(default=0, min=0, max=120, doc="frames between what happens and what it knows")

    def open(self, host: Host) -> None:
        if missing := [name for name in NEEDED if name not in self.brain.names]:
            raise MinibrainsError(f"the action table has no {missing[0]!r}; expected one with {', '.join(NEEDED)}")
        self._index = {name: place for place, name in enumerate(self.brain.names)}

    def reset(self, episode: Episode) -> None:
        self.eyes = Eyes((), self.late)
        self.eyes.reset(0)

    def tick(self, variables: On[Variables], ask: Flag, pad: Pad | None = None) -> Decision:
        if variables is None:
            return _NOT_ASKED
        view = self.eyes.look(variables, pad or ())
        if not ask:
            return _NOT_ASKED
        best, second = next(choice for rule in PATIENT if (choice := rule(view)))
        return Decision(self._index[best], self._index[second])
