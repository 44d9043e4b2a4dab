"""Questions about invented fights: random moments,
described by the same nodes that describe real ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minibrains import Episode
from nodes.fighting.features import FLOOR, FULL, STATUS, FrameHistory, GameFeatures
from nodes.language.prompt import PromptBuilder, PromptTemplate

MOMENTS = 3
"""Number of successive moments: the question is about the last, and the others are its history."""
WIDTH = 512
"""Width of a stage in pixels."""
NEAR = 160
"""Largest distance of the fighters in pixels, so that each of the three ranges is common."""
HIGHEST = 100
"""Largest height of a jump in pixels."""


def random_questions(
    template: PromptTemplate, count: int, random: np.random.Generator
) -> Iterator[str]:
    """Yield `count` questions in the form that `PromptBuilder` gives them with a template."""
    features = GameFeatures()
    builder = PromptBuilder(brain=template)
    for _ in range(count):
        history = FrameHistory(steps=MOMENTS - 1)
        history.reset(Episode(index=0, seed=0))
        for _ in range(MOMENTS):
            fight = features.tick(_random_moment(random)).fight
            past = history.tick(fight)
        yield builder.tick(fight, past.text).prompt


def _random_moment(random: np.random.Generator) -> dict[str, int]:
    """Return the variables of a game at some moment."""
    own_x = int(random.integers(NEAR, WIDTH - NEAR))
    apart = int(random.integers(-NEAR, NEAR + 1))
    variables = {"agent_x": own_x, "enemy_x": own_x + apart}
    statuses = list(STATUS)
    for name in ("agent", "enemy"):
        is_in_air = random.integers(2)
        variables[f"{name}_hp"] = int(random.integers(FULL + 1))
        variables[f"{name}_y"] = FLOOR - int(is_in_air * random.integers(HIGHEST + 1))
        variables[f"{name}_status"] = statuses[random.integers(len(statuses))]
    return variables
