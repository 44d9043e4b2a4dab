"""Rewards for a one-on-one fight, from the variables of the Street Fighter II map.

They have to run on every tick: most compare it with the one before, the others reward how things
stand. None rewards the first tick of an episode, which no action has led to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import itemgetter
from typing import ClassVar, Final

from minibrains import Episode, Flag, Host, MinibrainsError, Node, Number, Variables, widget
from nodes.fighting.features import FULL
from nodes.fighting.styles import BLOCK

STAGE: Final = 512
"""Width of a stage in pixels."""

Moment = tuple[int, ...]
"""The values of the variables that a reward reads, on one tick."""


class FightReward(Node, ABC, abstract=True, category="rewards"):
    """Base class of rewards for what happened in a fight since the last tick.

    variables:  of the Street Fighter II map, on every tick
    """

    READS: ClassVar[tuple[str, ...]]
    """The variables that are read, at least two."""

    def open(self, host: Host) -> None:
        self._read = itemgetter(*self.READS)

    def reset(self, episode: Episode) -> None:
        self.before: Moment | None = None

    def tick(self, variables: Variables) -> Number:
        try:
            now: Moment = self._read(variables)
        except KeyError as missing:
            raise MinibrainsError(
                f"the game has no variable {missing}; "
                f"{type(self).__name__} needs {', '.join(self.READS)}"
            ) from None
        before, self.before = self.before, now
        if before is None:
            return 0.0
        return self.reward(before, now)

    @abstractmethod
    def reward(self, before: Moment, now: Moment) -> float:
        """Return the reward for the change from one tick to the next."""


class DamageReward(FightReward):
    """Reward damage: health taken from the other, less health lost.

    variables:  agent_hp and enemy_hp, on every tick
    Out:        points of health, of which a fighter has 176 in Duel. A knock-out takes what was
                left; health that is filled up counts nothing
    """

    READS = "agent_hp", "enemy_hp"

    dealt: float = widget(default=1.0, doc="for each point of health that the other loses")
    taken: float = widget(default=1.0, doc="the penalty for each point of health that is lost")

    def reward(self, before: Moment, now: Moment) -> float:
        own_before, enemy_before = before
        own, enemy = now
        return self.dealt * _lost(enemy_before, enemy) - self.taken * _lost(own_before, own)


class KnockoutReward(FightReward):
    """Reward knock-outs: 1 on the tick on which the other is knocked out, -1 for one's own.

    variables:  agent_hp and enemy_hp, on every tick; below 0 is knocked out
    Out:        1, -1 or 0; 0 as well if both are knocked out on the same tick
    """

    READS = "agent_hp", "enemy_hp"

    def reward(self, before: Moment, now: Moment) -> float:
        own_before, enemy_before = before
        own, enemy = now
        won = enemy < 0 <= enemy_before
        lost = own < 0 <= own_before
        return float(won - lost)


class WinReward(Node, category="rewards"):
    """Reward the result of a match: 1 for a victory, -1 for a defeat, once, when the match is over.

    variables:   agent_victories and enemy_victories, the rounds won
    terminated:  of the console. A match that the run's limit ends is neither won nor lost
    Out:         1, -1 or 0 on the tick on which `terminated` is true, 0 on all others
    """

    def tick(self, variables: Variables, terminated: Flag) -> Number:
        if not terminated:
            return 0.0
        try:
            own, enemy = variables["agent_victories"], variables["enemy_victories"]
        except KeyError as missing:
            raise MinibrainsError(
                f"the game has no variable {missing}; "
                "WinReward needs agent_victories, enemy_victories"
            ) from None
        return float((own > enemy) - (own < enemy))


class ComboReward(FightReward):
    """Reward hits in a row: 1 for each hit from the second on.

    variables:  agent_hp and enemy_hp, on every tick. A hit is a tick on which the other loses
                health
    Out:        1 or 0. A row ends when health is lost, when the next hit comes too late, and with
                the round
    """

    READS = "agent_hp", "enemy_hp"

    hits: int = widget(default=2, min=2, doc="the first hit of a row that is rewarded")
    window: int = widget(default=60, min=1, doc="ticks within which the next hit has to follow")

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self.row = 0
        self.waited = 0

    def reward(self, before: Moment, now: Moment) -> float:
        own_before, enemy_before = before
        own, enemy = now
        self.waited += 1
        if own < own_before or enemy > enemy_before or self.waited > self.window:
            self.row = 0
        if enemy >= enemy_before:
            return 0.0
        self.row += 1
        self.waited = 0
        return float(self.row >= self.hits)


class DistanceReward(FightReward):
    """Reward coming closer: the pixels by which the distance has become shorter.

    variables:  agent_x, enemy_x and round_countdown, on every tick
    Out:        pixels, negative when the distance has become longer. A round that begins moves
                both fighters, which counts nothing
    Over a round it adds up to the distance at its beginning less that at its end, so walking back
    and forth gains nothing.
    Source: Ng, Harada and Russell, Policy invariance under reward transformations, ICML 1999.
    """

    READS = "agent_x", "enemy_x", "round_countdown"

    def reward(self, before: Moment, now: Moment) -> float:
        own_before, enemy_before, countdown_before = before
        own, enemy, countdown = now
        if countdown > countdown_before:
            return 0.0
        return float(abs(own_before - enemy_before) - abs(own - enemy))


class EdgeReward(FightReward):
    """Reward pressure: 1 on each tick on which the other has its back to an edge of the stage.

    variables:  agent_x, enemy_x, agent_hp and enemy_hp, on every tick
    Out:        1 while the other is near an edge and the agent further away from it, else 0; 0 as
                well after a knock-out
    """

    READS = "agent_x", "enemy_x", "agent_hp", "enemy_hp"

    margin: int = widget(
        default=64, min=1, max=STAGE // 2, doc="pixels; nearer to the edge than this is near"
    )

    def reward(self, before: Moment, now: Moment) -> float:
        own, enemy, own_hp, enemy_hp = now
        if own_hp < 0 or enemy_hp < 0:
            return 0.0
        at_left = enemy < self.margin and own > enemy
        at_right = enemy > STAGE - self.margin and own < enemy
        return float(at_left or at_right)


class DangerReward(FightReward):
    """Penalise danger: -1 on each tick with little health and without blocking.

    variables:  agent_hp, enemy_hp and agent_status, on every tick; 518 is blocking
    Out:        -1 or 0; 0 as well after a knock-out
    """

    READS = "agent_hp", "enemy_hp", "agent_status"

    below: float = widget(
        default=0.25, min=0.0, max=1.0, doc="share of the full health; less than this is danger"
    )

    def reward(self, before: Moment, now: Moment) -> float:
        own_hp, enemy_hp, status = now
        if own_hp < 0 or enemy_hp < 0:
            return 0.0
        return -float(own_hp < self.below * FULL and status != BLOCK)


def _lost(before: int, now: int) -> int:
    """Return the points of health that were lost; whoever is knocked out has none left."""
    return max(0, max(0, before) - max(0, now))
