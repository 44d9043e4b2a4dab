"""What the variables of a world of tiles say on one tick."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Final

from nodes.exploring.walk_script import WORD, WORDS, WalkScript

Position = tuple[int, int]
"""Column and row of a tile."""

WALK, DIALOGUE, MENU, BATTLE, CUTSCENE = range(1, 6)
"""Values of the variable `mode`; 0 is the title."""
COLUMNS, ROWS = 30, 18
DIRECTIONS: Final = ("DOWN", "UP", "LEFT", "RIGHT")
_OPTION_LENGTH: Final = 12
_THINGS, _CREATURES, _EXITS = 8, 4, 4
_DAWN, _NIGHTFALL = 6 * 60, 20 * 60


class WorldState:
    """The variables of one tick, as the walk looks at them."""

    def __init__(self, variables: Mapping[str, int], script: WalkScript) -> None:
        self.variables = variables
        self.script = script
        self.mode = variables["mode"]
        self.here: Position = (variables["x"], variables["y"])
        self.facing = DIRECTIONS[variables["facing"]]
        self.area = script.areas[variables["area"]]
        self.is_night = not _DAWN <= variables["clock"] < _NIGHTFALL

    def has(self, name: str) -> bool:
        """Return True if a flag is set or an item is carried."""
        if name in self.script.flags:
            return bool(self.variables["flags"] >> self.script.flags.index(name) & 1)
        return self.variables[f"item_{name}"] > 0

    def with_words(self, text: str) -> str:
        """Return a text with the words of the secrets in the place of {secret.n}."""

        def word(found: re.Match[str]) -> str:
            names = [name for name, *_ in self.script.secrets]
            secret = names.index(found[1])
            place = secret * WORDS + int(found[2]) - 1
            return self.script.secrets[secret][1 + self.variables[f"secret_{place:02}"]]

        return WORD.sub(word, text)

    def place_of(self, thing: str) -> Position | None:
        """Return where a thing of this area is; None if it is not there."""
        names = [name for name, _ in self.script.things]
        number = names.index(thing) + 1
        for slot in range(_THINGS):
            if self.variables[f"thing_id_{slot:02}"] == number:
                return self.variables[f"thing_x_{slot:02}"], self.variables[f"thing_y_{slot:02}"]
        return None

    def exits(self) -> dict[Position, str]:
        """Return the doors of this area, with the areas that they lead to."""
        found: dict[Position, str] = {}
        for slot in range(_EXITS):
            number = self.variables[f"exit_area_{slot:02}"]
            if number < len(self.script.areas):
                x = self.variables[f"exit_x_{slot:02}"]
                y = self.variables[f"exit_y_{slot:02}"]
                found[x, y] = self.script.areas[number]
        return found

    def creatures(self) -> set[Position]:
        """Return the tiles of the creatures."""
        found: set[Position] = set()
        for slot in range(_CREATURES):
            if self.variables[f"creature_kind_{slot:02}"]:
                x = self.variables[f"creature_x_{slot:02}"]
                y = self.variables[f"creature_y_{slot:02}"]
                found.add((x, y))
        return found

    def blocked(self) -> list[int]:
        """Return rows of tiles that are not to be entered, bit x for column x: walls and
        creatures.
        """
        rows = [self.variables[f"wall_{row:02}"] for row in range(ROWS)]
        for x, y in self.creatures():
            rows[y] |= 1 << x
        return rows

    def way_out(self, area: str) -> tuple[set[Position], str]:
        """Return the tiles from which the hero leaves for another area: doors, or an edge and its
        direction.
        """
        doors = {place for place, leads_to in self.exits().items() if leads_to == area}
        if doors:
            return doors, ""

        target = self.script.areas.index(area)
        for number, direction in enumerate(DIRECTIONS):
            if self.variables[f"edge_area_{number:02}"] == target:
                return _edge(direction), direction
        return set(), ""

    def options(self) -> list[str]:
        """Return the options of a choice, as they are on the screen."""
        raw = b""
        for key in range(6):
            raw += self.variables[f"option_{key:02}"].to_bytes(8, "little")
        names: list[str] = []
        for start in range(0, len(raw), _OPTION_LENGTH):
            names.append(raw[start : start + _OPTION_LENGTH].decode("ascii").strip("\0 "))
        return names


def _edge(direction: str) -> set[Position]:
    """Return the tiles of an area from which a step in a direction leaves it."""
    columns, rows = range(COLUMNS), range(ROWS)
    if direction == "LEFT":
        columns = columns[:1]
    elif direction == "RIGHT":
        columns = columns[-1:]
    elif direction == "UP":
        rows = rows[:1]
    else:
        rows = rows[-1:]
    return set(product(columns, rows))
