"""The shipped brains of agents that walk through a world."""

from __future__ import annotations

import json

from minibrains.files import bundled_dir
from nodes.exploring.walking import WalkScript
from server.commands.make_brains.made_brain import MadeBrain


def meadow_walk() -> MadeBrain:
    """Make the script of Meadow's main quest, from the file beside the game."""
    walk = json.loads((bundled_dir("games") / "Meadow-GbAdvance/walk.json").read_text())
    return MadeBrain(
        WalkScript(**walk),
        "Meadow: a walk through the main quest",
        made_by="python -m server make-brains",
    )
