"""A recurrent network whose state is not that of an LSTM, and a world without rewards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from minibrains import Action, Brain, Register, Socket, TorchNode

Vector = Annotated[np.ndarray, Socket("vector", "f32[2]")]
TwoLogits = Annotated[np.ndarray, Socket("logits", "f32[2]")]


class Darkness(Register):
    """Shows nothing, whatever is done."""

    def emit(self) -> Vector:
        return np.zeros(2, np.float32)

    def latch(self, action: Action) -> None:
        pass


class FadingBrain(Brain):
    """The weights of Fading."""

    kind = "test_fading"

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return {"weight": "f32[2 2]", "bias": "f32[2]"}


class Fading(TorchNode):
    """What was seen, which fades, times the number of the step. Its state has three columns, and
    does not begin with zeros.
    """

    brain: FadingBrain

    def build(self, config: Mapping[str, Any]) -> Any:
        from torch import nn

        return nn.Linear(2, 2)

    def initial(self, batch: int) -> Any:
        import torch

        return {"seen": torch.ones(batch, 2), "step": torch.ones(batch, dtype=torch.int64)}

    def forward(self, vector: Vector, state: Any) -> tuple[TwoLogits, Any]:
        seen = state["seen"] / 2 + self.module(vector)
        step = state["step"]
        return seen * step[:, None], {"seen": seen, "step": step + 1}
