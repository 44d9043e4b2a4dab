"""Tiny data sets for cloning: two squares, and a teacher who looks at their distance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nodes.learning.clone import ClonePolicy
from nodes.learning.data_set import DataSet, EpisodeInfo, Sample, encode_picture
from nodes.vision.fighters import FighterColors
from tests.support.data_sets import INFO

COLORS = FighterColors(
    looks=("red", "green"),
    colors=np.array([[200, 0, 0], [0, 200, 0]], np.uint8),
    share=np.eye(2, dtype=np.float32),
)
FEATURES = ("agent_x", "enemy_x", "height")
NAME = "fights"
SMALL: dict[str, Any] = {
    "data": NAME,
    "name": "small",
    "center": (12, 16),
    "box": (0, 4, 80, 24),
    "size": (40, 12),
    "convolutions": ((8, 4, 2),),
    "hidden": 16,
    "auxiliary": ("agent_x-enemy_x", "height"),
    "validation": 0.25,
    "batch": 16,
    "rate": 0.01,
    "epochs": 8,
    "validate": 10,
    "checkpoint": 10,
    "steps": 5,
}
"""Widgets of a ClonePolicy that takes a second."""


def screen(own: int, other: int, height: int = 0) -> np.ndarray:
    """A picture of two squares at these columns, the own one `height` pixels above the ground."""
    picture = np.full((32, 64, 3), 40, np.uint8)
    picture[18 - height : 26 - height, own : own + 8] = (200, 0, 0)
    picture[18:26, other : other + 8] = (0, 200, 0)
    return picture


def match(number: int, count: int = 40, random: bool = False) -> list[Sample]:
    """The samples of a match: near the other one the teacher punches, far away it kicks, and in the
    air it waits. With `random` it does anything.
    """
    rng = np.random.default_rng(number)
    samples: list[Sample] = []
    for row in range(count):
        own, other = np.sort(rng.choice(56, 2, replace=False)).tolist()
        if other - own < 8:
            other = min(own + 8, 56)
            own = other - 8
        height = 10 * int(rng.random() < 0.2)
        action = 2 if other - own < 22 else 1
        if height:
            action = 0
        if row and rng.random() < 0.5:
            own, other = other, own
        if random:
            action = int(rng.integers(3))
        pictures = [screen(own, other, height)] * 3
        features = {"agent_x": float(own), "enemy_x": float(other), "height": float(height)}
        png = encode_picture(np.concatenate(pictures))
        samples.append(Sample(10 * row, png, action, None, None, row % 8 != 7, features))
    return samples


def info(number: int, **changes: Any) -> EpisodeInfo:
    """The metadata of a match."""
    made = replace(
        INFO, episode=number, trajectory_sha256=f"{number:064x}", features=FEATURES, samples=40
    )
    return replace(made, **changes)


def write_fights(matches: int = 8, random: bool = False) -> DataSet:
    """Write a data set of matches into $MINIBRAINS_HOME, and return it."""
    data = DataSet.named(NAME)
    for number in range(matches):
        data.write(info(number), match(number, random=random))
    return data


def clone(**widgets: Any) -> ClonePolicy:
    """A node that learns from `write_fights`."""
    return ClonePolicy(brain=COLORS, **{**SMALL, **widgets})
