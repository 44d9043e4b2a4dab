"""Imitation learning: what trainings on a data set of a teacher's actions have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from minibrains import ABSENT, Absent, ColorFrame, Episode, Flag, Number, Register, widget
from nodes.training import curves
from nodes.training.checkpoint import check_training_name
from nodes.training.data_set import DataSet

Curves = Mapping[str, Sequence[float]]


class Learning(NamedTuple):
    """The outputs of a training on a data set."""

    loss: Number | Absent
    agreement: Number | Absent
    validation_loss: Number | Absent
    validation_agreement: Number | Absent
    curves: ColorFrame | Absent
    finished: Flag

    def with_step(self, training: Curves) -> Learning:
        """Add the figures of the last step, if there was one.

        Args:
            training: The curves CURVES.
        """
        if not training["step"]:
            return self
        return self._replace(loss=training["loss"][-1], agreement=training["agreement"][-1])

    def with_validation(self, training: Curves, validation: Curves, steps: int) -> Learning:
        """Add the figures of the last validation.

        Args:
            training: The curves CURVES.
            validation: The curves VALIDATIONS, not empty.
            steps: Number of steps of the whole training.
        """
        return self._replace(
            validation_loss=validation["loss"][-1],
            validation_agreement=validation["agreement"][-1],
            curves=curves.sketch(training, validation, steps),
        )


NOTHING_YET: Final = Learning(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, False)


class Imitation(
    Register, abstract=True, category="training", collects_data=True, terminal="finished"
):
    """Learn from the user's data set `data` to act as a teacher would.

    loss:  of the last step, with all its terms
    agreement:  with the teacher in the last step, 0 to 1
    validation_loss:  cross-entropy on the matches that are not learned from, after each validation
    validation_agreement:  with the teacher on these matches, 0 to 1
    curves:  uint8 [180, 320, 3], after each validation: losses in blue, the steps' darker, and in
        green the agreement in validation
    finished:  True: the best brain is saved; this ends the episode
    """

    data: str = widget(rebuild=True, doc="the name of the data set")
    name: str = widget(rebuild=True, doc="the name of the training and of what it makes")
    game: str = widget(default="", rebuild=True, names="game", doc="of the data set; empty: any")
    weight_decay: float = widget(
        default=0.01, min=0.0, rebuild=True, doc="of the weights, by AdamW"
    )
    precision: Literal["f32", "bf16"] = widget(
        default="f32",
        rebuild=True,
        doc="in which a step computes; bf16 is faster on processors that have instructions for it "
        "(AMX, AVX-512 BF16), and slower on others",
    )
    threads: int = widget(
        default=1,
        min=1,
        max=64,
        rebuild=True,
        doc="processor threads that compute a step; another number changes results in their last "
        "bits",
    )
    seed: int = widget(
        default=0, min=0, rebuild=True, doc="of new weights, the split and the order of samples"
    )
    validation: float = widget(
        default=0.1, min=0.0, max=0.9, rebuild=True, doc="share of the matches to validate with"
    )
    metric_for_best: Literal["loss", "agreement"] = widget(
        default="loss",
        rebuild=True,
        doc="the best validation has the least loss, or most agreement",
    )
    patience: int = widget(
        default=0,
        min=0,
        rebuild=True,
        doc="number of validations without a better one after which it stops early; 0: never",
    )
    title: str = widget(default="", doc="the title in the header of brains; empty: the name")
    license: str = widget(default="", doc="the licence in the header; empty: none is named")

    def check(self) -> None:
        DataSet.named(self.data)
        check_training_name(self.name)

    def reset(self, episode: Episode) -> None:
        self.now = NOTHING_YET

    def emit(self) -> Learning:
        return self.now
