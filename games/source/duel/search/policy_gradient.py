"""The policy gradient by which tables of logits are learned.

Source: R. J. Williams, Simple statistical gradient-following algorithms for connectionist
reinforcement learning, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from games.source.duel.native.teacher import Lessons, Worth


@dataclass(frozen=True, kw_only=True)
class PolicyGradient:
    """The settings of the policy gradient."""

    rate: float
    """The learning rate: the change of a logit per point of advantage."""
    most_change: float
    """The greatest change of a logit in one step."""
    doubt: float
    """The number of neutral decisions with which an advantage is averaged."""
    least: float
    """The least logit of a cell, whose greatest is 0, so that everything is still tried."""

    def improve(self, worth: Worth, lessons: Lessons) -> None:
        """Take one step.

        Args:
            worth: The logits, f32 [cells, actions], which are changed in place.
            lessons: The decisions with their returns.
        """
        cell = lessons["cell"].astype(int)
        action = lessons["action"].astype(int)
        counts = np.zeros(worth.shape)
        gained = np.zeros(worth.shape)
        np.add.at(counts, (cell, action), 1.0)
        np.add.at(gained, (cell, action), lessons["gained"])

        decisions = counts.sum(1, keepdims=True)
        average = gained.sum(1, keepdims=True) / np.maximum(1.0, decisions)
        advantage = (gained - counts * average) / (counts + self.doubt)

        worth += np.clip(self.rate * advantage, -self.most_change, self.most_change)
        worth -= worth.max(1, keepdims=True)
        np.maximum(worth, self.least, out=worth)


def fading_weights(
    full: int, half_life: float, forgotten: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the weight of each frame after a decision, f32 [forgotten].

    Args:
        full: The frame up to which the weight is 1.
        half_life: The number of frames in which it then halves.
        forgotten: The frame from which on it is 0.
    """
    frames = np.arange(forgotten)
    late = np.maximum(0, frames - full)
    return np.exp2(-late / half_life).astype(np.float32)
