"""The evidence of the doctor: arrays of a policy's decisions, of its network and of its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

Kind = Literal["actions", "buttons"]
"""The logits of a policy: "actions" for a softmax of which one action is chosen, "buttons" for a
sigmoid for each button."""

DIRECTIONS: Final = frozenset({"UP", "DOWN", "LEFT", "RIGHT", "FORWARD", "BACK"})
"""The buttons that only move; the others are those that a policy must not forget to press."""


@dataclass(frozen=True, kw_only=True)
class Buttons:
    """The buttons that the outputs of a policy press."""

    names: tuple[str, ...]
    presses: np.ndarray
    """bool [outputs, buttons]: the buttons that each output holds at any moment."""

    @classmethod
    def alone(cls, names: tuple[str, ...]) -> Buttons:
        """Return buttons of which each output presses one of its own name."""
        return cls(names=names, presses=np.eye(len(names), dtype=bool))

    @property
    def beyond_directions(self) -> tuple[str, ...]:
        """The buttons that do more than move; all of them if no output presses such a one."""
        used: np.ndarray = np.any(self.presses, axis=0)
        found = [name for name, pressed in zip(self.names, used, strict=True) if pressed]
        return tuple(name for name in found if name not in DIRECTIONS) or tuple(found)

    @property
    def pressing(self) -> np.ndarray:
        """bool [outputs]: those that press one of `beyond_directions`."""
        columns = [name in self.beyond_directions for name in self.names]
        found: np.ndarray = np.any(self.presses[:, columns], axis=1)
        return found


@dataclass(frozen=True, kw_only=True)
class InputProbe:
    """The changes of a policy's logits when one of its inputs is replaced."""

    name: str
    """The output that the input reads, "node/socket"."""
    shuffled: np.ndarray
    """float64 [n]: for each moment, the largest change of a log-probability in nats if this input
    is that of another moment."""
    blank: np.ndarray
    """float64 [n]: the same if this input is all zeros."""
    differs: np.ndarray
    """bool [n]: the input of the other moment was another one."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a network, with the units through which no gradient flows."""

    name: str
    """The node, and the name of the module in its network: "head.hidden"."""
    units: int
    dead: int
    """Number of units whose parameters have no gradient for any of the moments."""


@dataclass(frozen=True, kw_only=True)
class ChannelStatistics:
    """Figures of an input by channel: the colours of a picture, or the numbers of a vector."""

    mean: np.ndarray
    """float64 [channels], over all moments and places."""
    deviation: np.ndarray
    """float64 [channels]: the standard deviation over all moments and places."""
    lows: np.ndarray
    """float64 [moments, channels]: the smallest value of each moment."""
    highs: np.ndarray
    """float64 [moments, channels]: the largest value of each moment."""

    @classmethod
    def of(cls, inputs: np.ndarray) -> ChannelStatistics:
        """Measure inputs [moments, channels, …], at least one moment."""
        places = inputs.reshape(len(inputs), inputs.shape[1], -1)
        return cls(
            mean=places.mean(axis=(0, 2), dtype=np.float64),
            deviation=places.std(axis=(0, 2), dtype=np.float64),
            lows=places.min(axis=2).astype(np.float64),
            highs=places.max(axis=2).astype(np.float64),
        )


@dataclass(frozen=True, kw_only=True)
class Demonstrations:
    """A policy beside the data set that it may have learned from."""

    labels: np.ndarray
    """bool [m, outputs]: the teacher's choice in each sample in which an action has an effect."""
    asked: np.ndarray | None = None
    """bool [s, outputs]: the labels of some samples whose inputs the policy was shown; None: the
    data set cannot be turned into its inputs."""
    logits: np.ndarray | None = None
    """float32 [s, outputs]: its answers."""
    shuffled: np.ndarray | None = None
    """float32 [s, outputs]: its answers when it was shown the inputs of others of these samples."""
    inputs: Mapping[str, ChannelStatistics] = field(default_factory=dict)
    """Figures of these inputs, by "node/socket"."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that the doctor knows about a policy. What is missing is not tested."""

    kind: Kind
    names: tuple[str, ...]
    """The names of the outputs: actions, or buttons."""
    buttons: Buttons
    logits: np.ndarray
    """float32 [n, outputs]: the policy's answers in play, as they are turned into probabilities."""
    chosen: np.ndarray
    """bool [n, outputs]: what was chosen in play; of actions exactly one."""
    thresholds: np.ndarray | None = None
    """[buttons]: the probabilities above which buttons are pressed; None: a half."""
    data: Demonstrations | None = None
    inputs: Mapping[str, ChannelStatistics] = field(default_factory=dict)
    """Figures of the inputs in play, by "node/socket"."""
    probes: tuple[InputProbe, ...] = ()
    parts: tuple[Part, ...] = ()
    differences: tuple[str, ...] | None = None
    """The differences of the nodes that feed it from those of its training, a phrase each; None:
    unknown, because its brain does not say."""
    games: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Games won and played, by opponent."""


def log_probabilities(kind: Kind, logits: np.ndarray) -> np.ndarray:
    """Return the log-probability of each output, in nats: float64 [n, outputs]."""
    exact = logits.astype(np.float64)
    result: np.ndarray
    if kind == "buttons":
        result = -np.logaddexp(0.0, -exact)
        return result
    highest = exact.max(axis=1, keepdims=True)
    log_sum = highest + np.log(np.exp(exact - highest).sum(axis=1, keepdims=True))
    result = exact - log_sum
    return result


def entropies(kind: Kind, logits: np.ndarray) -> np.ndarray:
    """Return the entropy of each decision in nats: float64 [n]. Buttons are independent."""
    surprise = _surprise(log_probabilities(kind, logits))
    if kind == "buttons":
        surprise = surprise + _surprise(log_probabilities(kind, -logits))
    entropy: np.ndarray = surprise.sum(axis=1)
    return entropy


def largest_entropy(kind: Kind, outputs: int) -> float:
    """Return the entropy of a uniform policy in nats."""
    if kind == "actions":
        return float(np.log(outputs))
    return outputs * float(np.log(2))


def press_probabilities(kind: Kind, logits: np.ndarray, buttons: Buttons) -> np.ndarray:
    """Return the probability that a decision presses more than directions: float64 [n]."""
    probabilities = np.exp(log_probabilities(kind, logits))[:, buttons.pressing]
    probability: np.ndarray = probabilities.sum(axis=1)
    if kind == "buttons":
        probability = 1 - (1 - probabilities).prod(axis=1)
    return probability


def best(kind: Kind, logits: np.ndarray, thresholds: np.ndarray | None = None) -> np.ndarray:
    """Return the greedy choice of each decision: bool [n, outputs].

    Args:
        kind: What the logits mean.
        logits: [n, outputs].
        thresholds: [buttons]: the probabilities above which they are pressed; None: a half.
    """
    if kind == "buttons" and thresholds is not None:
        pressed: np.ndarray = np.exp(log_probabilities(kind, logits)) > thresholds
        return pressed
    if kind == "buttons":
        return logits > 0
    chosen = np.zeros(logits.shape, bool)
    chosen[np.arange(len(logits)), logits.argmax(axis=1)] = True
    return chosen


def _surprise(log_probability: np.ndarray) -> np.ndarray:
    """Return -p log p, which is 0 where p is."""
    probability = np.exp(log_probability)
    finite = np.where(probability > 0, log_probability, 0.0)
    product: np.ndarray = -probability * finite
    return product
