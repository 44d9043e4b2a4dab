"""Meadow: Mazes: another maze for each seed, which can be solved, in the order of its gates."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest

from games.source.meadow.cartridge import COLUMNS, ROWS, WALK
from tests.support.played_world import MOVES, THINGS, PlayedWorld

Cell = tuple[int, int]
ENTRANCE: Cell = (1, 1)


@pytest.fixture(scope="module")
def world() -> Iterator[PlayedWorld]:
    world = PlayedWorld("maze")
    yield world
    world.close()


def enter(world: PlayedWorld, seed: int) -> dict[str, Cell]:
    """Enter the maze of a seed; where its things are."""
    cartridge = world.cartridge
    cartridge.begin(seed)
    cartridge.set("x", 14)
    cartridge.set("y", 4)
    cartridge.step("UP", frames=10)
    assert (cartridge.get("area"), cartridge.get("mode")) == (1, WALK)
    places: dict[str, Cell] = {}
    for slot in range(THINGS):
        number = cartridge.get(f"thing_id_{slot:02}")
        place = cartridge.get(f"thing_x_{slot:02}"), cartridge.get(f"thing_y_{slot:02}")
        places[world.map.things[number - 1]] = place
    return places


def reached(walls: list[int], places: dict[str, Cell]) -> tuple[set[str], int]:
    """Return the things that can be faced from the entrance, and the number of tiles that can be
    stood on.
    """
    found: set[str] = set()
    seen = {ENTRANCE}
    queue = deque([ENTRANCE])
    while queue:
        x, y = queue.popleft()
        for dx, dy in MOVES.values():
            there = x + dx, y + dy
            found |= {name for name, place in places.items() if place == there}
            is_inside = 0 <= there[0] < COLUMNS and 0 <= there[1] < ROWS
            if is_inside and there not in seen and not walls[there[1]] >> there[0] & 1:
                seen.add(there)
                queue.append(there)
    return found, len(seen)


def check_solvable(world: PlayedWorld, seed: int) -> None:
    """Open one gate after the other, each with a key that can be had before."""
    places = enter(world, seed)
    walls = world.cartridge.walls()
    assert len(places) == len({*places.values()}) == THINGS
    for color in ("red", "blue", "green"):
        found, _ = reached(walls, places)
        assert {"note", f"key_{color}", f"gate_{color}"} <= found, f"seed {seed}, {color}"
        assert "treasure" not in found
        x, y = places[f"gate_{color}"]
        walls[y] &= ~(1 << x)
    assert "treasure" in reached(walls, places)[0], f"seed {seed}"


def test_twenty_mazes_can_be_solved_only_in_the_order_of_their_gates(world: PlayedWorld) -> None:
    for seed in range(1, 21):
        check_solvable(world, seed)


@pytest.mark.soak
def test_a_thousand_mazes_can_be_solved(world: PlayedWorld) -> None:
    for seed in range(1, 1001):
        check_solvable(world, seed)


def test_each_seed_has_a_maze_of_its_own_and_always_the_same(world: PlayedWorld) -> None:
    mazes: list[tuple[dict[str, Cell], list[int]]] = []
    for seed in (1, 2, 3, 2**32 - 1, 1):
        mazes.append((enter(world, seed), world.cartridge.walls()))
    assert mazes[0] == mazes[-1]
    assert len({str(maze) for maze in mazes}) == 4


def test_every_crossing_is_reached_once_all_is_open(world: PlayedWorld) -> None:
    places = enter(world, seed=7)
    walls = world.cartridge.walls()
    for x, y in places.values():
        walls[y] &= ~(1 << x)
    tree_and_way_out = 2 * 14 * 8 - 1 + 1
    assert reached(walls, places)[1] == tree_and_way_out


def test_the_collision_map_is_what_the_hero_can_walk_on(world: PlayedWorld) -> None:
    world.check_collision_map("maze")


@pytest.mark.slow
def test_the_teacher_finds_the_treasure(world: PlayedWorld) -> None:
    now = world.complete(seed=4, side_quests=False)
    assert (now["won"], now["lost"], now["step"]) == (1, 0, 4)


@pytest.mark.soak
def test_the_teacher_finds_a_thousand_treasures(world: PlayedWorld) -> None:
    for seed in range(1, 1001):
        now = world.complete(seed, side_quests=False)
        assert (now["won"], now["lost"], now["step"]) == (1, 0, 4), f"seed {seed}"


@pytest.mark.soak
def test_random_presses_from_every_state_keep_every_variable_sane(world: PlayedWorld) -> None:
    for state in world.states:
        world.load(state)
        world.play_at_random(20_000, seed=13)
        world.check_not_stuck()


@pytest.mark.soak
def test_random_play_for_long_keeps_every_variable_sane(world: PlayedWorld) -> None:
    world.cartridge.begin(seed=3, text_speed=0)
    world.play_at_random(1_000_000, seed=12)
    world.check_not_stuck()
