"""The sparse and the dense preset of reward weights."""

from __future__ import annotations

from collections.abc import Mapping

from nodes.fighting.features import FULL
from nodes.rewards.sum import RewardWeights
from server.commands.make_brains.made_brain import MadeBrain

MADE_BY = "python -m server make-brains"

OUTCOME = {"damage": 1.0, "win": 100.0, "knockout": 50.0}
"""Weights of the terms that count what a fight is about."""
SHAPING = {"combo": 5.0, "distance": 0.05, "edge": 0.01, "danger": 0.02, "time": 0.005}
"""Weights of the terms that lead the way there. None of them outweighs damage: a second of any of
those that come on every tick is worth about a point of health."""


def sparse() -> MadeBrain:
    """Make the preset that rewards only the outcome; the shaping terms have the weight 0."""
    weights = OUTCOME | dict.fromkeys(SHAPING, 0.0)
    return _preset(weights, "A fight, sparse: damage, knock-outs and victory")


def dense() -> MadeBrain:
    """Make the preset that rewards the outcome and the way there."""
    return _preset(OUTCOME | SHAPING, "A fight, dense: the outcome, and shaping on the way there")


def bars() -> MadeBrain:
    """Make weights for learning, with numbers that a critic learns easily: a full bar of health
    counts as much as a knock-out.
    """
    return _preset({"damage": 1 / FULL, "knockout": 1.0}, "A fight, in bars of health")


def _preset(weights: Mapping[str, float], title: str) -> MadeBrain:
    return MadeBrain(RewardWeights(weights=weights), title, MADE_BY)
