"""Shortest paths through an area of tiles, and from area to area."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from nodes.exploring.walk_script import WalkScript
from nodes.exploring.world_state import COLUMNS, ROWS, Position, WorldState

STEPS: Final[Mapping[str, Position]] = {
    "DOWN": (0, 1),
    "UP": (0, -1),
    "LEFT": (-1, 0),
    "RIGHT": (1, 0),
}
_ROW_BITS: Final = COLUMNS + 1
"""Bits from a tile to the one below: no tile is beside the last of the row above."""


def find_path(world: WorldState, targets: set[Position], stop_beside: bool) -> str | None:
    """Return the first direction of a shortest path, "" if the hero is there; None if there is
    none.

    It avoids walls, and creatures and doors but the target; hazards, unless there is no other way.

    Args:
        world: The present tick.
        targets: The tiles to reach.
        stop_beside: The tile before a target is enough, as for what is talked to.
    """
    blocked = world.blocked()
    for x, y in world.exits():
        if (x, y) not in targets:
            blocked[y] |= 1 << x
    hazards = [world.variables[f"hazard_{row:02}"] for row in range(ROWS)]
    careful = [row | hazard for row, hazard in zip(blocked, hazards, strict=True)]
    found = _search(world.here, targets, careful, stop_beside)
    if found is None:
        found = _search(world.here, targets, blocked, stop_beside)
    return found


def _search(
    start: Position, targets: set[Position], blocked: list[int], stop_beside: bool
) -> str | None:
    """Search breadth first, from the targets to the hero; see find_path.

    All tiles at the same distance are the bits of one number, row after row, so that shifting it
    moves all of them.
    """
    free = 0
    for y, row in enumerate(blocked):
        free |= (~row & (1 << COLUMNS) - 1) << y * _ROW_BITS
    here = _tile(start)
    reached = 0
    for target in targets:
        reached |= _tile(target)
    if stop_beside:
        reached = _tiles_beside(reached)
    reached &= free | here
    if reached & here:
        return ""
    while reached:
        for direction, (dx, dy) in STEPS.items():
            if reached & _tile((start[0] + dx, start[1] + dy)):
                return direction
        free &= ~reached
        reached = _tiles_beside(reached) & free
    return None


def _tile(place: Position) -> int:
    """Return the bit of a tile; 0 if it is above the first row."""
    x, y = place
    if not 0 <= x < COLUMNS or y < 0:
        return 0
    return 1 << y * _ROW_BITS + x


def _tiles_beside(tiles: int) -> int:
    return tiles << 1 | tiles >> 1 | tiles << _ROW_BITS | tiles >> _ROW_BITS


def next_area(script: WalkScript, here: str, target: str) -> str | None:
    """Return the area to enter next on the shortest way to another; None if there is none."""
    first: dict[str, str] = {here: ""}
    queue = deque([here])
    while queue:
        area = queue.popleft()
        if area == target:
            return first[area]
        for beside in script.ways[area]:
            if beside not in first:
                first[beside] = first[area] or beside
                queue.append(beside)
    return None
