"""Policies with a logit for each button: a network, and the buttons that are pressed by it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import numpy as np

from minibrains import ABSENT, Absent, Brain, Episode, Flag, Node, On, Pad, Socket, setting, widget
from minibrains.errors import BrainError, MinibrainsError
from nodes.actions.sink import FACING
from nodes.policies.network import FrameNetwork, HeadFrames, network_specs

if TYPE_CHECKING:
    import torch

ButtonLogits = Annotated[np.ndarray, Socket("button_logits", "f32[{buttons}]")]
PressedButtons = Annotated[np.ndarray, Socket("pressed", "bool[{buttons}]")]

OPPOSITES: Final = (
    frozenset({"UP", "DOWN"}),
    frozenset({"LEFT", "RIGHT"}),
    frozenset({"BACK", "FORWARD"}),
)
"""Directions of which a pad can hold one at a time."""
DIRECTIONS: Final = frozenset[str]().union(*OPPOSITES)


class ButtonHeadBrain(Brain):
    """Weights and sizes of a small convolutional network from stacked frames to button logits."""

    kind = "button_head"
    buttons: tuple[str, ...] = setting(
        doc="the names of the buttons, one for each output; FORWARD and BACK depend on the "
        "direction that the player faces"
    )
    channels: int = setting(doc="input channels")
    height: int = setting(doc="input pixels")
    width: int = setting(doc="input pixels")
    hidden: int = setting(doc="width of each hidden layer")
    convolutions: tuple[tuple[int, ...], ...] = setting(
        doc="[filters, kernel, stride] of each layer"
    )
    layers: int = setting(1, "number of hidden layers between the convolutions and the output")
    profiles: bool = setting(
        False,
        "the first hidden layer also gets the mean of each column and of each row of each channel, "
        "times 4",
    )
    weights: Literal["f32", "f16"] = setting(
        "f32", "the type in which the weights are stored; it always computes in f32"
    )

    def check(self, where: str) -> None:
        check_button_names(where, self.buttons)

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return network_specs(config, len(config["buttons"]))

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        return {"buttons": len(config["buttons"])}


def check_button_names(where: str, buttons: tuple[str, ...]) -> None:
    """Raise BrainError unless there are buttons, all different."""
    if not buttons or len(set(buttons)) != len(buttons):
        raise BrainError(
            f"{where}: buttons is {list(buttons)}; expected at least one name, all different"
        )


class ButtonHead(FrameNetwork, category="policies"):
    """A small CNN from stacked frames to one logit per button; its sizes come from its brain.

    frames:  float32 [channels, height, width]
    Out:     float32 [buttons], in nats: a button has the probability sigmoid(logit)

    Unlike a PolicyHead, which chooses one action of a table, it can press any buttons together. A
    ButtonSampler presses them. Its network is that of PolicyHead.
    """

    brain: ButtonHeadBrain

    def trained_action_names(self) -> tuple[str, ...]:
        """Return the names of the buttons that it was trained for."""
        names: tuple[str, ...] = self.brain.buttons
        return names

    def outputs(self, config: Mapping[str, Any]) -> int:
        return len(config["buttons"])

    def forward(self, frames: HeadFrames) -> ButtonLogits:
        logits: torch.Tensor = self.logits(frames)  # type: ignore[arg-type]
        return logits  # type: ignore[return-value]


class ButtonCalibration(Brain):
    """For each button the probability from which on it is pressed, and a correction of its logit.

    Calibrate makes it from a data set, so that each button is pressed as often as there.
    """

    kind = "button_calibration"
    buttons: tuple[str, ...] = setting(doc="the names of the buttons, as in the button_head")
    thresholds: tuple[float, ...] = setting(
        doc="for each button: it is pressed if its probability is above this, 0 to 1"
    )
    bias: tuple[float, ...] = setting(doc="for each button: added to its logit, in nats")
    temperature: float = setting(
        1.0, "by which the logits are divided after that; higher is less sure"
    )

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        return {"buttons": len(config["buttons"])}

    def check(self, where: str) -> None:
        check_button_names(where, self.buttons)
        for name in ("thresholds", "bias"):
            numbers = getattr(self, name)
            if len(numbers) != len(self.buttons):
                raise BrainError(
                    f"{where}: {name} is {list(numbers)}; expected a number for each of the "
                    f"{len(self.buttons)} buttons"
                )
        if min(self.thresholds) < 0 or max(self.thresholds) > 1:
            raise BrainError(f"{where}: thresholds must be from 0 to 1")
        if not 0.01 <= self.temperature <= 100:
            raise BrainError(
                f"{where}: the temperature is {self.temperature}; expected 0.01 to 100"
            )

    def corrected(self, logits: np.ndarray) -> np.ndarray:
        """Return logits with the bias, divided by the temperature: float64 [..., buttons]."""
        corrected: np.ndarray = (logits.astype(np.float64) + self.bias) / self.temperature
        return corrected

    def press(self, logits: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Return the buttons that are pressed.

        Args:
            logits: float32 [n, buttons].
            rng: Draws each button by its probability; None: the thresholds decide.

        Returns:
            bool [n, buttons]; of two opposite directions only the one that is further above its
            threshold.
        """
        probabilities = sigmoid(self.corrected(logits))
        limits = np.asarray(self.thresholds)
        if rng is not None:
            limits = rng.random(probabilities.shape)
        margins = probabilities - limits
        pressed: np.ndarray = margins > 0
        for first, second in combinations(range(len(self.buttons)), 2):
            if {self.buttons[first], self.buttons[second]} in OPPOSITES:
                larger = margins[:, first] >= margins[:, second]
                pressed[:, first] &= larger
                pressed[:, second] &= ~larger
        return pressed


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits: float64 of the same shape."""
    probabilities: np.ndarray = np.exp(-np.logaddexp(0.0, -logits.astype(np.float64)))
    return probabilities


class PressedPad(NamedTuple):
    """The buttons to hold from now on."""

    pad: Pad | Absent
    pressed: PressedButtons | Absent


_SAME: Final = PressedPad(ABSENT, ABSENT)


class ButtonSampler(
    Node, category="policies", every_tick=True, renamed_attributes={"left": "remaining"}
):
    """Press the buttons of which the logits are high enough, by the thresholds of its brain.

    logits:   float32 [buttons], of a ButtonHead
    facing:   True: the player faces right; needed by buttons called FORWARD or BACK
    pad:      the names of the buttons to hold from now on
    pressed:  bool [buttons], with the logits: the buttons that were chosen, in the order of the
              brain

    Bias and temperature of its brain come before the thresholds. Of two opposite directions only
    the one that is further above its threshold is held.
    """

    brain: ButtonCalibration
    mode: Literal["threshold", "sample"] = widget(
        default="threshold",
        doc="press what is likelier than its threshold, or draw each button by its probability",
    )
    hold: int = widget(
        default=0,
        min=0,
        doc="ticks after which all but the directions are released, so that a button can be "
        "pressed again; 0: they are held until the next logits",
    )

    def button_names(self) -> frozenset[str]:
        """Return the names of the buttons that it may press."""
        pressed: set[str] = set()
        for directions in FACING.values():
            pressed.update(directions.get(button, button) for button in self.brain.buttons)
        return frozenset(pressed)

    def action_names(self) -> tuple[str, ...]:
        """Return the names of the buttons that its brain is about."""
        names: tuple[str, ...] = self.brain.buttons
        return names

    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()
        self.directions: Pad = ()
        self.remaining = 0

    def tick(self, logits: On[ButtonLogits], facing: Flag | None = None) -> PressedPad:
        if logits is None:
            if not self.remaining:
                return _SAME
            self.remaining -= 1
            if self.remaining:
                return _SAME
            return PressedPad(self.directions, ABSENT)
        rng = self.rng if self.mode == "sample" else None
        pressed = self.brain.press(logits[None], rng)[0]
        pad = self._pad(pressed, facing)
        self.directions = tuple(button for button in pad if button in DIRECTIONS)
        self.remaining = self.hold if len(pad) > len(self.directions) else 0
        return PressedPad(pad, pressed)

    def _pad(self, pressed: np.ndarray, facing: bool | None) -> Pad:
        names = [self.brain.buttons[column] for column in np.flatnonzero(pressed)]
        relative = FACING[facing is not False]
        if facing is None and not relative.keys().isdisjoint(names):
            raise MinibrainsError(
                "FORWARD or BACK is to be pressed, but nothing says which way; link facing, "
                "FighterMask and GameFeatures have it"
            )
        held = {relative.get(name, name) for name in names}
        return tuple(sorted(held))
