"""Prioritised replay: samples that a network is wrong about are shown more often."""

from __future__ import annotations

import numpy as np

_LEAST = 1e-3
"""Added to every loss, so that each sample is shown again some time."""
_FIRST_CORRECTION = 0.4
"""The exponent of the weights at the beginning; it rises to 1."""


class PrioritizedReplay:
    """The priorities of samples, by which they are drawn.

    A sample is drawn with a probability in proportion to `priority ** exponent`; its priority is
    its latest loss. One that has not been drawn yet has the highest priority so far.

    Source: T. Schaul et al., Prioritized experience replay, ICLR 2016, arXiv:1511.05952, the
        proportional variant. It has a tree of sums for a memory that changes with each step of a
        game; the sum over 100 000 samples takes less time than a step of the optimizer, so there is
        none here.
    """

    def __init__(self, count: int, exponent: float) -> None:
        """Begin with samples that are all alike.

        Args:
            count: The number of samples.
            exponent: How much priorities count, from 0: not at all.
        """
        self._exponent = exponent
        self.priorities = np.ones(count)
        """float64 [count], more than 0."""
        self.seen = np.zeros(count, bool)
        """bool [count]: whether it has been drawn."""

    def draw(
        self, rng: np.random.Generator, count: int, done: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples, with replacement.

        Args:
            rng: Random numbers.
            count: How many.
            done: The share of the training that is done, 0 to 1.

        Returns:
            Their rows, int64 [count], and float32 [count], from 0 to 1: weights that correct the
            loss for samples that are drawn more often, in full at the end of the training.
        """
        masses = self.priorities**self._exponent
        sums = np.cumsum(masses)
        rows = np.searchsorted(sums, rng.random(count) * sums[-1], side="right")
        rows = np.minimum(rows, len(sums) - 1)  # a product may be rounded up to the sum
        correction = _FIRST_CORRECTION + (1 - _FIRST_CORRECTION) * done
        weights = (masses[rows] / masses.min()) ** -correction
        return rows, (weights / weights.max()).astype(np.float32)

    def update(self, rows: np.ndarray, losses: np.ndarray) -> None:
        """Set the priorities of samples to their losses, from 0."""
        self.priorities[rows] = losses + _LEAST
        self.seen[rows] = True
        self.priorities[~self.seen] = self.priorities.max()
