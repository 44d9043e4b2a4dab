"""Untrained policies, and the frame stacks that a network is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from minibrains.sockets import parse_spec
from nodes.policies.baselines import ReflexBrain
from nodes.policies.buttons import ButtonCalibration, ButtonHeadBrain
from nodes.policies.memory import VectorMemoryBrain
from nodes.policies.network import PolicyHeadBrain
from nodes.policies.vector import VectorPolicyBrain
from nodes.vision.frames import FrameStackBrain
from server.commands.make_brains.action_tables import combos57_table, sf2_table
from server.commands.make_brains.fighting import duel_numbers
from server.commands.make_brains.made_brain import MadeBrain


def airstriker_sweep() -> MadeBrain:
    """Make one macro: 56 frames to the left and 56 to the right while firing,
    the width of the screen each.
    """
    left, right, shots = 4, 5, 7
    action = [left] * shots + [right] * shots
    ticks = [8] * len(action)
    reflex = ReflexBrain(
        actions=6,
        action=np.array([action], np.int32),
        ticks=np.array([ticks], np.int32),
    )
    return MadeBrain(reflex, "Airstriker: sweep from wall to wall while firing")


def grey4() -> MadeBrain:
    """Make a stack of four grey frames, of which the oldest is 12 ticks old."""
    return MadeBrain(_taps([12, 8, 4, 0], channels=1), "4 grey frames, 4 ticks apart")


def rgb8() -> MadeBrain:
    """Make a stack of eight successive colour frames."""
    return MadeBrain(
        _taps([7, 6, 5, 4, 3, 2, 1, 0], channels=3), "8 colour frames, one after the other"
    )


def masks3() -> MadeBrain:
    """Make a stack of the last three pictures with masks of two fighters."""
    return MadeBrain(_taps([2, 1, 0], channels=2), "The last 3 pictures of fighters' masks")


def _taps(taps: Sequence[int], channels: int) -> FrameStackBrain:
    return FrameStackBrain(
        taps=np.array(taps, np.int32),
        mean=np.zeros(channels, np.float32),
        std=np.ones(channels, np.float32),
    )


def fight_untrained() -> MadeBrain:
    """Make an untrained network from the 21 numbers of a fight to the actions of sf2."""
    return MadeBrain(_untrained_policy(21, 44, ()), "A fight in 21 numbers: untrained")


def duel_untrained() -> MadeBrain:
    """Make an untrained network from the numbers of a fight in Duel to the actions of sf2."""
    policy = _untrained_policy(len(duel_numbers()), 44, sf2_table().names)
    return MadeBrain(policy, "Duel in numbers: untrained")


def combos_untrained() -> MadeBrain:
    """Make an untrained network from the numbers of a fight in Duel to 57 combinations of
    buttons.
    """
    names = combos57_table("BACK", "FORWARD").names
    policy = _untrained_policy(len(duel_numbers()), 57, names)
    return MadeBrain(policy, "Duel in numbers, 57 combinations of buttons: untrained")


def _untrained_policy(numbers: int, actions: int, action_names: Sequence[str]) -> VectorPolicyBrain:
    """Make a network with random weights scaled for tanh; the output is small, so that all actions
    are tried.
    """
    config = {
        "numbers": numbers,
        "actions": actions,
        "hidden": 256,
        "layers": 2,
        "action_names": tuple(action_names),
    }
    random = np.random.default_rng(0)
    tensors = {}
    for name, spec in VectorPolicyBrain.tensor_specs(config).items():
        shape = _shape(spec)
        scale = 0.0  # of biases
        if len(shape) > 1:
            scale = 1 / np.sqrt(shape[1])
        if name == "output.weight":
            scale /= 100
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return VectorPolicyBrain(tensors, **config)


def airstriker_untrained() -> MadeBrain:
    """Make an untrained network for PolicyHead."""
    config = {**_SMALL_NETWORK, "actions": 6}
    tensors = _he_weights(PolicyHeadBrain.tensor_specs(config))
    return MadeBrain(PolicyHeadBrain(tensors, **config), "Airstriker: untrained, random weights")


def airstriker_buttons_untrained() -> MadeBrain:
    """Make an untrained network for ButtonHead."""
    config = {**_SMALL_NETWORK, "hidden": 32, "buttons": _AIRSTRIKER_BUTTONS}
    tensors = _he_weights(ButtonHeadBrain.tensor_specs(config))
    return MadeBrain(ButtonHeadBrain(tensors, **config), "Airstriker, buttons: untrained")


def airstriker_likelier() -> MadeBrain:
    """Make a calibration that changes nothing: a button is pressed if that is likelier than not."""
    calibration = ButtonCalibration(
        buttons=_AIRSTRIKER_BUTTONS,
        thresholds=(0.5,) * len(_AIRSTRIKER_BUTTONS),
        bias=(0.0,) * len(_AIRSTRIKER_BUTTONS),
    )
    return MadeBrain(calibration, "Airstriker: press what is likelier than not")


def duel_memory_untrained() -> MadeBrain:
    """Make an untrained memory of the numbers of a fight in Duel, with the random weights of
    torch's LSTM.
    """
    config = {"numbers": len(duel_numbers()), "hidden": 64}
    random = np.random.default_rng(0)
    most = 1 / np.sqrt(config["hidden"])
    tensors = {}
    for name, spec in VectorMemoryBrain.tensor_specs({**config, "layers": 1}).items():
        tensors[name] = random.uniform(-most, most, _shape(spec)).astype(np.float32)
    return MadeBrain(VectorMemoryBrain(tensors, **config), "A memory of Duel in numbers: untrained")


_SMALL_NETWORK: Final = {
    "channels": 4,
    "height": 84,
    "width": 84,
    "hidden": 128,
    "convolutions": ((16, 8, 4), (32, 4, 2)),
}
_AIRSTRIKER_BUTTONS: Final = ("LEFT", "RIGHT", "B")


def _he_weights(specs: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return random weights scaled as in He et al. 2015, and biases of 0."""
    random = np.random.default_rng(0)
    tensors = {}
    for name, spec in specs.items():
        shape = _shape(spec)
        scale = 0.0  # of biases
        if len(shape) > 1:
            scale = np.sqrt(2 / np.prod(shape[1:]))
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return tensors


def _shape(spec: str) -> list[int]:
    _, dims = parse_spec(spec)
    return [int(size) for size in dims]
