"""The shipped brains of agents that walk through a world."""

from __future__ import annotations

import json

from minibrains.files import bundled_dir
from nodes.exploring.walk_script import WalkScript
from server.commands.make_brains.made_brain import MadeBrain


def meadow_walk() -> MadeBrain:
    """Make the script of Meadow's quests."""
    return _walk("Meadow-GbAdvance", "Meadow: a walk through the main quest")


def north_walk() -> MadeBrain:
    """Make the script of the quests of Meadow: North."""
    return _walk("MeadowNorth-GbAdvance", "Meadow: North: a walk through the main quest")


def maze_walk() -> MadeBrain:
    """Make the script of the mazes of Meadow's engine."""
    return _walk("MeadowMaze-GbAdvance", "Meadow: Mazes: a walk to the treasure")


def _walk(game: str, title: str) -> MadeBrain:
    """Make the script of a world from the file beside its game."""
    walk = json.loads((bundled_dir("games") / game / "walk.json").read_text())
    return MadeBrain(WalkScript(**walk), title, made_by="python -m server make-brains")
