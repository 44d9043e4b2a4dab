"""Tiny data sets for cloning: two squares, and a teacher who looks at their distance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minibrains.files import home
from nodes.actions.sink import ActionTable
from nodes.policies.buttons import ButtonCalibration, ButtonHead
from nodes.policies.network import PolicyHead
from nodes.training.clone import ClonePolicy
from nodes.training.clone_buttons import CloneButtons, presses_by_action
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, Sample, encode_picture
from nodes.training.examples import Preprocessing
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
    "batch_size": 16,
    "learning_rate": 0.01,
    "epochs": 8,
    "validate": 10,
    "checkpoint": 10,
    "steps": 5,
}
PREPROCESSING = Preprocessing(
    colors=COLORS,
    mirror=True,
    pictures=3,
    center=SMALL["center"],
    box=SMALL["box"],
    size=SMALL["size"],
)
"""That of `SMALL`."""
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


def write_fights(
    matches: int = 8, random: bool = False, name: str = NAME, first: int = 0
) -> DataSet:
    """Write a data set of matches into $MINIBRAINS_HOME, from number `first` on, and return it."""
    data = DataSet.named(name)
    for number in range(first, first + matches):
        data.write(info(number), match(number, random=random))
    return data


def clone(**widgets: Any) -> ClonePolicy:
    """A node that learns from `write_fights`."""
    return ClonePolicy(brain=COLORS, **{**SMALL, **widgets})


TABLE = ActionTable(
    names=("wait", "kick", "punch"),
    buttons=("LEFT", "A", "B"),
    starts=np.array([0, 1, 2, 4], np.int32),
    rows=np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], np.uint8),
)
"""The buttons of a match's actions; the second row of the punch is for nothing."""


def clone_buttons(**widgets: Any) -> CloneButtons:
    """A node that learns the buttons of `write_fights`; TABLE is written into $MINIBRAINS_HOME."""
    table = home() / "models" / "action_table" / "fights.safetensors"
    table.parent.mkdir(parents=True, exist_ok=True)
    TABLE.save(table, title="Fights", made_by="a test")
    small = {**SMALL, "table": "action_table/fights.safetensors"}
    return CloneButtons(brain=COLORS, **{**small, **widgets})


def untrained_buttons() -> Any:
    """The brain of a policy with a logit for each button of TABLE, as clone_buttons begins with."""
    config = {
        "buttons": TABLE.buttons,
        "channels": 6,
        "height": 12,
        "width": 40,
        "hidden": 16,
        "convolutions": ((8, 4, 2),),
    }
    return ButtonHead.new_brain(config)


def write_untrained_policy(folder: Path) -> Path:
    """Write a policy for the pictures of `write_fights`, and the colours that its eyes know, into
    a folder of brains, and return its file.
    """
    colors = folder / "fighter_colors" / "squares.safetensors"
    colors.parent.mkdir(parents=True, exist_ok=True)
    sha256 = COLORS.save(colors, title="Two squares", made_by="a test")
    eyes: dict[str, Any] = {"fighter_colors_sha256": sha256, "turn": True, "pictures": 3}
    for widget in ("center", "box", "size"):
        eyes[widget] = SMALL[widget]
    brain = PolicyHead.new_brain({
        "actions": 3,
        "action_names": TABLE.names,
        "channels": 6,
        "height": 12,
        "width": 40,
        "hidden": 16,
        "convolutions": ((8, 4, 2),),
    })  # fmt: skip
    path = folder / "policy_head" / "small.safetensors"
    brain.save(path, title="Untrained", made_by="a test", eyes=eyes)
    return path


def write_untrained_buttons() -> None:
    """Write such a policy, with the header of a training, into $MINIBRAINS_HOME."""
    eyes: dict[str, Any] = {"fighter_colors_sha256": "", "turn": True, "pictures": 3}
    for name in ("center", "box", "size"):
        eyes[name] = SMALL[name]
    folder = home() / "models"
    untrained_buttons().save(
        folder / "button_head" / "small.safetensors",
        title="Untrained",
        made_by="a test",
        eyes=eyes,
        presses=presses_by_action(TABLE),
    )
    calibration = ButtonCalibration(buttons=TABLE.buttons, thresholds=(0.5,) * 3, bias=(0.0,) * 3)
    calibration.save(
        folder / "button_calibration" / "small.safetensors", title="None", made_by="a test"
    )
