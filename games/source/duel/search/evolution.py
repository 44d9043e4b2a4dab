"""Evolution of simple players: hill climbing in a population that is halved several times.

The population consists of climbers. A child is the mutation of a climber or its crossover with
another one, and replaces it if it is no worse. All players play the same matches in the same order,
so that differences in score come from the players, not from luck. A child plays few matches at
first, and more only while it is no worse than its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from random import Random

import numpy as np

from games.source.duel.matches import CHARACTERS, Setting, settings
from games.source.duel.native.players import RESULT, Player, Results, play, won
from games.source.duel.search.genomes import TURTLE, Space

MARGIN = 0.2
"""The weight of the difference in health in the score, which tells losers apart."""
FULL_HEALTH = 176
START = ((3, 80), (12, 24), (48, 16))
"""Pairs of a number of matches and the number of players that are left after them. The last are the
climbers."""
CHECKS = (6, 24, 96)
"""The numbers of matches after which a child is compared with its parent."""
HALVINGS = 4
"""The number of times that the worse half of the climbers is dropped; each stage gets an equal part
of the budget."""
CROSSED = 0.25
"""The probability that a child has two parents."""
SELECTED, SELECTION = 16, 128
"""The number of the best players of a search, and the number of other matches by which they are
ranked."""
TURTLE_DEALS = 35.0
"""The greatest mean damage per round of a turtle, which wins by time-out, if at all."""
TURTLE_POWER = 4
"""The exponent of the penalty on damage beyond a turtle's."""

Score = Callable[[Results], float]


def shuffled_settings(name: str, level: int) -> Iterator[Setting]:
    """Yield matches without end; each block of 16 has all match-ups, in random order."""
    coming = settings(name, level)
    rng = Random(f"{name} {level}")
    for _ in count():
        block = list(islice(coming, CHARACTERS**2))
        rng.shuffle(block)
        yield from block


def dealt_a_round(results: Results) -> float:
    """Return the mean damage per round that pad 1 deals."""
    return float(results["dealt"].sum() / results["rounds"].sum())


def margin(results: Results) -> float:
    """Return the mean lead in health of pad 1 at the end of a round, from -1 to 1."""
    ahead = results["dealt"].astype(float) - results["taken"]
    return float((ahead / (FULL_HEALTH * results["rounds"].astype(float))).mean())


def strength(results: Results) -> float:
    """Return the share of wins, plus MARGIN times the lead in health."""
    return float(won(results).mean()) + MARGIN * margin(results)


def turtling(results: Results) -> float:
    """Return the share of wins, reduced for damage beyond a turtle's,
    plus MARGIN times any negative lead.
    """
    allowed = min(1.0, TURTLE_DEALS / max(1.0, dealt_a_round(results)))
    return float(won(results).mean()) * allowed**TURTLE_POWER + MARGIN * min(0.0, margin(results))


def score_of(player_class: str) -> Score:
    """Return the score function, that is the fitness, of a class of players."""
    return turtling if player_class == TURTLE else strength


@dataclass(frozen=True)
class Effort:
    """The size of a search."""

    drawn: int
    """The number of players that are drawn at random to start from."""
    climbing: int
    """The number of matches of the climbers. Those that sort the players at the start are not part
    of it, so that there is always a climb."""
    learned: int = 0
    """The number of tables that are learned by policy gradient to start from."""

    def times(self, factor: float) -> Effort:
        """Return an effort that is this many times as great."""
        drawn, climbing, learned = (
            round(factor * size) for size in (self.drawn, self.climbing, self.learned)
        )
        return Effort(max(1, drawn), climbing, learned)


@dataclass
class Candidate:
    """A player with its results in the matches of the course that it has played,
    from the first on.
    """

    player: Player
    results: Results
    score: float

    @property
    def behaviour(self) -> bytes:
        """A key that is equal for players whose matches all have equal trajectories."""
        return self.results["trace"].tobytes()


class Evolution:
    """An evolutionary search in one space."""

    def __init__(self, space: Space, course: Sequence[Setting], rng: Random) -> None:
        """Prepare a search.

        Args:
            space: The space to search.
            course: The matches that all players play, at least as many as the greatest of CHECKS
                and START.
            rng: The random generator.
        """
        self.space, self.course, self.rng = space, course, rng
        self.score = score_of(space.player_class)
        self.played = 0
        """The number of matches played so far."""
        self.known: dict[Player, Candidate] = {}
        """All players that have played the whole course."""

    def run(self, effort: Effort, immigrants: Sequence[Player] = ()) -> None:
        """Sort random players and the immigrants, and climb until the matches are used up.

        Args:
            effort: The number of random players, and of the climbers' matches.
            immigrants: Players that start together with the random ones.
        """
        drawn = [self.space.random(self.rng) for _ in range(effort.drawn)]
        climbers = self.raced([*immigrants, *drawn])
        begun = self.played
        for halving in range(HALVINGS + 1):
            until = begun + effort.climbing * (halving + 1) // (HALVINGS + 1)
            turn = 0
            while self.played < until:
                place = turn % len(climbers)
                climbers[place] = self.climbed(climbers, place)
                turn += 1
            climbers = distinct(climbers)
            climbers = climbers[: max(1, (len(climbers) + 1) // 2)]

    def raced(self, players: Sequence[Player]) -> list[Candidate]:
        """Select the climbers by START, and return them after the whole course, the best first."""
        nothing = np.zeros(0, RESULT)
        candidates = [Candidate(player, nothing, 0.0) for player in dict.fromkeys(players)]
        for matches, left in START:
            candidates = distinct(self.continued(candidates, matches))[:left]
        return distinct(self.continued(candidates, CHECKS[-1]))

    def continued(self, candidates: Sequence[Candidate], matches: int) -> list[Candidate]:
        """Continue the course up to a number of matches.

        Args:
            candidates: Players that have all played the same number of matches.
            matches: The number of matches that they will have played.

        Returns:
            The players with their new results and scores, in the same order.
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
        """Return a child of the climber at a position if it is no worse, or else the climber."""
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
            # in the first few matches, the mutation may not have had an effect yet
            if matches > CHECKS[0] and candidate.behaviour == before["trace"].tobytes():
                return parent
        return candidate

    def selected(self, course: Sequence[Setting], wanted: int) -> list[Candidate]:
        """Rank the best players of the search in other matches, and return the best of them first.

        Args:
            course: The other matches.
            wanted: The greatest number of players to return.
        """
        ranked = distinct(self.known.values())[:SELECTED]
        players = [candidate.player for candidate in ranked]
        self.played += len(players) * len(course)
        return ranked_by(self.score, players, course)[:wanted]


def ranked_by(
    score: Score, players: Sequence[Player], course: Sequence[Setting]
) -> list[Candidate]:
    """Play a course, and return the players, the best first,
    without those that behave like a better one.
    """
    candidates: list[Candidate] = []
    for player, results in zip(players, play(players, course), strict=True):
        candidates.append(Candidate(player, results, score(results)))
    return distinct(candidates)


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, the best first, without those that behave like a better one."""
    ranked = sorted(candidates, key=lambda candidate: candidate.score, reverse=True)
    found: dict[bytes, Candidate] = {}
    for candidate in ranked:
        found.setdefault(candidate.behaviour, candidate)
    return list(found.values())
