"""Mixing: random actions among those of an agent, and two agents that take turns.

What a learner sees must not be only what a perfect player gets to see.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from minibrains import ABSENT, Absent, Episode, Flag, Node, On, Socket, widget
from nodes.actions.sink import ActionTable, TableAction


class Noisy(NamedTuple):
    """The outputs of NoisyAction."""

    action: TableAction | Absent
    random: Flag | Absent


_NOTHING = Noisy(ABSENT, ABSENT)


class NoisyAction(Node, category="actions"):
    """Replace some actions by random ones of the table, so that a teacher gets into situations
    that its own play avoids.

    action:        the action wanted now
    action (out):  the same or, with `probability`, any action of the table, each equally likely
    random:        whether it was drawn, on the same ticks
    Its brain is the action table that the sink uses. Which episodes and which actions these are
    follows from the run's seed. The console's start does not depend on it.
    """

    brain: ActionTable
    probability: float = widget(
        default=0.15, min=0.0, max=1.0, doc="the probability that an action is replaced"
    )
    share: float = widget(
        default=1.0, min=0.0, max=1.0, doc="the share of the episodes in which this happens"
    )

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()
        self.active = bool(self.rng.random() < self.share)

    def tick(self, action: On[TableAction]) -> Noisy:
        if action is None:
            return _NOTHING
        # both are drawn for every decision, so that a changed probability changes no other draw
        drawn = self.rng.random()
        other = int(self.rng.integers(self.brain.sizes["actions"]))
        if self.active and drawn < self.probability:
            return Noisy(other, True)
        return Noisy(action, False)


AnyAction = Annotated[int, Socket("action", "index[n]")]


class Mixed(NamedTuple):
    """The outputs of MixedAction."""

    action: AnyAction | Absent
    by_teacher: Flag | Absent


_NOBODY = Mixed(ABSENT, ABSENT)


class MixedAction(Node, category="actions"):
    """Let a student play, and a teacher with probability `beta`: the data that DAgger is made of
    shows what the student gets into, while every moment is labelled by the teacher.

    student:     the student's action, on the ticks on which it decides
    teacher:     the teacher's action, on the same ticks
    action:      the action of the one whose turn it is; nothing on a tick on which that one does
                 not decide
    by_teacher:  whether it is the teacher's, on the same ticks
    Source: S. Ross, G. Gordon, D. Bagnell, A Reduction of Imitation Learning and Structured
        Prediction to No-Regret Online Learning, AISTATS 2011.
    """

    beta: float = widget(
        default=0.5, min=0.0, max=1.0, doc="the probability that it is the teacher's turn"
    )
    per: Literal["episode", "decision"] = widget(
        default="decision", doc="whose turn it is is drawn once an episode, or for each decision"
    )

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()
        self.by_teacher = bool(self.rng.random() < self.beta)

    def tick(self, student: On[AnyAction], teacher: On[AnyAction]) -> Mixed:
        if student is None and teacher is None:
            return _NOBODY
        if self.per == "decision":
            self.by_teacher = bool(self.rng.random() < self.beta)
        action = student
        if self.by_teacher:
            action = teacher
        if action is None:
            return _NOBODY
        return Mixed(action, self.by_teacher)
