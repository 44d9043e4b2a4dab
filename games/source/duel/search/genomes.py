"""Random simple players, and their mutation and crossover,
for the evolution of each class of players.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random

from games.source.duel.native.players import (
    CELLS,
    DISTANCE_BANDS,
    FEATURES,
    HEIGHT_BANDS,
    MOST_STEPS,
    STATUS_GROUPS,
    STATUSES,
    Answer,
    Condition,
    Player,
    Step,
    action_numbers,
)

TURTLE = "turtle"

WAYS = ("", "", "F", "F", "G", "UP", "UP+F", "UP+F", "UP+G", "DOWN", "DOWN+F", "DOWN+G")
BUTTONS = ("X", "Y", "Z", "A", "B", "C")
PUNCHES = ("X", "Y", "Z")
LONGEST, SHORT = 40, 12
"""The most frames of a step, and of a step that is drawn as a short one."""
THRESHOLDS = {
    "distance": (32, 264),
    "height": (1, 110),
    "enemy frames": (1, 60),
    "own frames": (1, 60),
    "lead": (-60, 61),
}
"""The range of each feature's thresholds, in pixels, frames and points of health."""
FARTHEST = 999
"""A distance in pixels beyond all thresholds."""
JITTER = 0.08
"""The standard deviation of a threshold's mutation, as a fraction of its range."""


@dataclass(frozen=True)
class Space:
    """A search space: the players of one class with the same delay and interval."""

    kind: str
    """One of "blind loop", "side loop" (which knows the enemy's side), "one threshold", "two
    thresholds", "table"."""
    late: int
    interval: int
    is_turtle: bool = False
    """True if the search is for players that win by time-out."""

    def __str__(self) -> str:
        what, how = self.kind, "raw pads"
        if self.is_turtle:
            what = f"{self.kind}, {TURTLE}"
        if self.interval:
            how = f"an action every {self.interval}"
        return f"{what}, {self.late} late, {how}"

    @property
    def player_class(self) -> str:
        """The class for the limits, in which turtles of all kinds are one class."""
        return TURTLE if self.is_turtle else self.kind

    # ---- steps and answers ----

    def frames(self, rng: Random) -> int:
        """Draw a number of frames, short ones more often."""
        longest = SHORT if rng.random() < 0.5 else LONGEST
        return rng.randint(1, longest)

    def step(self, rng: Random) -> Step:
        """Draw a step."""
        if self.interval:
            return Step(rng.choice(list(action_numbers())))
        button = ""
        if rng.random() < 0.45:
            button = rng.choice(BUTTONS)
        held = joined(rng.choice(WAYS), button)
        return Step(self.to_pad(held), self.frames(rng))

    def to_pad(self, held: str) -> str:
        """Return buttons as a player of this space holds them: for a blind loop,
        forward is to the right.
        """
        if self.kind == "blind loop":
            return to_the_right(held)
        return held

    def special(self, rng: Random) -> Answer:
        """Draw the steps of a projectile or a rising attack."""
        ways = rng.choice((("DOWN", "DOWN+F", "F"), ("F", "DOWN", "DOWN+F")))
        frames = rng.randint(1, 4)
        first, second, last = ways
        punch = joined(last, rng.choice(PUNCHES))
        return (
            Step(self.to_pad(first), frames),
            Step(self.to_pad(second), frames),
            Step(self.to_pad(punch), rng.randint(1, 4)),
        )

    def answer(self, rng: Random) -> Answer:
        """Draw a few steps: a move and a pause, a single direction, or any steps."""
        if self.interval:
            return (self.step(rng),)
        waiting = rng.choice(("", "DOWN", "G", "DOWN+G", "F"))
        pause = Step(self.to_pad(waiting), self.frames(rng))
        what = rng.random()
        if what < 0.25:
            return (*self.special(rng), pause)
        if what < 0.5:
            held = joined(rng.choice(WAYS), rng.choice(BUTTONS))
            press = Step(self.to_pad(held), rng.randint(1, 4))
            return press, pause
        if what < 0.75:
            way = rng.choice(WAYS)
            return (Step(self.to_pad(way), rng.choice((1, 2, 4, 8, 16))),)
        steps: list[Step] = []
        for _ in range(rng.randint(1, 4)):
            steps.append(self.step(rng))
        return tuple(steps)

    def changed_step(self, rng: Random, step: Step) -> Step:
        """Mutate the buttons or the frames of a step, or draw another one."""
        what = rng.random()
        if self.interval or what < 0.2:
            return self.step(rng)
        if what < 0.45:
            return replace(step, held=self.step(rng).held)
        if what < 0.8:
            return replace(step, frames=within(step.frames + rng.randint(-4, 4), 1, LONGEST))
        return replace(step, frames=self.frames(rng))

    def changed_answer(self, rng: Random, answer: Answer, most: int = MOST_STEPS) -> Answer:
        """Mutate an answer: change, insert, delete or swap steps, or insert a special move."""
        steps = list(answer)
        place = rng.randrange(len(steps))
        what = rng.random()
        if what < 0.55:
            steps[place] = self.changed_step(rng, steps[place])
        elif what < 0.7 and len(steps) < most:
            steps.insert(place, self.step(rng))
        elif what < 0.82 and len(steps) > 1:
            del steps[place]
        elif what < 0.9 and len(steps) > 1:
            other = rng.randrange(len(steps))
            steps[place], steps[other] = steps[other], steps[place]
        elif not self.interval:
            steps[place : place + 3] = self.special(rng)
        return tuple(steps[:most])

    # ---- players ----

    def random(self, rng: Random) -> Player:
        """Draw a player."""
        if self.kind in ("blind loop", "side loop"):
            steps: list[Step] = []
            wanted = rng.randint(1, MOST_STEPS)
            while len(steps) < wanted:
                if self.interval or rng.random() < 0.8:
                    steps.append(self.step(rng))
                else:
                    steps += self.special(rng)
            return self.loop(tuple(steps[:MOST_STEPS]))
        if self.kind == "table" and rng.random() < 0.5:
            return self.table_of_bands(rng)
        if self.kind == "table":
            palette = self.answers(rng, rng.randint(2, 6))
            return self.table(rng, palette)
        count = 1 if self.kind == "one threshold" else 2
        answers = self.answers(rng, 2**count)
        conditions: list[Condition] = []
        for _ in range(count):
            conditions.append(condition(rng))
        return self.rule(answers, conditions)

    def answers(self, rng: Random, count: int) -> list[Answer]:
        """Draw some answers."""
        answers: list[Answer] = []
        for _ in range(count):
            answers.append(self.answer(rng))
        return answers

    def loop(self, steps: Answer) -> Player:
        """Return a loop of these steps."""
        return Player(
            "loop", (steps,), self.late, self.interval, knows_side=self.kind == "side loop"
        )

    def rule(self, answers: Iterable[Answer], conditions: Iterable[Condition]) -> Player:
        """Return a rule with these answers and conditions."""
        return Player(
            "rule", tuple(answers), self.late, self.interval, conditions=tuple(conditions)
        )

    def table(self, rng: Random, palette: list[Answer]) -> Player:
        """Draw a table of these answers."""
        answers = [rng.choice(palette) for _ in range(CELLS)]
        edges = sorted(rng.sample(range(36, 220), DISTANCE_BANDS - 1))
        height = rng.randint(1, 60)
        groups = [rng.randrange(STATUS_GROUPS) for _ in STATUSES]
        return Player(
            "table",
            tuple(answers),
            self.late,
            self.interval,
            distance_edges=tuple(edges),
            height_edge=height,
            status_groups=tuple(groups),
        )

    def table_of_bands(self, rng: Random) -> Player:
        """Draw a table with an answer for each distance band, and others for one or two statuses
        of the enemy: what a person would write down first.
        """
        usual, special = self.answers(rng, DISTANCE_BANDS), self.answers(rng, 2)
        answers: list[Answer] = []
        for answer in usual:
            in_group = (answer, rng.choice(special), answer)
            for group in range(STATUS_GROUPS):
                answers += [in_group[group]] * HEIGHT_BANDS
        statuses = rng.sample(range(len(STATUSES)), rng.randint(1, 2))
        groups = [0] * len(STATUSES)
        for status in statuses:
            groups[status] = 1
        table = self.table(rng, usual)
        return replace(table, answers=tuple(answers), status_groups=tuple(groups))

    def table_of_rule(self, rng: Random, rule: Player) -> Player:
        """Return a table that plays like a rule, as far as a table can: it knows nothing but the
        enemy's distance, height and status, and has one edge of heights.
        """
        table = self.table(rng, list(rule.answers))
        distances = [*thresholds(rule, "distance"), *table.distance_edges]
        edges = sorted(distances[: DISTANCE_BANDS - 1])
        height = [*thresholds(rule, "height"), table.height_edge][0]
        sets = thresholds(rule, "enemy is")
        groups = [group_of(status, sets) for status in range(len(STATUSES))]

        answers: list[Answer] = []
        for distance in (*(edge - 1 for edge in edges), FARTHEST):
            for group in range(STATUS_GROUPS):
                status = groups.index(group) if group in groups else 0
                for at_height in (height - 1, height):
                    view = {"distance": distance, "height": at_height, "enemy is": status}
                    answers.append(rule.answers[cell_of(rule, view)])
        return replace(
            table,
            answers=tuple(answers),
            distance_edges=tuple(edges),
            height_edge=height,
            status_groups=tuple(groups),
        )

    def changed(self, rng: Random, player: Player) -> Player:
        """Mutate a player, once or, with probability 0.35 each time, again."""
        while True:
            player = self.changed_once(rng, player)
            if rng.random() < 0.65:
                return player

    def changed_once(self, rng: Random, player: Player) -> Player:
        """Mutate a condition, the bands of a table, or an answer of a player."""
        what = rng.random()
        if player.kind == "rule" and what < 0.35:
            return changed_conditions(rng, player)
        if player.kind == "table" and what < 0.25:
            return changed_bands(rng, player)
        answers = list(player.answers)
        place = rng.randrange(len(answers))
        if player.kind == "table" and what < 0.5:
            old, new = answers[place], self.changed_answer(rng, answers[place])
            for index, answer in enumerate(answers):
                if answer == old:
                    answers[index] = new
            return replace(player, answers=tuple(answers))
        if player.kind == "loop" or what < 0.75:
            answers[place] = self.changed_answer(rng, answers[place])
        elif what < 0.9:
            answers[place] = rng.choice(answers)
        else:
            answers[place] = self.answer(rng)
        return replace(player, answers=tuple(answers))

    def crossed(self, rng: Random, one: Player, other: Player) -> Player:
        """Return the crossover of two players: each answer is from either,
        a loop's beginning and end from both.
        """
        if one.kind == "loop":
            first, second = one.answers[0], other.answers[0]
            cut = rng.randint(1, len(first))
            steps = first[:cut] + second[rng.randrange(len(second)) :]
            return self.loop(steps[:MOST_STEPS])
        answers: list[Answer] = []
        for pair in zip(one.answers, other.answers, strict=True):
            answers.append(rng.choice(pair))
        return replace(one, answers=tuple(answers))

    def widened(self, rng: Random, player: Player) -> Player:
        """Convert a player of a narrower class,
        another delay or interval into a similar player of this space.
        """
        if self.kind == "two thresholds" and len(player.conditions) == 1:
            no, yes = player.answers
            return self.rule((no, no, yes, yes), (*player.conditions, condition(rng)))
        if self.kind == "table" and player.kind == "rule":
            return self.table_of_rule(rng, player)
        return replace(player, late=self.late, interval=self.interval)


def kind_of(player: Player) -> str:
    """Return the kind of the spaces to which a player belongs."""
    if player.kind == "loop":
        return "side loop" if player.knows_side else "blind loop"
    if player.kind == "table":
        return "table"
    return "one threshold" if len(player.conditions) == 1 else "two thresholds"


def thresholds(rule: Player, feature: str) -> list[int]:
    """Return the thresholds, or the sets, of a rule's conditions on a feature."""
    return [condition.below for condition in rule.conditions if condition.feature == feature]


def group_of(status: int, sets: list[int]) -> int:
    """Return a group for a status: 1 or 2 if it is in the first or only in the second set of
    statuses, or else 0.
    """
    for number, members in enumerate(sets, 1):
        if members >> status & 1:
            return number
    return 0


def cell_of(rule: Player, view: Mapping[str, int]) -> int:
    """Return the number of a rule's answer. A condition on a feature that is not in the view does
    not hold.
    """
    cell = 0
    for condition in rule.conditions:
        holds = False
        if condition.feature == "enemy is":
            holds = bool(condition.below >> view["enemy is"] & 1)
        elif condition.feature in view:
            holds = view[condition.feature] < condition.below
        cell = 2 * cell + holds
    return cell


def joined(way: str, button: str) -> str:
    """Join a direction and a button by +; each of them may be empty."""
    if way and button:
        return f"{way}+{button}"
    return way or button


def to_the_right(held: str) -> str:
    """Return buttons with RIGHT for forward and LEFT for back."""
    names = {"F": "RIGHT", "G": "LEFT"}
    return "+".join(names.get(name, name) for name in held.split("+"))


def within(value: int, least: int, most: int) -> int:
    """Return a value clamped to the bounds."""
    return max(least, min(most, value))


def condition(rng: Random) -> Condition:
    """Draw a condition. Distances and statuses, which matter most, are the most likely."""
    feature = rng.choices(FEATURES, (6, 2, 1, 1, 1, 4, 2))[0]
    if feature in THRESHOLDS:
        return Condition(feature, rng.randint(*THRESHOLDS[feature]))
    return Condition(feature, rng.randrange(1, 2 ** len(STATUSES) - 1))


def changed_conditions(rng: Random, player: Player) -> Player:
    """Mutate a condition of a rule: draw another one,
    or change its threshold or its set of statuses.
    """
    conditions = list(player.conditions)
    place = rng.randrange(len(conditions))
    old = conditions[place]
    if rng.random() < 0.25:
        conditions[place] = condition(rng)
    elif old.feature in THRESHOLDS:
        least, most = THRESHOLDS[old.feature]
        moved = round(rng.gauss(old.below, JITTER * (most - least)))
        conditions[place] = replace(old, below=within(moved, least, most))
    else:
        conditions[place] = replace(old, below=old.below ^ (1 << rng.randrange(len(STATUSES))))
    return replace(player, conditions=tuple(conditions))


def changed_bands(rng: Random, player: Player) -> Player:
    """Mutate a table: move an edge, or draw another group for a status."""
    what = rng.random()
    if what < 0.5:
        edges = list(player.distance_edges)
        place = rng.randrange(len(edges))
        edges[place] = within(round(rng.gauss(edges[place], 15)), 33, 263)
        return replace(player, distance_edges=tuple(sorted(edges)))
    if what < 0.7:
        return replace(player, height_edge=within(round(rng.gauss(player.height_edge, 10)), 1, 100))
    groups = list(player.status_groups)
    groups[rng.randrange(len(groups))] = rng.randrange(STATUS_GROUPS)
    return replace(player, status_groups=tuple(groups))
