"""Gates: how often an action may repeat, and when the last one has recovered."""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Action,
    Brain,
    Episode,
    Flag,
    Host,
    Node,
    Number,
    On,
    tensor,
    widget,
)
from minibrains.errors import BrainError, MinibrainsError
from nodes.actions.sink import TableAction


class AntiRepeat(
    Node, category="actions", version=2, renamed_widgets={1: {"instead": "alternatives"}}
):
    """Never let one action through more than `limit` times in a row:
    the second best takes its place.

    action:  the action wanted now
    second:  the action to take instead, delivered on the same tick; without it the first of
             `alternatives` that differs
    Out:     the action to take, on the ticks on which one is wanted
    """

    limit: int = widget(
        default=2,
        min=1,
        max=1000,
        doc="the number of times that an action may be taken in succession",
    )
    alternatives: tuple[int, ...] = widget(
        default=(0, 1), doc="at least two different actions, for ticks without a second best"
    )

    def check(self) -> None:
        if len(set(self.alternatives)) < 2 or min(self.alternatives) < 0:
            raise MinibrainsError(
                f"alternatives is {list(self.alternatives)}; expected at least two different "
                "actions, from 0 on"
            )

    def reset(self, episode: Episode) -> None:
        self.latest, self.times = -1, 0

    def tick(self, action: On[Action], second: On[Action] = None) -> Action | Absent:
        if action is None:
            return ABSENT
        if action == self.latest and self.times >= self.limit:
            others = self.alternatives
            if second is not None:
                others = (second, *self.alternatives)
            action = next(other for other in others if other != action)
        if action == self.latest:
            self.times += 1
        else:
            self.times = 1
        self.latest = action
        return action


class RecoveryBrain(Brain):
    """The recovery time of each action, in ticks."""

    kind = "recovery"
    recovery: np.ndarray = tensor(
        "i32[actions]", "number of ticks after the action during which no other is let through"
    )

    def check(self, where: str) -> None:
        if (self.recovery < 0).any():
            raise BrainError(f"{where}: recovery must not be negative")


class Gated(NamedTuple):
    """The outputs of the gate."""

    action: TableAction | Absent
    ready: Flag
    remaining: Number
    since: Number


_gated = partial(tuple.__new__, Gated)
"""Make a Gated from a tuple, which takes half as long as from fields: the gate delivers on every
tick."""


class CooldownGate(
    Node,
    category="actions",
    version=2,
    renamed_outputs={1: {"left": "remaining"}},
    renamed_attributes={"left": "remaining"},
    every_tick=True,
):
    """Let an action through only when the last one has recovered.

    action:     the action wanted now; one that is not let through is dropped
    action (out):  the action let through
    ready:      True when an action would be let through on the next tick
    remaining:  number of ticks, from the next one on, on which no action will be let through
    since:      ticks since the last action was let through, 0 on that tick; before the first: since
                the episode began
    """

    brain: RecoveryBrain
    idle: Literal["repeat", "release"] = widget(
        default="repeat",
        doc="repeat: send nothing, so the sink keeps the last row; release: on the next tick, send "
        "action 0 (useful only if actions have one row)",
    )

    def open(self, host: Host) -> None:
        self._recovery = self.brain.recovery.tolist()

    def reset(self, episode: Episode) -> None:
        self.remaining = 0
        self.since = -1
        self.release = False

    def tick(self, action: On[TableAction]) -> Gated:
        self.since = since = self.since + 1
        remaining = self.remaining
        sent: int | Absent = ABSENT
        if remaining:
            self.remaining = remaining = remaining - 1
            if self.release:
                self.release, sent = False, 0
        elif action is not None:
            self.remaining = remaining = self._recovery[action]
            self.since = since = 0
            sent = action
            self.release = self.idle == "release" and remaining > 0
        return _gated((sent, not remaining, remaining, since))
