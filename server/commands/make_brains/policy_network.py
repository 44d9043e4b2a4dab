"""The policy network of sf2_policy, untrained: a slim one, which is shipped, and the full one."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import Brain
from minibrains.sockets import parse_spec
from nodes.policies.attention import CrossAttentionBrain, TemporalAttentionBrain
from nodes.policies.encoder import FrameEncoderBrain
from nodes.policies.heads import ActionHeadBrain, ValueHeadBrain
from nodes.policies.history import FeatureHistoryBrain
from server.commands.make_brains.action_tables import combos57_table
from server.commands.make_brains.made_brain import MadeBrain


class Sizes(NamedTuple):
    """The sizes in which the two networks differ."""

    name: str
    convolutions: tuple[tuple[int, int, int], ...]
    width: int
    """The size of query and features."""
    hidden: tuple[int, ...]
    """The size of both heads."""
    pictures: int
    """The number of pictures that the first layer sees one at a time."""


FULL: Final = Sizes("full", ((16, 8, 8), (64, 3, 1), (52, 3, 1)), 256, (512, 256), 8)
SLIM: Final = Sizes("slim", ((8, 8, 8), (32, 3, 2), (32, 3, 2)), 64, (128, 64), 8)
STEPS: Final = 8
"""Decisions that are remembered."""
GROUPS: Final = (512, 21, 12)
"""Features of frames, numbers of a fight, buttons."""
HEADS: Final = 8
DROPOUT: Final = 0.1


def history() -> MadeBrain:
    """Make the sizes of the history, which both networks have."""
    features, numbers, buttons = GROUPS
    brain = FeatureHistoryBrain(steps=STEPS, features=features, numbers=numbers, buttons=buttons)
    return MadeBrain(brain, "8 decisions of 545 numbers", _command("feature_history/sf2"))


def encoder(sizes: Sizes) -> MadeBrain:
    """Make the part that sees."""
    config = {
        "channels": 24,
        "height": 128,
        "width": 180,
        "convolutions": sizes.convolutions,
        "features": GROUPS[0],
        "pictures": sizes.pictures,
    }
    return _untrained(FrameEncoderBrain, config, sizes, "8 colour frames to 512 features")


def groups(sizes: Sizes) -> MadeBrain:
    """Make the attentions over what was seen, known and pressed."""
    config = {"steps": STEPS, "groups": GROUPS, "width": sizes.width, "heads": HEADS}
    return _untrained(CrossAttentionBrain, config, sizes, "a question to 8 decisions")


def times(sizes: Sizes) -> MadeBrain:
    """Make the attention over decisions."""
    columns = len(GROUPS) * sizes.width
    config = {"columns": columns, "width": sizes.width, "heads": HEADS}
    return _untrained(TemporalAttentionBrain, config, sizes, "a second question to 8 decisions")


def actions(sizes: Sizes) -> MadeBrain:
    """Make the head for the 57 actions of combos57."""
    table = combos57_table("LEFT", "RIGHT")
    config = {
        "numbers": sizes.width,
        "hidden": sizes.hidden,
        "dropout": DROPOUT,
        "actions": len(table.names),
        "action_names": table.names,
    }
    return _untrained(ActionHeadBrain, config, sizes, "57 actions")


def value(sizes: Sizes) -> MadeBrain:
    """Make the head for the value."""
    config = {"numbers": sizes.width, "hidden": sizes.hidden, "dropout": DROPOUT}
    return _untrained(ValueHeadBrain, config, sizes, "the value")


def _untrained(kind: type[Brain], config: Mapping[str, Any], sizes: Sizes, what: str) -> MadeBrain:
    """Return a brain with random weights.

    Those of layers before a ReLU are scaled as in He et al. 2015, others to keep the size of what
    goes through. The output is small, so that all actions are tried.
    """
    random = np.random.default_rng(0)
    tensors: dict[str, np.ndarray] = {}
    for name, spec in kind.tensor_specs(config).items():
        _, dims = parse_spec(spec)
        shape = [int(size) for size in dims]
        numbers = random.standard_normal(shape) * _scale(name, shape)
        if name.startswith("norm") and name.endswith("weight"):
            numbers += 1
        tensors[name] = numbers.astype(np.float32)
    title = f"Street Fighter, a {sizes.name} network: {what}, untrained"
    file = f"{kind.kind}/sf2-{sizes.name}-untrained"
    return MadeBrain(kind(tensors, **config), title, _command(file))


def _scale(name: str, shape: list[int]) -> float:
    """Return the standard deviation of the random weights of a tensor."""
    if name in ("query", "positions"):
        return 1.0
    if name.endswith("bias") or name.startswith("norm"):
        return 0.0
    inputs = prod(shape[1:])
    if len(shape) == 3:  # a layer for each group, which is multiplied from the left
        inputs = shape[1]
    if name == "output.weight":
        return float(0.01 / np.sqrt(inputs))
    if name.startswith(("convolution", "features", "fusion", "hidden")):
        return float(np.sqrt(2 / inputs))
    return float(np.sqrt(1 / inputs))


def _command(file: str) -> str:
    return f"python -m server make-brains {file}.safetensors"
