"""Simple players as tuples of integers, called cards: the judge's encoding,
which differs from `genomes.py`.

An answer is a walk, one of the game's moves, and a pause, instead of any steps in any order.
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
    ("X",), ("Y",), ("Z",), ("A",), ("B",), ("C",),
    ("DOWN+X",), ("DOWN+Y",), ("DOWN+Z",), ("DOWN+A",), ("DOWN+B",), ("DOWN+C",),
    ("F+X",), ("F+Y",), ("F+Z",), ("F+A",), ("F+B",), ("F+C",),
    ("DOWN", "DOWN+F", "F+X"), ("DOWN", "DOWN+F", "F+Y"), ("DOWN", "DOWN+F", "F+Z"),
    ("F", "DOWN", "DOWN+F+X"), ("F", "DOWN", "DOWN+F+Y"), ("F", "DOWN", "DOWN+F+Z"),
)  # fmt: skip
"""The moves of an answer, each as its steps: none, the attacks, and the two special moves."""
PRESSED = 3
"""Frames of each step of a move."""
PALETTE = 5
"""The number of answers among which a table chooses for each of its cells."""
FINENESS = 32
"""The number of values that a threshold or an edge can have."""

Card = tuple[int, ...]
Take = Callable[[int], int]
"""A function that returns the next number of a card, which is from 0 to its argument - 1."""


def player_of(space: Space, card: Card) -> Player:
    """Return the player that a card describes."""
    numbers = iter(card)

    def take(size: int) -> int:
        return next(numbers)

    return _read(space, take)


def sizes(space: Space) -> Card:
    """Return the number of values that each number of a card can have."""
    asked: list[int] = []

    def take(size: int) -> int:
        asked.append(size)
        return 0

    _read(space, take)
    return tuple(asked)


def _read(space: Space, take: Take) -> Player:
    if space.kind in ("blind loop", "side loop"):
        steps = _loop(space, take)
        return Player(
            "loop", (steps,), space.late, space.interval, knows_side=space.kind == "side loop"
        )
    if space.kind == "table":
        return _table(space, take)
    return _rule(space, take)


def _rule(space: Space, take: Take) -> Player:
    count = 1 if space.kind == "one threshold" else 2
    conditions: list[Condition] = []
    for _ in range(count):
        conditions.append(_condition(take))
    answers: list[Answer] = []
    for _ in range(2**count):
        answers.append(_answer(space, take))
    return Player("rule", tuple(answers), space.late, space.interval, conditions=tuple(conditions))


def _table(space: Space, take: Take) -> Player:
    edges: list[int] = []
    for _ in range(DISTANCE_BANDS - 1):
        edges.append(36 + 6 * take(FINENESS))
    edges.sort()
    height = 1 + 3 * take(FINENESS)
    groups = [take(STATUS_GROUPS) for _ in STATUSES]
    palette: list[Answer] = []
    for _ in range(PALETTE):
        palette.append(_answer(space, take))
    answers: list[Answer] = []
    for _ in range(CELLS):
        answers.append(palette[take(PALETTE)])
    return Player(
        "table",
        tuple(answers),
        space.late,
        space.interval,
        distance_edges=tuple(edges),
        height_edge=height,
        status_groups=tuple(groups),
    )


def _loop(space: Space, take: Take) -> Answer:
    """Return an answer and another walk, or one to six actions."""
    steps: list[Step] = []
    if space.interval:
        length = 1 + take(MOST_STEPS)
        for _ in range(MOST_STEPS):  # cards have numbers for all of them, whatever the length
            steps.append(_action(take))
        return tuple(steps[:length])
    for step in (*_answer(space, take), _walk(take)):
        steps.append(Step(space.to_pad(step.held), step.frames))
    return tuple(steps)


def _answer(space: Space, take: Take) -> Answer:
    if space.interval:
        return (_action(take),)
    walk = _walk(take)
    move = MOVES[take(len(MOVES))]
    pause = _walk(take)
    presses = [Step(held, PRESSED) for held in move]
    return (walk, *presses, pause)


def _walk(take: Take) -> Step:
    way = WALKS[take(len(WALKS))]
    return Step(way, FRAMES[take(len(FRAMES))])


def _action(take: Take) -> Step:
    names = list(action_numbers())
    return Step(names[take(len(names))])


def _condition(take: Take) -> Condition:
    """Return a condition: a feature, with a threshold in its range or a set of statuses."""
    feature = FEATURES[take(len(FEATURES))]
    value = take(FINENESS)
    statuses = take(2 ** len(STATUSES))
    if feature not in THRESHOLDS:
        return Condition(feature, statuses)
    least, most = THRESHOLDS[feature]
    return Condition(feature, least + value * (most - least) // FINENESS)
