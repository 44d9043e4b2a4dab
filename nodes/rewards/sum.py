"""RewardSum: adds up the terms of a reward with weights, and writes down what each contributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Node,
    Number,
    On,
    setting,
    widget,
)
from minibrains.errors import RunError, suggest
from minibrains.files import is_plain_name
from nodes.rewards.breakdown import BREAKDOWN, COLUMNS, append_row, breakdown_row


class RewardWeights(Brain):
    """The weights of the terms of a reward."""

    kind = "reward_weights"
    weights: Mapping[str, float] = setting(
        doc="the id of the node that delivers a term -> the number that it is multiplied by"
    )


class Rewards(NamedTuple):
    """The outputs of RewardSum."""

    reward: Number
    total: Number | Absent


class RewardSum(
    Node,
    category="rewards",
    every_tick=True,
    reads_sources=True,
    version=2,
    renamed_outputs={1: {"number": "total"}},
):
    """Add up the terms of a reward, each with its weight, and write what each contributed to an
    episode into a table.

    rewards:  the terms, one link for each; its name is the id of the node that it comes from. A
              reward that is delivered counts once
    now:      True: deliver `total`, and begin a new one. Link the decision clock and, through an
              Any, the end of the game, so that the rewards after the last decision are delivered
              as well
    reward:   the weighted sum of the rewards of this tick
    total:    the sum of `reward` since the last time, including this tick, on the ticks on which
              `now` is true: for an agent that decides every few frames
    The brain has the weights by name; without a brain, each is 1. An episode's results get
    `reward`, and `rewards` with what each term contributed.
    Source: Gymnasium, AtariPreprocessing, whose `frame_skip` sums the reward like `total`.
    """

    brain: RewardWeights | None

    file: str = widget(
        default=BREAKDOWN,
        doc="the table's name within the run folder: a row for each episode that is over, a column "
        "for each term",
    )

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return (widgets["file"],)

    def check(self) -> None:
        if not (is_plain_name(self.file) and self.file.endswith(".csv")):
            raise MinibrainsError(
                f"the file is {self.file!r}; expected a plain name ending in .csv, "
                "within the run folder"
            )

    def open(self, host: Host) -> None:
        self._host = host
        names = host.sources("rewards")
        _check_names(names)
        self._terms = [(name, self._weight(name)) for name in names]

    def reset(self, episode: Episode) -> None:
        self.episode = episode.index
        self.sums = {name: 0.0 for name, _ in self._terms}
        self.total = 0.0

    def tick(self, rewards: list[On[Number]], now: On[Flag] = None) -> Rewards:
        sums = self.sums
        weighted = 0.0
        for (name, weight), reward in zip(self._terms, rewards, strict=True):
            if reward is not None:
                term = weight * reward
                sums[name] += term
                weighted += term
        if not isfinite(weighted):
            self._refuse(rewards)
        self.total += weighted
        if not now:
            return Rewards(weighted, ABSENT)
        total, self.total = self.total, 0.0
        return Rewards(weighted, total)

    def report(self) -> Mapping[str, Any]:
        # without the rounding errors of thousands of additions
        terms = {name: round(value, 6) for name, value in self.sums.items()}
        return {"reward": round(sum(terms.values()), 6), "rewards": terms}

    def finish(self, results: Mapping[str, Any]) -> None:
        path = self._host.dir / self.file
        row = breakdown_row(self.episode, {**results, **self.report()})
        try:
            append_row(path, row)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from None

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        # terms that a live edit has added
        for name, _ in self._terms:
            self.sums.setdefault(name, 0.0)

    def _weight(self, name: str) -> float:
        if self.brain is None:
            return 1.0
        weights = self.brain.weights
        if name not in weights:
            hint = suggest(name, weights) or "Rename the node, or add its weight to the brain"
            raise MinibrainsError(
                f"the brain has no weight for the reward of {name!r}; "
                f"it has those of {', '.join(weights)}. {hint}"
            )
        return weights[name]

    def _refuse(self, rewards: list[On[Number]]) -> None:
        for (name, weight), reward in zip(self._terms, rewards, strict=True):
            if reward is not None and not isfinite(weight * reward):
                raise MinibrainsError(
                    f"the reward of {name!r} is {reward} on tick {self._host.tick}; "
                    "expected a finite number. Look at what this node computes it from"
                )
        raise MinibrainsError(
            f"the sum of the rewards on tick {self._host.tick} is too large for a number; "
            "expected smaller rewards or weights"
        )


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if name in COLUMNS:
            raise MinibrainsError(
                f"a reward comes from the node {name!r}, which is the name of a column of the "
                "table; give the node another id"
            )
        if names.count(name) > 1:
            raise MinibrainsError(
                f"two rewards come from the node {name!r}; expected one from each, "
                "because its id is the name of the term"
            )
