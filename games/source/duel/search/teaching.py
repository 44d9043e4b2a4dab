"""Learn the scripted teacher's actions, and write them to nodes/fighting/choices.py.

    python -m games.source.duel.search.teaching

The rules of strategist.py define the cases; their actions are learned from scratch by policy
gradient against one level. The return of a decision is the damage dealt minus the damage taken in
the two seconds after it. The same seed and opponent give the same actions.

Source: R. J. Williams, Simple statistical gradient-following algorithms for connectionist
reinforcement learning, 1992.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from tqdm import tqdm

from games.source.duel import fighters
from games.source.duel.counting import wilson
from games.source.duel.matches import settings
from games.source.duel.native.players import action_numbers, won
from games.source.duel.native.teacher import ACTIONS, BANDS, CELLS, Teacher, Worth, teach
from games.source.duel.search.evolution import shuffled_settings
from games.source.duel.search.policy_gradient import PolicyGradient, fading_weights
from minibrains.files import bundled_dir
from nodes.actions.sink import ActionTable
from nodes.fighting.strategist import CASES, NEARER_THAN, STAY_LOW

CHOICES = Path(__file__).resolve().parents[4] / "nodes/fighting/choices.py"
LEVEL = 4
WEIGHTS = fading_weights(full=50, half_life=35.0, forgotten=130)
"""The weight of what is gained or lost on each frame after a decision."""
MATCHES_A_STEP = 256
GRADIENT = PolicyGradient(rate=0.2, most_change=0.5, doubt=8.0, least=-7.0)


def told_by_facing() -> dict[int, str]:
    """Return the teacher's actions, named relative to the enemy,
    by their numbers for an enemy on the right.
    """
    table = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")
    names = {}
    for name, number in action_numbers().items():
        by_facing = name.removesuffix(" right").replace("right", "forward").replace("left", "back")
        if by_facing in table.names and fighters.in_table(by_facing, "right", "left") == name:
            names[number] = by_facing
    return names


def as_source(worth: Worth, names: dict[int, str]) -> str:
    """Return the text of choices.py, with the two best actions of each cell.

    Args:
        worth: The logits, f32 [CELLS, ACTIONS]. A cell of zeros never occurred, and gets STAY_LOW.
        names: The names of the actions by number.
    """
    lines = [
        (
            '"""The actions of ScriptedStrategist in each case, by distance: the best, '
            "and the second best."
        ),
        "",
        "Made by `python -m games.source.duel.search.teaching`.",
        '"""',
        "",
        "Choice = tuple[str, str]",
        "",
        "PATIENT: dict[str, tuple[Choice, ...]] = {",
    ]
    bands = [f"nearer than {pixels} pixels" for pixels in NEARER_THAN]
    bands.append("further away")
    for number, case in enumerate(CASES):
        lines.append(f'    "{case}": (')
        for row, band in zip(worth[BANDS * number :], bands, strict=False):
            best, second = STAY_LOW
            if row.any():
                first, next_best, *_ = sorted(names, key=lambda action: -row[action])
                best, second = names[first], names[next_best]
            lines.append(f'        ("{best}", "{second}"),  # {band}')
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def main() -> None:
    """Learn the actions, and write choices.py."""
    parser = argparse.ArgumentParser(description="Find the scripted teacher's rules.")
    parser.add_argument(
        "--steps", type=int, default=600, help="steps of the policy gradient (default: 600)"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    options = parser.parse_args()
    rng = Random(options.seed)
    names = told_by_facing()
    worth = np.zeros((CELLS, ACTIONS), np.float32)
    steps = tqdm(range(options.steps), unit="step")
    for _ in steps:
        drawn = shuffled_settings(f"teaching {rng.random()}", LEVEL)
        matches = list(islice(drawn, MATCHES_A_STEP))
        student = Teacher(worth, list(names), explores=True)
        lessons, results = teach(student, rng.getrandbits(31), matches, WEIGHTS)
        GRADIENT.improve(worth, lessons)
        steps.set_postfix(wins=f"{won(results).mean():.2f}")
    CHOICES.write_text(as_source(worth, names))
    fresh = list(islice(settings("taught", LEVEL), 300))
    _, results = teach(Teacher(worth, list(names)), 1, fresh, WEIGHTS)
    wins = int(won(results).sum())
    low, high = wilson(wins, len(fresh))
    print(f"the rules win {wins} of {len(fresh)} at level {LEVEL}, {low:.1%} to {high:.1%}")


if __name__ == "__main__":
    main()
