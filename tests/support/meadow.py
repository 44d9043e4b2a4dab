"""Variables of Meadow, as the console delivers them with its overlay, for moments that are easily
drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from minibrains.files import bundled_dir

FOLDER = bundled_dir("games") / "Meadow-GbAdvance"
TITLE, WALK_MODE, DIALOGUE, MENU, BATTLE, CUTSCENE = range(6)
NOWHERE = 255
COLUMNS = 30


def variables(rows: Sequence[str] = (), **changes: int) -> dict[str, int]:
    """Return the variables of a hero in the village, where nothing has happened yet.

    Args:
        rows: The upper left part of the map: # wall, ^ hazard, @ the hero, c a creature, D a door
        to home; the rest
            is wall.
        changes: Variables with other values.
    """
    values: dict[str, int] = {}
    for name in ("data.json", "truth.json"):
        values |= dict.fromkeys(json.loads((FOLDER / name).read_text())["info"], 0)
    values |= {"mode": WALK_MODE, "hp": 20, "max_hp": 20, "clock": 12 * 60, "money": 10}
    for number in range(4):
        values[f"exit_area_{number:02}"] = values[f"edge_area_{number:02}"] = NOWHERE
    for y in range(18):
        row = rows[y] if y < len(rows) else ""
        for x, character in enumerate(row.ljust(COLUMNS, "#")):
            _place(values, character, x, y)
    return {**values, **changes}


def _place(values: dict[str, int], character: str, x: int, y: int) -> None:
    if character == "#":
        values[f"wall_{y:02}"] |= 1 << x
    elif character == "^":
        values[f"hazard_{y:02}"] |= 1 << x
    elif character == "@":
        values |= {"x": x, "y": y}
    elif character == "c":
        values |= {"creature_kind_00": 1, "creature_x_00": x, "creature_y_00": y}
    elif character == "D":
        values |= {"exit_area_00": 1, "exit_x_00": x, "exit_y_00": y, "exit_open_00": 1}


ROOM = ("######", "#@..D#", "#....#", "######")
WALK = [
    variables(mode=TITLE),
    variables(),
    variables(ROOM),
    variables(ROOM, mode=DIALOGUE),
    variables(ROOM, mode=DIALOGUE, choices=2),
    variables(ROOM, mode=BATTLE, choices=3, enemy=1),
    variables(ROOM, mode=MENU),
]
"""A few moments of a game."""
