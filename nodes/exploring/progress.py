"""WorldProgress: how far a game in a world of tiles has come, for its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains import Episode, Node, Variables


class WorldProgress(Node, category="exploring"):
    """Report how far the hero has come: steps of quests, areas and deaths.

    variables:  of Meadow, on every tick

    The episode's results get `quest_steps` of the main quest, `side_steps` of all side quests
    together, `areas` that were entered, and `deaths`. An evaluation adds this node itself, where
    the game says so.
    """

    def reset(self, episode: Episode) -> None:
        self.variables: Variables | None = None

    def tick(self, variables: Variables) -> None:
        self.variables = variables

    def report(self) -> Mapping[str, Any]:
        now = self.variables
        if now is None:
            return {}
        return {
            "quest_steps": now["step"],
            "side_steps": sum(now[name] for name in now if name.startswith("side_")),
            "areas": now["areas_seen"].bit_count(),
            "deaths": now["deaths"],
        }
