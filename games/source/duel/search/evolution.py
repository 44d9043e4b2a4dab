"""Evolution of simple players: many climbers begin, and fewer and fewer of the best go on.

A climber is a player that is changed, or crossed with another climber, and replaced by what is better. All play the same matches
in the same order, and what was changed plays few of them at first, and more only while it is no worse than what it came from:
so what differs is the player and not its luck.
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
"""What the difference in health counts beside a victory: it tells which of two losers is nearer to winning."""
FULL_HEALTH = 176
DRAWN = 400
"""Players drawn at random to begin with."""
START = ((3, 80), (12, 24), (48, 16))
"""After so many matches so many of them are left. The last are the climbers."""
CHECKS = (6, 24, 96)
"""Matches after which what was changed is compared with what it came from."""
HALVINGS = 4
"""How often the worse half of the climbers is given up; each number of climbers gets an equal part of the budget."""
CROSSED = 0.25
"""How many of the children have two parents."""
SELECTED, SELECTION = 24, 128
"""So many of all climbers play so many other matches at the end, which decide."""
TURTLE_DEALS = 35.0
"""Damage a round, on average, up to which a player counts as a turtle: it wins by the clock, if at all."""
TURTLE_POWER = 4
"""How steeply: a way leads down from who wins by the clock but deals too much, and no turtle is worth less than one who does."""

Score = Callable[[Results], float]


def shuffled_settings(name: str, level: int) -> Iterator[Setting]:
    """Yield matches without end, of which every sixteen have all match-ups, in any order."""
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
    """Return the share of victories, which counts the less the more damage is dealt beyond a turtle's, and a lack of health."""
    allowed = min(1.0, TURTLE_DEALS / max(1.0, dealt_a_round(results)))
    return float(won(results).mean()) * allowed**TURTLE_POWER + MARGIN * min(0.0, margin(results))


def score_of(space: Space) -> Score:
    """Return what is climbed in a space."""
    return turtling if space.is_turtle else strength


@dataclass
class Candidate:
    """A player with the results of the matches that it has played, the first of the course."""

    player: Player
    results: Results
    score: float

    @property
    def behaviour(self) -> bytes:
        """The same of two players that do the same in all of these matches."""
        return self.results["trace"].tobytes()


class Evolution:
    """One search in one space."""

    def __init__(self, space: Space, course: Sequence[Setting], rng: Random) -> None:
        """Prepare a search.

        Args:
            space: What is searched.
            course: The matches that all players play, at least as many as CHECKS and START ask for.
            rng: Where chance comes from.
        """
        self.space, self.course, self.rng = space, course, rng
        self.score = score_of(space)
        self.played = 0
        """Matches so far."""
        self.known: dict[Player, Candidate] = {}
        """Every player that has played the whole course."""

    def run(self, budget: int, immigrants: Sequence[Player] = ()) -> None:
        """Search until so many matches have been played; `immigrants` begin with the players that are drawn."""
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
        """Let players play, fewer and fewer of them more and more matches; return those that are left, the best first."""
        candidates = [Candidate(player, np.zeros(0, RESULT), 0.0) for player in dict.fromkeys(players)]
        for matches, left in START:
            candidates = distinct(self.continued(candidates, matches))[:left]
        return distinct(self.continued(candidates, CHECKS[-1]))

    def continued(self, candidates: Sequence[Candidate], matches: int) -> list[Candidate]:
        """Let players go on until they have played so many matches."""
        done = len(candidates[0].results)
        fresh = play([candidate.player for candidate in candidates], self.course[done:matches])
        self.played += fresh.size
        longer = []
        for candidate, row in zip(candidates, fresh, strict=True):
            results = np.concatenate([candidate.results, row])
            longer.append(Candidate(candidate.player, results, self.score(results)))
        if matches == CHECKS[-1]:
            self.known |= {candidate.player: candidate for candidate in longer}
        return longer

    def climbed(self, climbers: Sequence[Candidate], place: int) -> Candidate:
        """Return a child of a climber if it is better, or else the climber."""
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
            # in the very first matches what was changed may not have been called for yet
            if matches > CHECKS[0] and candidate.behaviour == before["trace"].tobytes():
                return parent
        return candidate

    def selected(self, course: Sequence[Setting], wanted: int) -> list[Candidate]:
        """Return the best of all, by other matches than those they were found with."""
        ranked = distinct(self.known.values())[:SELECTED]
        players = [candidate.player for candidate in ranked]
        results = play(players, course)
        self.played += results.size
        again = [Candidate(player, row, self.score(row)) for player, row in zip(players, results, strict=True)]
        return distinct(again)[:wanted]


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return them the best first, without those that do the same as another."""
    ranked = sorted(candidates, key=lambda candidate: candidate.score, reverse=True)
    found: dict[bytes, Candidate] = {}
    for candidate in ranked:
        found.setdefault(candidate.behaviour, candidate)
    return list(found.values())
