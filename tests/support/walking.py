"""A workflow whose environment is quickly learned: each pixel to the right is rewarded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_walk(folder: Path, ticks: int = 240, teacher: bool = False) -> str:
    """Write the workflow, with episodes of so many ticks, into a folder; return its file.

    Args:
        folder: The folder.
        ticks: The limit of an episode.
        teacher: Whether a teacher stands there as well, who acts at random.
    """
    nodes: dict[str, Any] = {
        "console": {
            "type": "NativeDuel@2",
            "set": {
                "game": "Duel-Genesis",
                "states": ["training/Level1.*"],
                "write": {"seed": "$seed"},
            },
            "in": {"pad1": "sink.pad"},
        },
        "reward": {
            "type": "ProgressReward@1",
            "set": {"variable": "agent_x", "rise": 0.1, "fall": -0.1, "per": "unit"},
            "in": {"variables": "console.variables"},
        },
        "rewards": {"type": "RewardSum@2", "in": {"rewards": ["reward.number"]}},
        "features": {
            "type": "GameFeatures@1",
            "in": {"variables": "console.variables"},
            "every": 10,
        },
        "vector": {
            "type": "FightVector@1",
            "in": {"fight": "features.fight"},
            "brain": "fight_vector/sf2.safetensors",
            "every": 10,
        },
        "head": {
            "type": "VectorPolicy@1",
            "in": {"vector": "vector.vector"},
            "brain": "vector_policy/fight-untrained.safetensors",
            "every": 10,
        },
        "choose": {"type": "ActionSampler@1", "in": {"logits": "head.logits"}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "choose.action", "facing": "features.facing"},
            "brain": "action_table/sf2.safetensors",
        },
    }
    if teacher:
        nodes["teacher"] = {"type": "RandomPolicy@1", "set": {"actions": 44, "hold": 10}}
        nodes["agree"] = {
            "type": "Agreement@1",
            "in": {"action": "choose.action", "label": "teacher.action"},
        }
    file = folder / "walk.json"
    file.write_text(json.dumps({"minibrains": 1, "run": {"ticks": ticks}, "nodes": nodes}))
    return str(file)
