"""Objectives of behaviour cloning: what the outputs of a network should be for a teacher's action.

An ActionObjective is for a logit for each action, a ButtonObjective for one for each button.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from minibrains.errors import MinibrainsError
from nodes.training.examples import Examples

if TYPE_CHECKING:
    import torch


class Objective(ABC):
    """The loss of a network's logits [n, outputs] for some samples, and whether they are right."""

    @abstractmethod
    def losses(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        """Return what is minimised for each sample: float32 [n].

        Args:
            logits: float32 [n, outputs].
            examples: The samples.
            rows: int64 [n]: which of them the logits are for.
        """

    @abstractmethod
    def nll(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        """Return the cross-entropy of the teacher's answers in nats, without any weights; a sum
        over the samples.
        """

    @abstractmethod
    def agrees(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        """Return whether the likeliest answer is the teacher's: bool [n]."""

    @abstractmethod
    def answers(self, examples: Examples) -> np.ndarray:
        """Return the teacher's answers in all samples: [samples, 1 or outputs]."""


class ActionObjective(Objective):
    """The teacher's action, and its second best one, out of a softmax of all actions; and for a
    share of the loss, how probable each action was to the teacher.

    Source of distillation: A. A. Rusu et al., Policy distillation, ICLR 2016, arXiv:1511.06295.
    """

    def __init__(
        self,
        actions: tuple[str, ...],
        class_weight: Mapping[str, float],
        label_smoothing: float,
        second_weight: float,
        distillation: float,
    ) -> None:
        """Prepare the weights of the actions.

        Args:
            actions: Their names.
            class_weight: The weights of some actions, by name; others have 1.
            label_smoothing: Of the labels, 0 to 1.
            second_weight: The share of the loss that is about the second best action, 0 to 0.5.
            distillation: The share of the loss that is about the teacher's probabilities, 0 to 1,
                to which none of the other settings applies.

        Raises:
            MinibrainsError: `class_weight` names an action that there is not.
        """
        import torch

        self._weights = torch.ones(len(actions))
        for name, weight in class_weight.items():
            if name not in actions:
                raise MinibrainsError(
                    f"class_weight names {name!r}, which is not an action of the data set; "
                    f"expected some of {', '.join(actions)}"
                )
            self._weights[actions.index(name)] = weight
        self._smoothing, self._second = label_smoothing, second_weight
        self._distillation = distillation

    def losses(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        import torch

        losses = torch.zeros(len(rows))
        if self._distillation < 1:
            losses = (1 - self._distillation) * self._of_actions(logits, examples, rows)
        if self._distillation > 0:
            distilled = self._of_probabilities(logits, examples, rows)
            losses = losses + self._distillation * distilled
        return losses

    def _of_probabilities(
        self, logits: torch.Tensor, examples: Examples, rows: np.ndarray
    ) -> torch.Tensor:
        """Return the Kullback-Leibler divergence from the teacher's probabilities: float32 [n]."""
        import torch
        from torch.nn import functional

        probabilities = torch.from_numpy(examples.probabilities[rows])
        found = functional.log_softmax(logits, 1)
        return functional.kl_div(found, probabilities, reduction="none").sum(1)

    def _of_actions(
        self, logits: torch.Tensor, examples: Examples, rows: np.ndarray
    ) -> torch.Tensor:
        """Return the weighted cross-entropy of the teacher's best and second best action:
        float32 [n].
        """
        import torch
        from torch.nn import functional

        labels = torch.from_numpy(examples.labels[rows])
        second_best = torch.from_numpy(examples.second_best[rows])
        losses = torch.zeros(len(rows))
        for share, actions in ((1 - self._second, labels), (self._second, second_best)):
            each = functional.cross_entropy(
                logits,
                actions,
                self._weights,
                label_smoothing=self._smoothing,
                reduction="none",
            )
            losses = losses + share * each / self._weights[actions].mean()
        return losses

    def nll(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        import torch
        from torch.nn import functional

        labels = torch.from_numpy(examples.labels[rows])
        return functional.cross_entropy(logits, labels, reduction="sum")

    def agrees(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        import torch

        return logits.argmax(1) == torch.from_numpy(examples.labels[rows])

    def answers(self, examples: Examples) -> np.ndarray:
        return examples.labels[:, None]


class ButtonObjective(Objective):
    """The buttons that the teacher holds, each on its own.

    Source of the focal loss: T.-Y. Lin et al., Focal loss for dense object detection, ICCV 2017,
        arXiv:1708.02002.
    """

    def __init__(self, presses: np.ndarray, positive_weight: float, focal_gamma: float) -> None:
        """Prepare the targets.

        Args:
            presses: bool [actions, buttons]: the buttons that each action begins with.
            positive_weight: How much a button that is held counts in the loss; one that is not
                held counts 1.
            focal_gamma: The exponent of the focal loss: how much less it counts if the network is
                right already; 0: as much.
        """
        import torch

        self._presses = presses
        self._positive_weight = torch.tensor(positive_weight)
        self._focal_gamma = focal_gamma

    def losses(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        from torch.nn import functional

        held = self._held(examples, rows)
        each = functional.binary_cross_entropy_with_logits(
            logits, held, pos_weight=self._positive_weight, reduction="none"
        )
        if self._focal_gamma:
            probability = logits.sigmoid()
            wrong = held * (1 - probability) + (1 - held) * probability
            each = each * wrong**self._focal_gamma
        return each.sum(1)

    def nll(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        from torch.nn import functional

        held = self._held(examples, rows)
        return functional.binary_cross_entropy_with_logits(logits, held, reduction="sum")

    def agrees(self, logits: torch.Tensor, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        return ((logits > 0) == self._held(examples, rows).bool()).all(1)

    def answers(self, examples: Examples) -> np.ndarray:
        answers: np.ndarray = self._presses[examples.labels]
        return answers

    def _held(self, examples: Examples, rows: np.ndarray) -> torch.Tensor:
        """Return 1 where the teacher holds a button: float32 [n, buttons]."""
        import torch

        return torch.from_numpy(self._presses[examples.labels[rows]].astype(np.float32))
