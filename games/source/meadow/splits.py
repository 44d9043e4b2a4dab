"""The division of a world's areas and steps of the main quest into training, validation and held-
back parts.

The rule: an area belongs to one part, and so does a step. A state is held back if its area or its
step is, validates if
its area or its step does, and is for training otherwise. `[splits]` in world.toml says which.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

DECIDED_BY = ("area", "flags", "start")
"""Variables that would make another state of one, if the host wrote them."""


class SplitRule:
    """The rule of one world."""

    def __init__(self, world: Path) -> None:
        """Read it from the folder of the world's files."""
        chosen = tomllib.loads((world / "world.toml").read_text())["splits"]
        self.validation_areas: list[str] = chosen["validation_areas"]
        self.held_back_areas: list[str] = chosen["held_back_areas"]
        self.validation_steps: list[int] = chosen["validation_steps"]
        self.held_back_steps: list[int] = chosen["held_back_steps"]

    def part_of(self, area: str, step: int) -> str:
        """Return the part of a state: training, validation or held_back.

        Args:
            area: The area that the hero is in.
            step: The number of steps of the main quest that are done, 0 to 6.
        """
        if area in self.held_back_areas or step in self.held_back_steps:
            return "held_back"
        if area in self.validation_areas or step in self.validation_steps:
            return "validation"
        return "training"

    def description(self) -> Mapping[str, list[str] | list[int]]:
        """Return the rule, as splits.json says it."""
        return {**vars(self), "decided_by": list(DECIDED_BY)}
