"""SampleTable: all samples of a data set side by side, to be filtered and looked at by people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from nodes.training.asked_brains import Answers
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, EpisodeInfo, EpisodeLabels

Kept = Literal["kept", "corrected", "deleted"]
Agreement = Literal["any", "differs", "agrees"]
Sorting = Literal["time", "share"]


class SampleFilter(NamedTuple):
    """A selection of samples; everything that is None selects nothing."""

    label: int | None = None
    """The action that is the label; of a sample that was deleted, the one that it had at first."""
    episode: str | None = None
    """The name of the episode."""
    actionable: bool | None = None
    """True: an action would have had an effect; False: it would not, or that is unknown."""
    kept: Kept = "kept"
    """Those that were not deleted, those whose label people have corrected, or those deleted."""
    answer: Agreement = "any"
    """Those for which the answer of a model is another action than the label, or the same."""
    order: Sorting = "time"
    """By episode and tick, or by the probability of the model's answer, the highest first."""


class SampleTable:
    """All samples of a data set, also those that people have deleted, in the order of episodes and
    ticks. Its columns have the same length.
    """

    def __init__(self, data: DataSet, answers: Mapping[str, Answers]) -> None:
        """Read a data set, which must have episodes.

        Args:
            data: The data set.
            answers: The answers of a model, by the name of the episode, as far as it was asked.

        Raises:
            DataError: A file is damaged, or the episodes do not belong together.
        """
        if data.files() or not data.names():
            data.labels()  # refuses what does not belong together
        self.infos: list[EpisodeInfo] = []
        """The episodes, as they were collected."""
        parts: list[np.ndarray] = []
        for number, key in enumerate(data.names()):
            original = data.read_original(key)
            self.infos.append(original.info)
            parts.append(_columns(number, original, data.label_by_tick(key), answers.get(key)))
        table = np.concatenate(parts, axis=1)
        (
            self.episodes, self.ticks, self.labels, self.originals, self.second_best, self.played,
            self.actionable, self.answers,
        ) = table  # fmt: skip
        probabilities: list[np.ndarray] = []
        for part, info in zip(parts, self.infos, strict=True):
            probabilities.append(_probabilities(part[1], answers.get(info.key)))
        self.probabilities = np.concatenate(probabilities)
        """float32 [n], the probability of the answer; 0 where there is none."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions."""
        return self.infos[0].actions

    def select(self, wanted: SampleFilter) -> np.ndarray:
        """Return the rows of a selection, int64."""
        is_deleted = self.labels == NONE
        if wanted.kept == "kept":
            chosen = ~is_deleted
        elif wanted.kept == "deleted":
            chosen = is_deleted
        else:
            chosen = ~is_deleted & (self.labels != self.originals)
        if wanted.label is not None:
            chosen &= np.where(is_deleted, self.originals, self.labels) == wanted.label
        if wanted.episode is not None:
            keys = [info.key for info in self.infos]
            number = NONE
            if wanted.episode in keys:
                number = keys.index(wanted.episode)
            chosen &= self.episodes == number
        if wanted.actionable is not None:
            chosen &= (self.actionable == 1) == wanted.actionable
        if wanted.answer != "any":
            agrees = self.answers == self.labels
            chosen &= (self.answers != NONE) & (agrees == (wanted.answer == "agrees"))
        rows = np.flatnonzero(chosen)
        if wanted.order == "share":
            rows = rows[np.argsort(-self.probabilities[rows], kind="stable")]
        return rows

    def describe(self, row: int) -> dict[str, Any]:
        """Return a sample as an object of JSON; what is missing is None."""
        info = self.infos[self.episodes[row]]
        label, second = _present(self.labels[row]), _present(self.second_best[row])
        if second == label:
            second = None  # DataSet.correct leaves it out
        actionable: bool | None = None
        if self.actionable[row] != NONE:
            actionable = bool(self.actionable[row])
        answer, share = _present(self.answers[row]), None
        if answer is not None:
            share = float(self.probabilities[row])
        return {
            "episode": info.key,
            "tick": int(self.ticks[row]),
            "label": label,
            "original": int(self.originals[row]),
            "second": second,
            "played": _present(self.played[row]),
            "actionable": actionable,
            "answer": answer,
            "share": share,
        }

    def agreement(self) -> tuple[int, int]:
        """Return for how many samples there is an answer, and how many of these are the label."""
        asked = (self.answers != NONE) & (self.labels != NONE)
        return int(asked.sum()), int((asked & (self.answers == self.labels)).sum())

    def confusions(self) -> list[tuple[int, int, int]]:
        """Return (label, answer, number of samples) for each pair that differs, the commonest
        first.
        """
        wrong = (self.answers != NONE) & (self.labels != NONE) & (self.answers != self.labels)
        pairs = np.stack([self.labels[wrong], self.answers[wrong]], axis=1)
        found, counts = np.unique(pairs, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        confusions: list[tuple[int, int, int]] = []
        for row in order:
            label, answer = found[row].tolist()
            confusions.append((label, answer, int(counts[row])))
        return confusions


def _columns(
    number: int,
    original: EpisodeLabels,
    labels: Mapping[int, int | None],
    answers: Answers | None,
) -> np.ndarray:
    """Return the columns of an episode, in the order of SampleTable's: int64 [8, n]."""
    count = len(original)
    table = np.full((8, count), NONE, np.int64)
    table[0] = number
    table[1] = original.ticks
    for row, tick in enumerate(original.ticks.tolist()):
        label = labels[tick]
        if label is not None:
            table[2, row] = label
    table[3] = original.actions
    table[4] = original.second_best
    table[5] = original.played
    table[6] = original.actionable
    if answers is not None:
        table[7, np.searchsorted(original.ticks, answers.ticks)] = answers.actions
    return table


def _probabilities(ticks: np.ndarray, answers: Answers | None) -> np.ndarray:
    """Return the probabilities of the answers to an episode with these ticks."""
    probabilities = np.zeros(len(ticks), np.float32)
    if answers is not None:
        probabilities[np.searchsorted(ticks, answers.ticks)] = answers.probabilities
    return probabilities


def _present(number: Any) -> int | None:
    """Return a number of a column; None where it is missing."""
    return None if number == NONE else int(number)
