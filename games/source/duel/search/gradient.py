"""Tables of simple players, found by policy gradient: which answer is best in each cell.

The evolution of exploits.py compares whole players by the matches that they win. Here each answer
is judged by itself, by the damage that follows it, which finds strategies whose parts win only
together. Waiting and walking in are followed by no damage, so for the time in which the enemy does
nothing, they are tried afterwards, together in all bands of distance, and judged by matches.

Source: R. J. Williams, Simple statistical gradient-following algorithms for connectionist
reinforcement learning, 1992.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from random import Random

import numpy as np

from games.source.duel.native.palette import draw_answers
from games.source.duel.native.players import (
    CELLS,
    DISTANCE_BANDS,
    HEIGHT_BANDS,
    STATUS_GROUPS,
    STATUSES,
    Answer,
    Player,
    Step,
    action_numbers,
    play,
)
from games.source.duel.search.evolution import shuffled_settings, strength
from games.source.duel.search.genomes import BUTTONS, Space
from games.source.duel.search.policy_gradient import PolicyGradient, fading_weights

WEIGHTS = fading_weights(full=20, half_life=40.0, forgotten=110)
"""The weight of what is gained or lost on each frame after a decision."""
STEPS, MATCHES_A_STEP = 100, 48
GRADIENT = PolicyGradient(rate=0.3, most_change=0.6, doubt=8.0, least=-6.0)
GROUPED = ("jump", "attack", "special", "hit", "block")
"""The statuses of which two have a group of their own in a table."""
NEAR, FAR = 124, 190
"""Pixels: the bands of half of all tables end nearer than NEAR, those of the others than FAR."""
TRIED, TRIED_AGAIN, AGAIN = 16, 80, 16
"""The number of matches for each way to wait and walk in, and for each of the best AGAIN."""


def palette_of(space: Space) -> list[Answer]:
    """Return the answers of a space: the 44 actions, or walks, guards, attacks, leaps and special
    moves.
    """
    if space.interval:
        return [(Step(name),) for name in action_numbers()]
    guard = Step("DOWN+G", 6)
    long_guard = Step("DOWN+G", 20)

    # walking, guarding, waiting and jumping
    answers: list[Answer] = [
        (Step("F", 1),),
        (Step("F", 4),),
        (Step("F", 18),),
        (Step("G", 6),),
        (Step("DOWN+G", 3),),
        (Step("DOWN+G", 14),),
        (Step("", 4),),
        (Step("UP", 4), Step("", 36)),
        (Step("UP+G", 4), Step("", 36)),
        (guard, Step("C", 14)),
    ]

    # blows, with a guard after them
    for button in BUTTONS:
        answers.append((Step(button, 3), guard))
        answers.append((Step(f"DOWN+{button}", 3), guard))
    for button in ("Z", "B", "C"):
        answers.append((Step(button, 3), long_guard))
        answers.append((Step("F", 9), Step(button, 3), long_guard))

    # throws
    for button in ("Z", "C"):
        answers.append((Step(f"F+{button}", 2), long_guard))
        answers.append((Step(f"F+{button}", 2), guard))
        answers.append((Step("F", 6), Step(f"F+{button}", 2)))

    # leaps
    for frames in (14, 20, 26, 31):
        for button in ("B", "C", "Y"):
            leap = (Step("UP+F", 4), Step("", frames))
            answers.append((*leap, Step(button, 3), Step("DOWN+G", 5)))

    # special moves
    for button in ("X", "Z"):
        quarter = (Step("DOWN", 2), Step("DOWN+F", 2), Step(f"F+{button}", 3))
        answers.append((*quarter, Step("F", 6)))
        answers.append((*quarter, long_guard))
    rising = (Step("F", 2), Step("DOWN", 2), Step("DOWN+F+Z", 3))
    answers.append((*rising, guard))
    answers.append((*rising, Step("DOWN+G", 30)))
    return answers


def learned_table(space: Space, level: int, name: str) -> Player:
    """Draw the bands of a table, learn its answers, and return the table with the best of them.

    Args:
        space: The space of tables.
        level: The level of the computer opponent.
        name: The text from which matches and bands are derived.
    """
    rng = Random(f"{name} {space} at {level}")
    table = drawn_table(space, rng)
    palette = palette_of(space)
    worth = np.zeros((CELLS, len(palette)), np.float32)
    matches = shuffled_settings(f"{name} gradient", level)
    for _ in range(STEPS):
        coming = list(islice(matches, MATCHES_A_STEP))
        lessons, _ = draw_answers(table, palette, worth, rng.getrandbits(31), coming, WEIGHTS)
        GRADIENT.improve(worth, lessons)
    best = [palette[number] for number in worth.argmax(axis=1)]
    return with_best_waiting(space, level, name, replace(table, answers=tuple(best)))


def with_best_waiting(space: Space, level: int, name: str, table: Player) -> Player:
    """Return the table that does best if it guards, walks in, or answers as before, by distance,
    while the enemy is on the ground and does nothing.

    Args:
        space: The table's space.
        level: The level of the computer opponent.
        name: The text from which the matches are derived.
        table: The table.
    """
    guard, walk = Step("DOWN+G", 3), Step("F", 1)
    if space.interval:
        guard, walk = Step("down+left"), Step("right")
    tables: list[Player] = []
    for ways in product((guard, walk, None), repeat=DISTANCE_BANDS):
        # the enemy does nothing in the first group, and perhaps in one of the two others
        for groups in ((0,), (0, 1), (0, 2)):
            tables.append(waiting(table, ways, groups))
    for count, kept in ((TRIED, AGAIN), (TRIED_AGAIN, 1)):
        matches = list(islice(shuffled_settings(f"{name} waiting {count}", level), count))
        scores = [strength(results) for results in play(tables, matches)]
        order = sorted(range(len(tables)), key=lambda place: -scores[place])
        tables = [tables[place] for place in order[:kept]]
    return tables[0]


def waiting(table: Player, ways: Sequence[Step | None], groups: Sequence[int]) -> Player:
    """Return a table that holds these buttons in these groups of statuses, while the enemy is low.

    Args:
        table: The table that answers otherwise.
        ways: What to hold in each band of distance; None: the table's own answers.
        groups: The groups.
    """
    answers = list(table.answers)
    for band, way in enumerate(ways):
        if way is None:
            continue
        for group in groups:
            answers[(band * STATUS_GROUPS + group) * HEIGHT_BANDS] = (way,)
    return replace(table, answers=tuple(answers))


def drawn_table(space: Space, rng: Random) -> Player:
    """Draw a table with edges of distances and groups of statuses that a person might choose."""
    farthest = rng.choice((NEAR, FAR))
    edges = sorted(rng.sample(range(44, farthest, 2), DISTANCE_BANDS - 1))
    first, second = rng.sample(GROUPED, 2)
    groups = [0] * len(STATUSES)
    groups[STATUSES.index(first)] = 1
    groups[STATUSES.index(second)] = 2
    return replace(
        space.random(rng),
        distance_edges=tuple(edges),
        height_edge=rng.randint(20, 60),
        status_groups=tuple(groups),
    )
