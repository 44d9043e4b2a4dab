"""Players of Meadow that know no quest: random and blind ones, and simple rules.

They are what the game has to withstand. The rules read even the map that is published for
teachers, and where things are; a player that sees only the screen does not do better by the same
rule.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Protocol

from games.source.meadow.cartridge import (
    BATTLE,
    COLUMNS,
    MENU,
    ROWS,
    TITLE,
    WALK,
    Cartridge,
)
from nodes.exploring.paths import STEPS, find_path
from nodes.exploring.world_state import Position, WorldState

BUTTONS = ("UP", "DOWN", "LEFT", "RIGHT", "A", "B", "START", "SELECT")
STEP_FRAMES = 9
"""Frames from the beginning of a step until the next one can begin."""
TAP_FRAMES = 2


class Player(Protocol):
    """Something that plays a game."""

    def play(self, cartridge: Cartridge) -> None:
        """Play some frames."""


class Nothing:
    """It holds no button."""

    def play(self, cartridge: Cartridge) -> None:
        cartridge.step(frames=STEP_FRAMES)


class Random:
    """It holds each button with a probability of a quarter, and decides again after a step."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def play(self, cartridge: Cartridge) -> None:
        pad = [name for name in BUTTONS if self.random.random() < 0.25]
        cartridge.step(*pad, frames=STEP_FRAMES)


class BlindLoop:
    """It holds some buttons, one after the other, over and over."""

    SHORTEST, LONGEST = 2, 16
    FRAMES = (1, 8, 16, 32, 64, 128, 240)

    def __init__(self, seed: int) -> None:
        """Draw a loop: the same for the same seed."""
        draw = random.Random(seed)
        self.holds: list[tuple[str, int]] = []
        for _ in range(draw.randint(self.SHORTEST, self.LONGEST)):
            self.holds.append((draw.choice(BUTTONS[:6]), draw.choice(self.FRAMES)))
        self.next = 0

    def play(self, cartridge: Cartridge) -> None:
        button, frames = self.holds[self.next]
        self.next = (self.next + 1) % len(self.holds)
        cartridge.step(button, frames=frames)
        cartridge.step()


class Rule:
    """The base of all rules: they listen, choose and fight in a simple way.

    Args:
        seed: Of its random numbers.
        options: "first", "last" or "random": the option that it chooses, but in a battle, where it
            attacks.
    """

    def __init__(self, seed: int, options: str) -> None:
        self.random = random.Random(seed)
        self.options = options
        self.wanted = 0

    def play(self, cartridge: Cartridge) -> None:
        mode = cartridge.get("mode")
        if mode == WALK:
            self.walk(cartridge)
        elif mode == TITLE:
            self.tap(cartridge, "START")
        elif mode == MENU:
            self.tap(cartridge, "B")
        elif cartridge.get("choices"):
            self.choose(cartridge, mode)
        else:
            self.wanted = self.random.randrange(24)
            self.tap(cartridge, "A")

    def choose(self, cartridge: Cartridge, mode: int) -> None:
        """Mark the wanted option, or choose it."""
        count = cartridge.get("choices")
        number = self.wanted % count
        if mode == BATTLE or self.options == "first":
            number = 0
        elif self.options == "last":
            number = count - 1
        self.tap(cartridge, "A" if cartridge.get("choice") == number else "DOWN")

    def tap(self, cartridge: Cartridge, button: str) -> None:
        """Press and release a button."""
        cartridge.step(button)
        cartridge.step(frames=TAP_FRAMES - 1)

    def walk(self, cartridge: Cartridge) -> None:
        """Walk a step, or talk."""
        raise NotImplementedError


class WallFollower(Rule):
    """It walks on to a wall, keeps it at one hand, and presses A whenever it cannot go on.

    Now and then it lets go of the wall, which may be that of an island.

    Args:
        seed: Of its random numbers.
        options: See Rule.
        hand: 1 for the right one, -1 for the left one.
    """

    LETS_GO = 0.02
    """The probability at each step."""
    CLOCKWISE = ("UP", "RIGHT", "DOWN", "LEFT")

    def __init__(self, seed: int, options: str, hand: int) -> None:
        super().__init__(seed, options)
        self.hand = hand
        self.heading = 0
        self.area = -1
        self.has_wall = False

    def walk(self, cartridge: Cartridge) -> None:
        if cartridge.get("area") != self.area:
            self.area = cartridge.get("area")
            self.has_wall = False
        if self.random.random() < self.LETS_GO:
            self.has_wall = False
            self.heading = self.random.randrange(4)
        turns = (self.hand, 0, -self.hand, 2) if self.has_wall else (0, -self.hand, 2)
        for turn in turns:
            heading = (self.heading + turn) % 4
            before = _place(cartridge)
            cartridge.step(self.CLOCKWISE[heading], frames=STEP_FRAMES)
            if cartridge.get("mode") != WALK:
                return
            if _place(cartridge) != before:
                self.heading = heading
                return
            self.has_wall = True
            self.tap(cartridge, "A")
            if cartridge.get("mode") != WALK:
                return


class Explorer(Rule):
    """It walks to the nearest tile of the area that it has not stood on; then it leaves for the
    area beyond that it has entered least often.
    """

    MOST_STEPS = 400
    """Steps in an area after which it leaves, wherever it has been."""

    def __init__(self, seed: int, options: str) -> None:
        super().__init__(seed, options)
        self.seen: set[tuple[str, Position]] = set()
        self.entered: Counter[str] = Counter()
        self.area = ""
        self.steps = 0
        self.beyond: list[str] = []
        """The areas beyond this one, those that it has entered least often first."""

    def walk(self, cartridge: Cartridge) -> None:
        world = WorldState(cartridge.variables(), cartridge.script)
        if world.area != self.area:
            self.area = world.area
            self.entered[world.area] += 1
            self.steps = 0
            self.beyond = list(cartridge.script.ways[world.area])
            self.random.shuffle(self.beyond)
            self.beyond.sort(key=self.entered.__getitem__)
        self.steps += 1
        self.seen.add((world.area, world.here))
        if self.steps > self.MOST_STEPS or not self.go_on(cartridge, world):
            self.leave(cartridge, world)

    def go_on(self, cartridge: Cartridge, world: WorldState) -> bool:
        """Take a step in this area; return False if there is nothing left to do in it."""
        blocked = world.blocked()
        exits = world.exits()
        targets: set[Position] = set()
        for x in range(COLUMNS):
            for y in range(ROWS):
                is_new = (world.area, (x, y)) not in self.seen
                if is_new and not blocked[y] >> x & 1 and (x, y) not in exits:
                    targets.add((x, y))
        direction = find_path(world, targets, stop_beside=False)
        if direction:
            cartridge.step(direction, frames=STEP_FRAMES)
        return bool(direction)

    def leave(self, cartridge: Cartridge, world: WorldState) -> None:
        """Take a step on a way out; a random one if there is none."""
        for area in self.beyond:
            places, direction = world.way_out(area)
            found = find_path(world, places, stop_beside=False)
            if found == "":
                found = direction
            if found:
                cartridge.step(found, frames=STEP_FRAMES)
                return
        cartridge.step(self.random.choice(BUTTONS[:4]), frames=STEP_FRAMES)


class Talker(Explorer):
    """It talks to everything in the area, then leaves as an Explorer does.

    Args:
        seed: Of its random numbers.
        options: See Rule.
        rounds: How often it talks to each thing before it leaves.
        order: "nearest" or "random": what it talks to next, of what it has talked to least.
    """

    MOST_STEPS = 600

    def __init__(self, seed: int, options: str, rounds: int, order: str) -> None:
        super().__init__(seed, options)
        self.rounds = rounds
        self.order = order
        self.talks: Counter[int] = Counter()
        self.target = 0

    def go_on(self, cartridge: Cartridge, world: WorldState) -> bool:
        if self.steps == 1:
            self.talks.clear()
            self.target = 0
        things = _things(world)
        if self.target not in things:
            self.target = self.next_target(world, things)
        if not self.target:
            return False
        place = things[self.target]
        direction = find_path(world, {place}, stop_beside=True)
        if direction is None:
            self.talks[self.target] = self.rounds
            self.target = 0
        elif direction:
            cartridge.step(direction, frames=STEP_FRAMES)
        else:
            self.talks[self.target] += 1
            self.target = 0
            for name, (dx, dy) in STEPS.items():
                if (world.here[0] + dx, world.here[1] + dy) == place:
                    cartridge.step(name, frames=TAP_FRAMES)
            self.tap(cartridge, "A")
        return True

    def next_target(self, world: WorldState, things: dict[int, Position]) -> int:
        """Return the number of what to talk to next; 0 if everything was talked to."""
        left = [number for number in things if self.talks[number] < self.rounds]
        if not left:
            return 0
        least = min(self.talks[number] for number in left)
        left = [number for number in left if self.talks[number] == least]
        if self.order == "random":
            return self.random.choice(left)

        def distance(number: int) -> int:
            x, y = things[number]
            return abs(x - world.here[0]) + abs(y - world.here[1])

        return min(left, key=distance)


def _place(cartridge: Cartridge) -> tuple[int, int, int]:
    return cartridge.get("area"), cartridge.get("x"), cartridge.get("y")


def _things(world: WorldState) -> dict[int, Position]:
    """Return the tiles of the things of the area, by their numbers."""
    found: dict[int, Position] = {}
    for slot in range(8):
        number = world.variables[f"thing_id_{slot:02}"]
        if number:
            x, y = world.variables[f"thing_x_{slot:02}"], world.variables[f"thing_y_{slot:02}"]
            found[number] = (x, y)
    return found
