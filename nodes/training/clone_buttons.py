"""CloneButtons: behaviour cloning of a policy with a logit for each button."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from minibrains import MinibrainsError, widget
from minibrains.files import bundled_dir, find_inside, home
from nodes.actions.sink import ActionTable
from nodes.policies.buttons import DIRECTIONS, ButtonCalibration, ButtonHead
from nodes.training.checkpoint import renamed
from nodes.training.clone import CLONING, Cloning
from nodes.training.objectives import ButtonObjective
from nodes.training.trainer import Trainer


class CloneButtons(
    Cloning,
    version=4,
    renamed_widgets={
        1: {
            **renamed("learning_rate", "batch_size", "weight_decay", "focal_gamma"),
            **CLONING,
        },
        2: {**renamed("focal_gamma"), **CLONING},
        3: renamed("mirror"),
    },
):
    """Train a network for ButtonHead to hold the buttons that a teacher holds, on a data set.

    It learns as ClonePolicy does, and goes on in the same way. The target of a sample is the
    buttons with which the teacher's action begins, for each button on its own. In most moments a
    button is not held, so a network that presses none is nearly always right: `positive_weight` and
    `focal_gamma` change the loss, and Calibrate, which is better, the thresholds.

    At the end the policy of the best validation is saved as the brain `button_head/NAME`, and for
    ButtonSampler `button_calibration/NAME`, with thresholds of 0.5, `bias` and `temperature`.

    Source: T.-Y. Lin et al., Focal loss for dense object detection, ICCV 2017, arXiv:1708.02002.
    """

    head = ButtonHead

    table: str = widget(
        default="action_table/sf2.safetensors",
        rebuild=True,
        doc="the action_table brain that says which buttons the actions of the data set hold",
    )
    positive_weight: float = widget(
        default=1.0,
        min=0.01,
        max=1000.0,
        rebuild=True,
        doc="of a button that is held, in the loss; one that is not held has 1",
    )
    focal_gamma: float = widget(
        default=0.0,
        min=0.0,
        max=10.0,
        rebuild=True,
        doc="the exponent of the focal loss, 2 say, by which buttons count less that the network "
        "is right about; 0: cross-entropy",
    )
    bias: float = widget(
        default=0.0,
        doc="added in play to the logits of all buttons but the directions. A hack, with which it "
        "presses more, whatever it sees: 4 makes a silent policy attack",
    )
    temperature: float = widget(
        default=1.0, min=0.01, max=100.0, doc="by which the logits are divided in play"
    )

    def check(self) -> None:
        super().check()
        self._table_path()

    def _objective(self) -> ButtonObjective:
        table = self._read_table()
        if table.names != self._actions:
            raise MinibrainsError(
                f"{self.table} has other actions than the data set {self.data}; expected in table "
                "that of the SampleWriter that has written it"
            )
        return ButtonObjective(first_presses(table), self.positive_weight, self.focal_gamma)

    def _outputs(self, actions: tuple[str, ...]) -> dict[str, Any]:
        return {"buttons": self._read_table().relative_buttons}

    def _metadata(self) -> dict[str, Any]:
        return {"presses": presses_by_action(self._read_table())}

    def _finish(self, trainer: Trainer) -> None:
        super()._finish(trainer)
        buttons = self._read_table().relative_buttons
        bias: list[float] = []
        for button in buttons:
            bias.append(0.0 if button in DIRECTIONS else self.bias)
        calibration = ButtonCalibration(
            buttons=buttons,
            thresholds=(0.5,) * len(buttons),
            bias=tuple(bias),
            temperature=self.temperature,
        )
        path = home() / "models" / calibration.kind / f"{self.name}.safetensors"
        sha256 = self._write(
            calibration.save,
            path,
            title=self.title or self.name,
            made_by=self._host.workflow.made_by,
        )
        self._host.say(f"saved the brain {calibration.kind}/{path.name}, {sha256}")

    def _table_path(self) -> Path:
        path = find_inside(self.table, [home() / "models", bundled_dir("models")])
        if path is None:
            raise MinibrainsError(
                f"there is no brain {self.table!r}; expected in table an action_table brain, such "
                "as action_table/sf2.safetensors"
            )
        return path

    def _read_table(self) -> ActionTable:
        return ActionTable.load(self._table_path())


def first_presses(table: ActionTable) -> np.ndarray:
    """Return the buttons with which each action of a table begins: bool [actions, buttons], in the
    order of `relative_buttons`.
    """
    columns = [table.buttons.index(button) for button in table.relative_buttons]
    first: np.ndarray = table.rows[table.starts[:-1]].astype(bool)[:, columns]
    return first


def presses_by_action(table: ActionTable) -> Mapping[str, list[str]]:
    """Return the names of the buttons with which each action of a table begins."""
    presses: dict[str, list[str]] = {}
    for name, row in zip(table.names, first_presses(table), strict=True):
        presses[name] = [table.relative_buttons[column] for column in np.flatnonzero(row)]
    return presses
