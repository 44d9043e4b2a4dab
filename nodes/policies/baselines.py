"""Baselines: a random policy, and one that plays macros from a table."""

from __future__ import annotations

from itertools import takewhile
from operator import itemgetter
from typing import Annotated, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    Episode,
    Host,
    Node,
    Situation,
    Socket,
    setting,
    tensor,
    widget,
)
from minibrains.errors import BrainError

ChosenAction = Annotated[int, Socket("action", "index[{actions}]")]


class RandomPolicy(
    Node, category="policies", every_tick=True, renamed_attributes={"left": "remaining"}
):
    """A uniformly random action every `hold` ticks: the baseline that every agent has to beat.

    Out:  an action, 0 to `actions` - 1, on the ticks on which one is drawn
    """

    actions: int = widget(min=1, doc="the number of actions to choose from")
    hold: int = widget(default=8, min=1, doc="ticks from one action to the next")

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()
        self.remaining = 0

    def tick(self) -> ChosenAction | Absent:
        if self.remaining:
            self.remaining -= 1
            return ABSENT
        self.remaining = self.hold - 1
        return int(self.rng.integers(self.actions))


class ReflexBrain(Brain):
    """For each situation a macro: rows of an action and the number of
    ticks for which to hold it.
    """

    kind = "reflex"
    actions: int = setting(doc="the number of actions that the table chooses from")
    action: np.ndarray = tensor("i32[situations rows]", "the action of each row")
    ticks: np.ndarray = tensor(
        "i32[situations rows]",
        "number of ticks for which it is held; 0 ends the macro before this row",
    )

    def check(self, where: str) -> None:
        if self.action.size == 0 or (self.action < 0).any() or (self.action >= self.actions).any():
            raise BrainError(
                f"{where}: every action must be from 0 to {self.actions - 1}, and there must be one"
            )
        if (self.ticks < 0).any() or (self.ticks[:, 0] == 0).any():
            raise BrainError(
                f"{where}: ticks must not be negative, nor 0 in the first row of a macro"
            )


class Reflex(NamedTuple):
    """The action of a reflex, and whether a macro has just begun."""

    action: ChosenAction | Absent
    started: Annotated[bool, Socket("flag")]


class ReflexPolicy(
    Node, category="policies", every_tick=True, renamed_attributes={"left": "remaining"}
):
    """Play macros from a table: the one for the current situation, to its end, then the next.

    situation:  selects the macro; without a link always the first
    action:     delivered when a row begins
    started:    True on ticks on which a macro begins
    """

    brain: ReflexBrain

    def open(self, host: Host) -> None:
        self._macros: list[list[list[int]]] = []
        table = np.stack([self.brain.action, self.brain.ticks], axis=2)
        for macro in table.tolist():
            rows = takewhile(itemgetter(1), macro)  # a row that is held for no tick ends it
            self._macros.append(list(rows))

    def reset(self, episode: Episode) -> None:
        self.macro, self.row, self.remaining = 0, 0, 0

    def tick(self, situation: Situation | None = None) -> Reflex:
        if self.remaining:
            self.remaining -= 1
            return _SAME
        started = not self.row
        if started:
            self.macro = situation or 0
        rows = self._macros[self.macro]
        action, ticks = rows[self.row]
        self.row, self.remaining = (self.row + 1) % len(rows), ticks - 1
        return Reflex(action, started)


_SAME = Reflex(ABSENT, False)
