"""ScriptedStrategist: rules for fighting when every decision is binding for half a second.

The rules name actions of a table with FORWARD and BACK, and take the place of a learning agent in
a graph: asked now and then, they answer with the best action and the second best.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from minibrains import (
    ABSENT,
    Absent,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Node,
    On,
    Pad,
    Variables,
    widget,
)
from nodes.actions.sink import ActionTable, TableAction
from nodes.fighting import choices
from nodes.fighting.choices import Choice
from nodes.fighting.fighters import Scripted, noticed
from nodes.fighting.styles import ATTACK, BLOCK, CROUCH, HIT, JUMP, SPECIAL, STAND, View

NEARER_THAN = (44, 62, 90, 130, 190)
"""The upper ends of the bands of distance that a rule distinguishes, in pixels between the two; one
more band follows."""


class Rule(NamedTuple):
    """A rule for one case: the best action and the second best, by distance."""

    name: str
    holds: Callable[[View], bool]
    choices: tuple[Choice, ...]
    """For each band of distance, the nearest first."""

    def __call__(self, view: View) -> Choice | None:
        """Return the choice, or None if this is not the case."""
        if not self.holds(view):
            return None
        return self.choices[bisect_right(NEARER_THAN, view.gap)]


STAY_LOW: Choice = ("down+back", "back")
"""Guard: crouching, and every third time standing."""

CASES: dict[str, Callable[[View], bool]] = {
    "in flight": lambda v: v.mine == JUMP,
    "a projectile comes": lambda v: -10 < v.shot_in < 34,
    "blocking": lambda v: v.mine == BLOCK,
    "hit": lambda v: v.mine == HIT,
    "stand": lambda v: v.theirs == STAND,
    "crouch": lambda v: v.theirs == CROUCH,
    "block": lambda v: v.theirs == BLOCK,
    "jump begins": lambda v: v.theirs == JUMP and not v.falls,
    "comes down from high": lambda v: v.theirs == JUMP and v.height > 40,
    "comes down": lambda v: v.theirs == JUMP,
    "blow begins": lambda v: v.theirs == ATTACK and v.since < 8,
    "blow": lambda v: v.theirs == ATTACK and v.since < 18,
    "blow is past": lambda v: v.theirs == ATTACK,
    "special begins": lambda v: v.theirs == SPECIAL and v.since < 14,
    "special": lambda v: v.theirs == SPECIAL and v.since < 36,
    "special is past": lambda v: v.theirs == SPECIAL,
    "was just hit": lambda v: v.theirs == HIT and v.since < 12,
    "was hit": lambda v: v.theirs == HIT,
}
"""The cases, of which the first that holds applies; choices.py has the actions for each."""

ANYTHING_ELSE = Rule("anything else", lambda v: True, (STAY_LOW,) * (len(NEARER_THAN) + 1))
"""The rule that always applies."""
_RULES = [Rule(name, holds, choices.PATIENT[name]) for name, holds in CASES.items()]
PATIENT = (*_RULES, ANYTHING_ELSE)
"""The rules in order; the first that applies is followed."""


def _named_actions() -> tuple[str, ...]:
    names: set[str] = set()
    for rule in PATIENT:
        for choice in rule.choices:
            names.update(choice)
    return tuple(sorted(names))


NEEDED = _named_actions()
"""Every action that a rule may name."""


def first_choice(rules: Iterable[Rule], view: View) -> Choice:
    """Return the choice of the first rule that applies.

    Raises ValueError if there is none. The last rule of PATIENT always applies.
    """
    for rule in rules:
        choice = rule(view)
        if choice is not None:
            return choice
    raise ValueError("no rule applies")


class Eyes(Scripted):
    """The senses of a fighter: what it notices from frame to frame, without deciding anything."""

    def look(self, variables: Variables, held: Pad) -> View:
        """Return the view of a fighter that held these buttons on the frame before."""
        self.held = held
        self.seen.append(noticed(variables))
        return self.view(self.seen[0])


class Decision(NamedTuple):
    """A decision: the action, and another one in case the first was done too often."""

    action: TableAction | Absent
    second: TableAction | Absent


_NOT_ASKED = Decision(ABSENT, ABSENT)


class ScriptedStrategist(Node, category="fighting"):
    """Decide by rules when asked: the reference that learning strategists are compared with.

    variables:  of the Street Fighter II map, on every frame: it notices how long things last and
                what comes nearer
    ask:        True: decide now
    pad:        the buttons held on the frame before, from which it estimates when a projectile
                arrives
    action:     the best action, on the ticks on which it is asked
    second:     the second best, on the same ticks
    Its brain is the action table that the sink uses.
    """

    brain: ActionTable
    late: int = widget(default=0, min=0, max=120, doc="frames until it knows what has happened")

    def open(self, host: Host) -> None:
        for name in NEEDED:
            if name not in self.brain.names:
                raise MinibrainsError(
                    f"the action table has no {name!r}; expected one with {', '.join(NEEDED)}"
                )
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
        best, second = first_choice(PATIENT, view)
        return Decision(self._index[best], self._index[second])
