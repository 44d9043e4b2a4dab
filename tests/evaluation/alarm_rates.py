"""How often the alarm of `evaluate --no-worse-than` is raised, by simulation:
`python -m tests.evaluation.alarm_rates`.

Both agents play the same episodes. Each start has a chance of its own to be won, which both agents
share, up to the points by which the second one is worse; beyond that they are independent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from minibrains.evaluation.regression import judge_regression

REPEATS = 2000
ALIKE = (0.75, 0.75)
"""Chances of easy and hard starts that are all alike."""
MIXED = (0.95, 0.55)
"""Chances of easy and hard starts."""


def alarms(
    chances: tuple[float, float],
    points: int,
    episodes: int = 300,
    opponents: int = 1,
    repeats: int = REPEATS,
    seed: int = 0,
) -> float:
    """Return the share of simulated evaluations that raise the alarm.

    Args:
        chances: The chances of the earlier agent at easy and at hard starts, half of each.
        points: The points out of 100 by which the agent is worse today.
        episodes: The number of episodes against each opponent.
        opponents: The number of opponents.
        repeats: The number of simulated evaluations.
        seed: The seed.
    """
    rng = np.random.default_rng(seed)
    starts = np.resize(chances, episodes)
    raised = 0
    for _ in range(repeats):
        pairs = []
        for opponent in range(opponents):
            before = rng.random(episodes) < starts
            now = rng.random(episodes) < starts - points / 100
            pairs.append((str(opponent), _rows(now), _rows(before)))
        raised += judge_regression("agent", Path("earlier.json"), pairs)["worse"]
    return raised / repeats


def _rows(won: np.ndarray) -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for index, is_won in enumerate(won.tolist()):
        rows[index] = {"ended": "done", "won": is_won, "drawn": False, "start": None}
    return rows


def main() -> None:
    """Print the share of alarms for agents that are as good as before, and for worse ones."""
    print(f"share of alarms in {REPEATS} simulated evaluations; 75 % of the episodes were won")
    print("episodes  opponents  points worse  starts alike  starts mixed")
    for episodes, opponents, points in (
        (300, 1, 0),
        (300, 1, 5),
        (300, 1, 10),
        (300, 1, 15),
        (100, 1, 10),
        (1000, 1, 5),
        (100, 12, 0),
        (100, 12, 10),
    ):
        rates = [alarms(chances, points, episodes, opponents) for chances in (ALIKE, MIXED)]
        print(
            f"{episodes:>8}  {opponents:>9}  {points:>12}  "
            f"{100 * rates[0]:>10.1f} %  {100 * rates[1]:>10.1f} %"
        )


if __name__ == "__main__":
    main()
