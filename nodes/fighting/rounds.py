"""The way in which a match was fought, for its results: RoundEnds, AttackShare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from minibrains import Episode, Host, Node, On, Variables, widget
from nodes.actions.sink import ActionTable, TableAction

KNOCKED_OUT: Final = -1
"""The health of a fighter who is knocked out."""


class RoundEnds(Node, category="fighting"):
    """Count the rounds that the agent won by the clock: the other was not knocked out.

    variables:  of the Street Fighter II map, on every frame

    The episode's results get `rounds_by_clock`. An evaluation adds this node itself, where the game
    says so.
    """

    def reset(self, episode: Episode) -> None:
        self.victories: int | None = None
        self.by_clock = 0

    def tick(self, variables: Variables) -> None:
        victories = variables["agent_victories"]
        is_new = self.victories is not None and victories > self.victories
        if is_new and variables["enemy_hp"] > KNOCKED_OUT:
            self.by_clock += 1
        self.victories = victories

    def report(self) -> Mapping[str, Any]:
        return {"rounds_by_clock": self.by_clock}


class AttackShare(Node, category="fighting"):
    """Tell which share of the actions were attacks: how aggressive an agent is.

    action:  the action that is taken; it counts on the ticks on which it is delivered
    An action that presses a button other than a direction counts as an attack, or one of `buttons`
    if these are named. Its brain is the action table that the sink uses.

    The episode's results get `attack_share`, from 0 to 1, if there were actions.
    Raises MinibrainsError if the table lacks one of `buttons`.
    """

    brain: ActionTable
    buttons: tuple[str, ...] = widget(
        default=(), rebuild=True, doc="only attacks with these buttons; empty: all"
    )

    def open(self, host: Host) -> None:
        self._attacks = frozenset(self.brain.attacks(self.buttons))

    def reset(self, episode: Episode) -> None:
        self.attacks = self.actions = 0

    def tick(self, action: On[TableAction]) -> None:
        if action is None:
            return
        self.actions += 1
        self.attacks += action in self._attacks

    def report(self) -> Mapping[str, Any]:
        if not self.actions:
            return {}
        return {"attack_share": round(self.attacks / self.actions, 6)}
