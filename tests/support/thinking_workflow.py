"""A workflow with a node that thinks in another process, beside the game."""

from __future__ import annotations

from typing import Any


def thinking_workflow(noop_max: int = 30, hold: int = 8, **ponder: Any) -> dict[str, Any]:
    """A random policy whose actions a node in the background has a say in; its widgets are
    `ponder`.
    """
    return {
        "minibrains": 1,
        "nodes": {
            "console": {
                "type": "RetroEmulator@3",
                "set": {"noop_max": noop_max},
                "in": {"pad1": "sink.pad"},
            },
            "random": {"type": "RandomPolicy@1", "set": {"actions": 6, "hold": hold}},
            "ponder": {
                "type": "thinking_pack.Ponder@1",
                "set": ponder,
                "in": {"variables": "console.variables"},
                "every": 10,
                "busy": "continue",
                "latency": 5,
            },
            "mix": {
                "type": "thinking_pack.Mix@1",
                "in": {"action": "random.action", "thought": "ponder.number"},
            },
            "sink": {
                "type": "EmulatorSink@1",
                "in": {"action": "mix.action"},
                "brain": "action_table/airstriker.safetensors",
            },
            "score": {"type": "Score@1", "in": {"rewards": ["console.reward"]}},
        },
    }
