"""Write what the teacher knows of a world: `make_walk.py WORLD GAME` makes walk.json in the
folder GAME.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from games.source.meadow.make_world import SIDES, WorldMap


def known(world: WorldMap) -> dict[str, Any]:
    """Return the names of a world in the order of their numbers, and where things, ways and
    places to rest are.
    """
    things: list[list[str]] = []
    ways: dict[str, list[str]] = {}
    rests: list[dict[str, Any]] = []
    for name, area in zip(world.area_names, world.areas, strict=True):
        for thing in area.get("things", []):
            things.append([thing["id"], name])
        ways[name] = [door["to"] for door in area.get("doors", [])]
        ways[name] += [area[side] for side in SIDES if side in area]
        for y, row in enumerate(area["map"].splitlines()):
            for x, character in enumerate(row):
                if world.terrain[character].get("heals"):
                    rests.append({"area": name, "x": x, "y": y})
    secrets: list[list[str]] = []
    for name, secret in world.settings["secrets"].items():
        secrets.append([name, *secret["words"]])
    keepers: list[str] = []
    for name, creature in world.settings["creatures"].items():
        if creature.get("keeps"):
            keepers.append(name)
    return {
        "areas": world.area_names,
        "ways": ways,
        "things": things,
        "flags": world.flags,
        "items": world.items,
        "secrets": secrets,
        "creatures": world.creatures,
        "keepers": keepers,
        "rests": rests,
    }


def main(folder: Path, game: Path) -> None:
    """Write walk.json."""
    walk = known(WorldMap(folder))
    walk["goals"] = tomllib.loads((folder / "walk.toml").read_text())["goals"]
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in walk.items()]
    (game / "walk.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
