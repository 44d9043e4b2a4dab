"""Evolution of simple players: many climbers begin, and fewer and fewer of the best go on.

A climber is a player that is changed, or crossed with another climber, and replaced by a better
child. All play the same matches in the same order. A child plays few of them at first, and more
only while it is no worse than its parent: so what differs is the player and not its luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

import numpy as np

from games.source.duel.matches import CHARACTERS, Setting, settings
from games.source.duel.native.players import RESULT, Player, Results, play, won
from games.source.duel.search.genomes import Space

MARGIN = 0.2
"""The weight of the difference in health beside a victory: it tells which of two losers is nearer
to winning."""
FULL_HEALTH = 176
DRAWN = 400
"""Players drawn at random to begin with."""
START = ((3, 80), (12, 24), (48, 16))
"""Pairs of a number of matches and the number of players that are left after them. The last are the
climbers."""
CHECKS = (6, 24, 96)
"""The numbers of matches after which a child is compared with its parent."""
HALVINGS = 4
"""The number of times that the worse half of the climbers is given up; each stage gets an equal
part of the budget."""
CROSSED = 0.25
"""The share of the children that have two parents."""
SELECTED, SELECTION = 24, 128
"""The number of players, of all climbers, that play SELECTION other matches at the end, which
decide."""
TURTLE_DEALS = 35.0
"""Damage a round, on average, up to which a player counts as a turtle: it wins by the clock, if at
all."""
TURTLE_POWER = 4
"""The steepness of the slope from players that win by the clock but deal too much, down to turtles,
which are worth the most."""

Score = Callable[[Results], float]


def shuffled_settings(name: str, level: int) -> Iterator[Setting]:
    """Yield matches without end; every sixteen of them have all match-ups, in random order."""
    coming = settings(name, level)
    rng = Random(f"{name} {level}")
    for _ in count():
        block = list(islice(coming, CHARACTERS**2))
        rng.shuffle(block)
        yield from block


def dealt_a_round(results: Results) -> float:
    """Return the damage that pad 1 deals in a round, on average."""
    return float(results["dealt"].sum() / results["rounds"].sum())


def margin(results: Results) -> float:
    """Return how far pad 1 is ahead in health at the end of a round, on average, from -1 to 1."""
    ahead = results["dealt"].astype(float) - results["taken"]
    return float((ahead / (FULL_HEALTH * results["rounds"].astype(float))).mean())


def strength(results: Results) -> float:
    """Return the share of victories, and a little of the difference in health."""
    return float(won(results).mean()) + MARGIN * margin(results)


def turtling(results: Results) -> float:
    """Return the share of victories, less the more damage is dealt beyond a turtle's,
    with a part of any lack of health.
    """
    allowed = min(1.0, TURTLE_DEALS / max(1.0, dealt_a_round(results)))
    return float(won(results).mean()) * allowed**TURTLE_POWER + MARGIN * min(0.0, margin(results))


def score_of(space: Space) -> Score:
    """Return the score by which players of a space are compared."""
    return turtling if space.is_turtle else strength


@dataclass
class Candidate:
    """A player with the results of the matches that it has played, the first of the course."""

    player: Player
    results: Results
    score: float

    @property
    def behaviour(self) -> bytes:
        """A key that is the same for players that do the same in all of these matches."""
        return self.results["trace"].tobytes()


class Evolution:
    """One search in one space."""

    def __init__(self, space: Space, course: Sequence[Setting], rng: Random) -> None:
        """Prepare a search.

        Args:
            space: The space that is searched.
            course: The matches that all players play, at least as many as CHECKS and START ask for.
            rng: The source of chance.
        """
        self.space, self.course, self.rng = space, course, rng
        self.score = score_of(space)
        self.played = 0
        """The number of matches so far."""
        self.known: dict[Player, Candidate] = {}
        """All players that have played the whole course."""

    def run(self, budget: int, immigrants: Sequence[Player] = ()) -> None:
        """Search until a number of matches have been played.

        Args:
            budget: The number of matches.
            immigrants: Players that begin together with those that are drawn.
        """
        drawn = [self.space.random(self.rng) for _ in range(DRAWN)]
        climbers = self.raced([*immigrants, *drawn])
        begun = self.played
        for halving in range(HALVINGS + 1):
            until = begun + (budget - begun) * (halving + 1) // (HALVINGS + 1)
            turn = 0
            while self.played < until:
                place = turn % len(climbers)
                climbers[place] = self.climbed(climbers, place)
                turn += 1
            climbers = distinct(climbers)
            climbers = climbers[: max(1, (len(climbers) + 1) // 2)]

    def raced(self, players: Sequence[Player]) -> list[Candidate]:
        """Let players play more and more matches, fewer and fewer of them;
        return those that are left, the best first.
        """
        nothing = np.zeros(0, RESULT)
        candidates = [Candidate(player, nothing, 0.0) for player in dict.fromkeys(players)]
        for matches, left in START:
            candidates = distinct(self.continued(candidates, matches))[:left]
        return distinct(self.continued(candidates, CHECKS[-1]))

    def continued(self, candidates: Sequence[Candidate], matches: int) -> list[Candidate]:
        """Let players that have played equally many matches go on until they have
        played this number of them.
        """
        done = len(candidates[0].results)
        players = [candidate.player for candidate in candidates]
        fresh = play(players, self.course[done:matches])
        self.played += fresh.size
        longer: list[Candidate] = []
        for candidate, row in zip(candidates, fresh, strict=True):
            results = np.concatenate([candidate.results, row])
            longer.append(Candidate(candidate.player, results, self.score(results)))
        if matches == CHECKS[-1]:
            for candidate in longer:
                self.known[candidate.player] = candidate
        return longer

    def climbed(self, climbers: Sequence[Candidate], place: int) -> Candidate:
        """Return a child of the climber at a position if it is better, or else the climber."""
        parent = climbers[place]
        child = parent.player
        if self.rng.random() < CROSSED:
            child = self.space.crossed(self.rng, child, self.rng.choice(climbers).player)
        if child == parent.player or self.rng.random() < 0.5:
            child = self.space.changed(self.rng, child)
        if child in self.known:
            return parent
        candidate = Candidate(child, parent.results[:0], 0.0)
        for matches in CHECKS:
            candidate = self.continued([candidate], matches)[0]
            before = parent.results[:matches]
            if candidate.score < self.score(before):
                return parent
            # in the very first matches the change may not have been called for yet
            if matches > CHECKS[0] and candidate.behaviour == before["trace"].tobytes():
                return parent
        return candidate

    def selected(self, course: Sequence[Setting], wanted: int) -> list[Candidate]:
        """Return the best of all players by other matches than those they were found with.

        Args:
            course: The other matches.
            wanted: The number of players, at most.
        """
        ranked = distinct(self.known.values())[:SELECTED]
        players = [candidate.player for candidate in ranked]
        results = play(players, course)
        self.played += results.size
        again: list[Candidate] = []
        for player, row in zip(players, results, strict=True):
            again.append(Candidate(player, row, self.score(row)))
        return distinct(again)[:wanted]


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, the best first, without those that do the same as a better one."""
    ranked = sorted(candidates, key=lambda candidate: candidate.score, reverse=True)
    found: dict[bytes, Candidate] = {}
    for candidate in ranked:
        found.setdefault(candidate.behaviour, candidate)
    return list(found.values())
