"""Players as cards of numbers: how the judge says them, who searches otherwise than `evolution.py` and `genomes.py` do.

An answer is a walk, one of the moves that the game knows, and a pause; not any steps in any order.
"""

from __future__ import annotations

from collections.abc import Callable

from games.source.duel.native.players import (
    CELLS,
    DISTANCE_BANDS,
    FEATURES,
    MOST_STEPS,
    STATUS_GROUPS,
    STATUSES,
    Answer,
    Condition,
    Player,
    Step,
    action_numbers,
)
from games.source.duel.search.genomes import THRESHOLDS, Space

WALKS = ("", "F", "G", "UP", "UP+F", "UP+G", "DOWN", "DOWN+F", "DOWN+G")
FRAMES = (1, 2, 3, 5, 8, 13, 21, 34)
MOVES: tuple[tuple[str, ...], ...] = (
    (),
    *((button,) for button in "XYZABC"),
    *((f"DOWN+{button}",) for button in "XYZABC"),
    *((f"F+{button}",) for button in "XYZABC"),
    *(("DOWN", "DOWN+F", f"F+{button}") for button in "XYZ"),
    *(("F", "DOWN", f"DOWN+F+{button}") for button in "XYZ"),
)
PRESSED = 3
"""Frames of each step of a move."""
PALETTE = 5
"""Answers that a table has, each for as many cells as it likes."""
FINENESS = 32
"""Values that a threshold or an edge can have."""

Card = tuple[int, ...]
Take = Callable[[int], int]
"""Takes the next number of a card, which is below the one that is given."""


def player_of(space: Space, card: Card) -> Player:
    """Return the player that a card describes."""
    numbers = iter(card)
    return _read(space, lambda size: next(numbers))


def sizes(space: Space) -> Card:
    """Return how many values each number of a card can have."""
    asked: list[int] = []

    def take(size: int) -> int:
        asked.append(size)
        return 0

    _read(space, take)
    return tuple(asked)


def _read(space: Space, take: Take) -> Player:
    late, interval = space.late, space.interval
    if space.kind in ("blind loop", "side loop"):
        steps = _loop(space, take)
        return Player("loop", (steps,), late, interval, knows_side=space.kind == "side loop")
    if space.kind == "table":
        edges = sorted(36 + 6 * take(FINENESS) for _ in range(DISTANCE_BANDS - 1))
        height = 1 + 3 * take(FINENESS)
        groups = tuple(take(STATUS_GROUPS) for _ in STATUSES)
        palette = [_answer(space, take) for _ in range(PALETTE)]
        return Player(
            "table",
            tuple(palette[take(PALETTE)] for _ in range(CELLS)),
            late,
            interval,
            distance_edges=tuple(edges),
            height_edge=height,
            status_groups=groups,
        )
    count = 1 if space.kind == "one threshold" else 2
    conditions = tuple(_condition(take) for _ in range(count))
    answers = tuple(_answer(space, take) for _ in range(2**count))
    return Player("rule", answers, late, interval, conditions=conditions)


def _loop(space: Space, take: Take) -> Answer:
    """One answer and a step; of actions, one to six."""
    if space.interval:
        length = 1 + take(MOST_STEPS)
        steps = [_action(take) for _ in range(MOST_STEPS)]
        return tuple(steps[:length])
    steps = [*_answer(space, take), _walk(take)]
    return tuple(Step(space.to_pad(step.held), step.frames) for step in steps)


def _answer(space: Space, take: Take) -> Answer:
    if space.interval:
        return (_action(take),)
    walk = _walk(take)
    move = MOVES[take(len(MOVES))]
    pause = _walk(take)
    return (walk, *(Step(held, PRESSED) for held in move), pause)


def _walk(take: Take) -> Step:
    way = WALKS[take(len(WALKS))]
    return Step(way, FRAMES[take(len(FRAMES))])


def _action(take: Take) -> Step:
    names = list(action_numbers())
    return Step(names[take(len(names))])


def _condition(take: Take) -> Condition:
    """A feature, and a value of its range; of a set of statuses, which of them are in it."""
    feature = FEATURES[take(len(FEATURES))]
    value = take(FINENESS)
    statuses = take(2 ** len(STATUSES))
    if feature not in THRESHOLDS:
        return Condition(feature, statuses)
    least, most = THRESHOLDS[feature]
    return Condition(feature, least + value * (most - least) // FINENESS)
