"""A world of Meadow's engine on an emulator: ways through it, and what has to hold everywhere."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

from games.source.meadow import FOLDERS
from games.source.meadow.cartridge import (
    BATTLE,
    COLUMNS,
    CUTSCENE,
    DIRECTIONS,
    ROWS,
    TITLE,
    WALK,
    Cartridge,
)
from games.source.meadow.make_world import SIDES, WORLDS, WorldMap
from minibrains import Episode
from nodes.exploring.walking import WalkTo

PRESSED = ("UP", "DOWN", "LEFT", "RIGHT", "A", "B", "START", "SELECT")
MOVES = {"DOWN": (0, 1), "UP": (0, -1), "LEFT": (-1, 0), "RIGHT": (1, 0)}
NOWHERE = 255
THINGS, CREATURES = 8, 4
LONGEST_GAME = 60_000
"""Frames."""


class PlayedWorld:
    """A running cartridge, and the files that its world was made of."""

    def __init__(self, name: str) -> None:
        self.folder = FOLDERS[name]
        self.map = WorldMap(WORLDS / name)
        self.cartridge = Cartridge(self.folder)
        self.longest_race = 0
        """The largest value of `timer`."""
        for code in (WORLDS / name / "areas").glob("*.toml"):
            for word in code.read_text().split('"timer ')[1:]:
                self.longest_race = max(self.longest_race, int(word.partition('"')[0]))

    @property
    def side_quests(self) -> dict[str, int]:
        """The steps of each side quest."""
        _, *side = self.map.settings["quests"].items()
        return {name: len(quest["steps"]) for name, quest in side}

    @property
    def states(self) -> list[str]:
        """The names of all save states."""
        splits = json.loads((self.folder / "splits.json").read_text())
        return [*splits["training"], *splits["validation"], *splits["held_back"]]

    def close(self) -> None:
        """Let another cartridge run in this process."""
        del self.cartridge.emulator, self.cartridge.data

    # ---- whole games ----

    def complete(self, seed: int, side_quests: bool) -> dict[str, int]:
        """Let the teacher play from the title; return the variables at the end."""
        cartridge = self.cartridge
        cartridge.emulator.set_state(cartridge.title)
        cartridge.step()
        cartridge.set("seed", seed)
        return self.go_on(side_quests)

    def load(self, state: str) -> None:
        """Go to a save state."""
        data = gzip.decompress((self.folder / f"{state}.state").read_bytes())
        self.cartridge.emulator.set_state(data)
        self.cartridge.step()

    def go_on(self, side_quests: bool) -> dict[str, int]:
        """Let the teacher play to the end of the game; return the variables at the end."""
        cartridge = self.cartridge
        node = WalkTo(brain=cartridge.script, side_quests=side_quests)
        node.reset(Episode(0, 0))
        for _ in range(LONGEST_GAME):
            now = cartridge.variables()
            if now["won"] or now["lost"]:
                return now
            cartridge.step(*node.tick(now))
        raise AssertionError(f"the main quest was not completed: {now['step']} steps")

    def play_at_random(self, frames: int, seed: int) -> set[int]:
        """Press at random, and check all variables every second; return the modes that were
        seen.
        """
        cartridge = self.cartridge
        rng = np.random.default_rng(seed)
        modes = set()
        for second in range(frames // 60):
            for _ in range(10):
                pad = [name for name in PRESSED if rng.random() < 0.25]
                cartridge.step(*pad, frames=6)
            now = cartridge.variables()
            if now["mode"] == TITLE:
                assert second > 10, "it does not leave the title"
                cartridge.press("START")
                continue
            self.check_sane(now)
            modes.add(now["mode"])
        return modes

    def check_not_stuck(self) -> None:
        """Frames go on, and the hero can get away from where he is."""
        cartridge = self.cartridge
        frame = cartridge.get("frame")
        places: set[tuple[int, int]] = set()
        buttons = ("START", "B", "A", "DOWN", "RIGHT", "UP", "LEFT") * 60
        for button in buttons:
            cartridge.step(button, frames=9)
            cartridge.step()
            places.add((cartridge.get("x"), cartridge.get("y")))
        assert cartridge.get("frame") == frame + len(buttons) * 10
        assert len(places) > 1, "it is stuck"

    def check_sane(self, now: dict[str, int]) -> None:
        """Every variable of a game in play has a value that the README names."""
        assert now["mode"] <= CUTSCENE
        assert now["area"] < len(self.map.area_names)
        assert now["x"] < COLUMNS
        assert now["y"] < ROWS
        assert now["facing"] < len(DIRECTIONS)
        assert 0 < now["hp"] <= now["max_hp"] == 20
        assert now["clock"] < 24 * 60
        assert 1 <= now["day"] <= 60
        assert now["step"] <= 6
        for name, steps in self.side_quests.items():
            assert now[f"side_{name}"] <= steps
        assert now["timer"] <= self.longest_race
        assert now["choices"] <= max(len(self.map.items), len(self.map.quests))
        assert not now["choices"] or now["choice"] < now["choices"]
        assert now["enemy"] <= len(self.map.creatures)
        assert (now["enemy"] > 0) == (now["mode"] == BATTLE)
        assert not now["flags"] >> len(self.map.flags)
        assert not now[f"wall_{now['y']:02}"] >> now["x"] & 1

    # ---- ways ----

    def to_area(self, name: str) -> None:
        """Bring the hero into an area through doors and over edges, with every flag set and
        everything carried.
        """
        start = self.map.settings["start"]["area"]
        ways: dict[str, list[str]] = {start: []}
        queue = [start]
        for here in queue:
            area = self.map.areas[self.map.area_names.index(here)]
            beyond = [door["to"] for door in area.get("doors", [])]
            beyond += [area[side] for side in SIDES if side in area]
            for there in beyond:
                if there not in ways:
                    ways[there] = [*ways[here], there]
                    queue.append(there)
        cartridge = self.cartridge
        cartridge.begin(seed=1)
        for there in ways[name]:
            for item in self.map.items:
                cartridge.set(f"item_{item}", 1)
            cartridge.set("flags", (1 << len(self.map.flags)) - 1)
            self._cross(there)

    def _cross(self, there: str) -> None:
        """Stand where a step leads into the next area, and take it."""
        cartridge = self.cartridge
        number = cartridge.get("area")
        x, y, direction = self._way_to(self.map.areas[number], there)
        cartridge.set("x", x)
        cartridge.set("y", y)
        for _ in range(40):
            if cartridge.get("area") != number:
                break
            cartridge.step(direction)
        cartridge.step(frames=10)
        assert self.map.area_names[cartridge.get("area")] == there

    def _way_to(self, area: dict[str, Any], there: str) -> tuple[int, int, str]:
        """Return a free tile and the direction of a step from it that leads to another area."""
        free: set[tuple[int, int]] = set()
        for y, row in enumerate(area["map"].splitlines()):
            for x, character in enumerate(row):
                if not self.map.terrain[character].get("solid"):
                    free.add((x, y))
        targets = {tuple(door["at"]) for door in area.get("doors", []) if door["to"] == there}
        for side, facing in SIDES.items():
            if area.get(side) == there:
                dx, dy = MOVES[facing.upper()]
                targets |= {(x + dx, y + dy) for x, y in free} - {
                    (x, y) for x in range(COLUMNS) for y in range(ROWS)
                }
        for x, y in sorted(free - targets):
            for direction, (dx, dy) in MOVES.items():
                if (x + dx, y + dy) in targets:
                    return x, y, direction
        raise AssertionError(f"no way leads to {there}")

    # ---- the map ----

    def check_collision_map(self, name: str) -> None:
        """Walk from every free tile of an area in every direction."""
        self.to_area(name)
        cartridge = self.cartridge
        for number in range(CREATURES):
            cartridge.set(f"creature_kind_{number:02}", 0)
        cartridge.step(frames=70)
        area = cartridge.get("area")
        walls = cartridge.walls()
        beyond = [cartridge.get(f"edge_area_{number:02}") for number in range(len(DIRECTIONS))]
        start = cartridge.emulator.get_state()
        tried = 0
        for y in range(ROWS):
            for x in range(COLUMNS):
                if walls[y] >> x & 1:
                    continue
                for number, (direction, (dx, dy)) in enumerate(MOVES.items()):
                    cartridge.emulator.set_state(start)
                    cartridge.hold(direction)
                    cartridge.set("x", x)
                    cartridge.set("y", y)
                    cartridge.emulator.step()
                    there = (x + dx, y + dy)
                    if 0 <= there[0] < COLUMNS and 0 <= there[1] < ROWS:
                        is_free = not walls[there[1]] >> there[0] & 1
                        assert cartridge.get("area") == area
                        moved = (cartridge.get("x"), cartridge.get("y")) == there
                        assert moved == is_free, f"{name}: from {x}, {y} to the {direction}"
                    else:
                        expected = area if beyond[number] == NOWHERE else beyond[number]
                        assert cartridge.get("area") == expected
                    tried += 1
        cartridge.hold()
        assert tried > 100

    def check_things(self, name: str) -> None:
        """Everybody and everything of an area is where it is published."""
        self.to_area(name)
        cartridge = self.cartridge
        cartridge.set("flags", 0)
        for item in self.map.items:
            cartridge.set(f"item_{item}", 0)
        # coming back finds everything as at the beginning of a game
        cartridge.set("mode", WALK)
        walls = cartridge.walls()
        things = {}
        for thing in self.map.areas[cartridge.get("area")]["things"]:
            things[self.map.things.index(thing["id"])] = thing["at"]
        for slot in range(THINGS):
            number = cartridge.get(f"thing_id_{slot:02}")
            if number:
                x, y = cartridge.get(f"thing_x_{slot:02}"), cartridge.get(f"thing_y_{slot:02}")
                assert [x, y] == things[number - 1]
                assert walls[y] >> x & 1
