"""Rewards for any game: for the time that passes, and for a variable that changes."""

from __future__ import annotations

from typing import Literal

from minibrains import Episode, MinibrainsError, Node, Number, Variables, widget


class TimePenalty(Node, category="rewards", every_tick=True):
    """Penalise time: -1 for each tick that has passed.

    Out:  -1; 0 on the first tick of an episode
    """

    def reset(self, episode: Episode) -> None:
        self.begun = False

    def tick(self) -> Number:
        if self.begun:
            return -1.0
        self.begun = True
        return 0.0


class ProgressReward(Node, category="rewards"):
    """Reward the change of a variable: a quest that advances, a score, a life that is lost.

    variables:  of the console, on every tick
    priority:   multiplies the reward, like the priority of the quest; 1 without a link
    Out:        the reward for the change since the last tick, 0 on the first tick of an episode
    """

    variable: str = widget(doc="the variable's name in the game's data.json")
    rise: float = widget(default=1.0, doc="when it rises")
    fall: float = widget(default=0.0, doc="when it falls; negative: a penalty")
    per: Literal["change", "unit"] = widget(
        default="change", doc="once for each change, or for each unit by which it changes"
    )

    def reset(self, episode: Episode) -> None:
        self.before: float | None = None

    def tick(self, variables: Variables, priority: Number | None = None) -> Number:
        try:
            now = variables[self.variable]
        except KeyError:
            raise MinibrainsError(
                f"the game has no variable {self.variable!r}; it has {', '.join(sorted(variables))}"
            ) from None
        change = 0.0
        if self.before is not None:
            change = now - self.before
        self.before = now

        reward = 0.0
        if change > 0:
            reward = self.rise
        elif change < 0:
            reward = self.fall
        if self.per == "unit":
            reward *= abs(change)
        if priority is not None:
            reward *= priority
        return reward
