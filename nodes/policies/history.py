"""FeatureHistory: what a policy network saw, knew and pressed at its last decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from minibrains import Brain, Socket, TorchNode, setting
from minibrains.errors import BrainError

if TYPE_CHECKING:
    import torch
    from torch import nn

MOST_NUMBERS: Final = 2**20
"""The most numbers of a history: they are copied at each decision."""

SeenFeatures = Annotated[np.ndarray, Socket("vector", "f32[{features}]")]
KnownNumbers = Annotated[np.ndarray, Socket("vector", "f32[{numbers}]")]
PressedButtons = Annotated[np.ndarray, Socket("buttons", "u8[rows {buttons}]")]
FeatureRows = Annotated[np.ndarray, Socket("sequence", "f32[{steps} {columns}]")]


class FeatureHistoryBrain(Brain):
    """The sizes of a history of features. There is nothing in it to be learned."""

    kind = "feature_history"
    steps: int = setting(doc="the number of decisions that are remembered, one row each")
    features: int = setting(doc="the number of columns with features of frames")
    numbers: int = setting(doc="the number of columns with numbers")
    buttons: int = setting(doc="the number of columns with buttons")

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        return {"columns": config["features"] + config["numbers"] + config["buttons"]}

    def check(self, where: str) -> None:
        sizes = self.steps, self.features, self.numbers, self.buttons
        if min(sizes) < 1 or self.steps * self.sizes["columns"] > MOST_NUMBERS:
            raise BrainError(
                f"{where}: steps, features, numbers and buttons are {list(sizes)}; expected each "
                f"at least 1, and a history of at most {MOST_NUMBERS} numbers"
            )


class FeatureHistory(TorchNode, category="policies"):
    """A table of what a policy network saw, knew and pressed at its last decisions.

    features:  float32 [features], those of a FrameEncoder
    numbers:   float32 [numbers], those of a FightVector
    buttons:   uint8 [rows, buttons], those of a ButtonHistory; the last row is the pad before this
               decision
    Out:       float32 [steps, columns], a row for each decision, oldest first: features, numbers
               and buttons side by side. Rows from before the episode are 0

    It remembers from one run of the node to the next, so give it the clock of the policy. It is a
    part of the network, although it learns nothing: in training, gradients go through it to the
    features of earlier decisions.
    """

    brain: FeatureHistoryBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        return nn.Identity()

    def initial(self, batch: int) -> torch.Tensor:
        """Return the table at the start of an episode, float32 [batch, steps, columns] of 0."""
        import torch

        return torch.zeros(batch, self.brain.steps, self.brain.sizes["columns"])

    def forward(
        self, features: SeenFeatures, numbers: KnownNumbers, buttons: PressedButtons, state: Any
    ) -> tuple[FeatureRows, Any]:
        import torch

        pressed = buttons[:, -1].float()  # type: ignore[attr-defined]
        row = torch.cat([features, numbers, pressed], 1)  # type: ignore[list-item]
        table: Any = torch.cat([state[:, 1:], row[:, None]], 1)
        return table, table
