"""Untrained policies, and the frame stacks that a network is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minibrains.sockets import parse_spec
from nodes.policies.baselines import ReflexBrain
from nodes.policies.network import PolicyHeadBrain
from nodes.policies.vector import VectorPolicyBrain
from nodes.vision.frames import FrameStackBrain
from server.commands.make_brains.action_tables import sf2_table
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
    return MadeBrain(_untrained_policy(21, ()), "A fight in 21 numbers: untrained")


def duel_untrained() -> MadeBrain:
    """Make an untrained network from the numbers of a fight in Duel to the actions of sf2."""
    policy = _untrained_policy(len(duel_numbers()), sf2_table().names)
    return MadeBrain(policy, "Duel in numbers: untrained")


def _untrained_policy(numbers: int, action_names: Sequence[str]) -> VectorPolicyBrain:
    """Make a network with random weights scaled for tanh; the output is small, so that all actions
    are tried.
    """
    config = {
        "numbers": numbers,
        "actions": 44,
        "hidden": 256,
        "layers": 2,
        "action_names": tuple(action_names),
    }
    random = np.random.default_rng(0)
    tensors = {}
    for name, spec in VectorPolicyBrain.tensor_specs(config).items():
        _, dims = parse_spec(spec)
        shape = [int(size) for size in dims]
        scale = 0.0  # of biases
        if len(shape) > 1:
            scale = 1 / np.sqrt(shape[1])
        if name == "output.weight":
            scale /= 100
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return VectorPolicyBrain(tensors, **config)


def airstriker_untrained() -> MadeBrain:
    """Make an untrained network for PolicyHead, with random weights scaled as in He et al. 2015."""
    config = {
        "channels": 4,
        "height": 84,
        "width": 84,
        "actions": 6,
        "hidden": 128,
        "convolutions": ((16, 8, 4), (32, 4, 2)),
    }
    random = np.random.default_rng(0)
    tensors = {}
    for name, spec in PolicyHeadBrain.tensor_specs(config).items():
        _, dims = parse_spec(spec)
        shape = [int(size) for size in dims]
        scale = 0.0  # of biases
        if len(shape) > 1:
            scale = np.sqrt(2 / np.prod(shape[1:]))
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return MadeBrain(PolicyHeadBrain(tensors, **config), "Airstriker: untrained, random weights")
