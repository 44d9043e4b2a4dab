"""The division of Meadow's areas and steps of the main quest into training, validation and held-
back parts.

The rule: an area belongs to one part, and so does a step. A state is held back if its area or its
step is, validates if
its area or its step does, and is for training otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

VALIDATION_AREAS = ("cave",)
HELD_BACK_AREAS = ("grove", "shrine")
VALIDATION_STEPS = (2,)
HELD_BACK_STEPS = (4,)
DECIDED_BY = ("area", "flags", "start")
"""Variables that would make another state of one, if the host wrote them."""


def part_of(area: str, step: int) -> str:
    """Return the part of a state: training, validation or held_back.

    Args:
        area: The area that the hero is in.
        step: The number of steps of the main quest that are done, 0 to 6.
    """
    if area in HELD_BACK_AREAS or step in HELD_BACK_STEPS:
        return "held_back"
    if area in VALIDATION_AREAS or step in VALIDATION_STEPS:
        return "validation"
    return "training"


def description() -> Mapping[str, list[str] | list[int]]:
    """Return the rule, as splits.json says it."""
    return {
        "validation_areas": list(VALIDATION_AREAS),
        "held_back_areas": list(HELD_BACK_AREAS),
        "validation_steps": list(VALIDATION_STEPS),
        "held_back_steps": list(HELD_BACK_STEPS),
        "decided_by": list(DECIDED_BY),
    }
