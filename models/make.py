"""Make the brains in this folder that people set by hand, or that are untrained: `python models/make.py`.

Run again it writes the same bytes. Brains that were trained come from workflows instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nodes.action import ActionTable, RecoveryTable
from nodes.image import FrameStackTaps
from nodes.policy import PolicyWeights, ReflexTable

MADE_BY = "python models/make.py"
LICENSE = "MIT"


def action_table(actions: dict[str, list[str]], buttons: list[str]) -> ActionTable:
    """A table from readable sequences: each row of an action is the buttons held, joined by +."""
    rows, starts = [], [0]
    for sequence in actions.values():
        for held in sequence:
            names = held.split("+") if held else []
            rows.append([button in names for button in buttons])
        starts.append(len(rows))
    return ActionTable(names=tuple(actions), buttons=tuple(buttons), starts=np.int32(starts), rows=np.uint8(rows))


def airstriker_actions() -> ActionTable:
    """Six actions. Airstriker fires once a press of B, so firing is 4 frames held and 4 released."""
    fire = {way: ["+".join(filter(None, [way, "B"]))] * 4 + [way] * 4 for way in ("", "LEFT", "RIGHT")}
    return action_table(
        {
            "nothing": [""],
            "left": ["LEFT"],
            "right": ["RIGHT"],
            "fire": fire[""],
            "left and fire": fire["LEFT"],
            "right and fire": fire["RIGHT"],
        },
        ["B", "LEFT", "RIGHT"],
    )


def airstriker_sweep() -> ReflexTable:
    """One macro: 56 frames to the left while firing, 56 to the right, the width of the screen each."""
    left, right, shots = 4, 5, 7
    return ReflexTable(actions=6, action=np.int32([[left] * shots + [right] * shots]), ticks=np.full((1, 2 * shots), 8, np.int32))


def untrained_policy(actions: int, seed: int) -> PolicyWeights:
    """The network of PolicyHead with random weights, scaled as in He et al. 2015: it plays, but knows nothing."""
    config = {
        "channels": 4, "height": 84, "width": 84, "actions": actions, "hidden": 128,
        "convolutions": ((16, 8, 4), (32, 4, 2)),
    }  # fmt: skip
    random = np.random.default_rng(seed)
    tensors = {}
    for name, spec in PolicyWeights.tensor_specs(config).items():
        shape = [int(size) for size in spec[len("f32[") : -1].split()]
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.0
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return PolicyWeights(tensors, **config)


def main() -> None:
    folder = Path(__file__).resolve().parent
    brains = {
        "action_table/airstriker.safetensors": (airstriker_actions(), "Airstriker: steer and fire"),
        "reflex/airstriker.safetensors": (airstriker_sweep(), "Airstriker: sweep from wall to wall while firing"),
        "recovery/airstriker.safetensors": (
            RecoveryTable(recovery=np.int32([0, 0, 0, 7, 7, 7])),
            "Airstriker: a shot is 8 frames",
        ),
        "frame_stack/grey4.safetensors": (
            FrameStackTaps(taps=np.int32([12, 8, 4, 0]), mean=np.float32([0]), std=np.float32([1])),
            "4 grey frames, 4 ticks apart",
        ),
        "policy_head/airstriker-untrained.safetensors": (untrained_policy(6, 0), "Airstriker: untrained, random weights"),
    }
    for name, (brain, title) in brains.items():
        digest = brain.save(folder / name, title=title, made_by=MADE_BY, license=LICENSE, author="Minibrains")
        print(f"{digest[:16]}  {name}")


if __name__ == "__main__":
    main()
