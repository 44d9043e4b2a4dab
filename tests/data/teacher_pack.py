"""A game with a teacher, whose actions only a network that remembers can tell."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from minibrains import Action, Episode, Flag, Number, Register, Socket

TICKS = 5
"""Of an episode."""


class Moment(NamedTuple):
    cue: Annotated[np.ndarray, Socket("vector", "f32[2]")]
    right: Action
    reward: Number
    over: Flag


class Cue(Register, terminal="over"):
    """A cue that is shown on the first tick; on all ticks its number is the right action."""

    def reset(self, episode: Episode) -> None:
        self.number = int(episode.rng().integers(2))
        self.ticks, self.reward = 0, 0.0

    def emit(self) -> Moment:
        cue = np.zeros(2, np.float32)
        if self.ticks == 0:
            cue[self.number] = 1
        return Moment(cue, self.number, self.reward, self.ticks == TICKS)

    def latch(self, action: Action) -> None:
        self.ticks += 1
        self.reward = float(action == self.number)
