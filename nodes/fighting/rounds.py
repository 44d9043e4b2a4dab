"""RoundEnds: how the rounds of a match were won, for its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from minibrains import Episode, Node, Variables

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
