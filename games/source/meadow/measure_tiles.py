"""Measure how much of Meadow: North the tile codebook of the first world knows.

    python -m games.source.meadow.measure_tiles [PATTERN]

prints a row of the table in North's README.md. Walks are at random, from those of its validation
states whose names match, in every part of the day.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase

from games.source.meadow import FOLDERS
from minibrains.files import bundled_dir
from nodes.vision.tiles import TileCodebook
from server.commands.make_brains.meadow_tiles import measure


def main(pattern: str = "*") -> None:
    """Print the shares of known tiles and of right labels."""
    codebook = TileCodebook.load(bundled_dir("models") / "tile_codebook/meadow.safetensors")
    folder = FOLDERS["north"]
    validation = json.loads((folder / "splits.json").read_text())["validation"]
    states = [name for name in validation if fnmatchcase(name, pattern)]
    shares = measure(codebook, folder.name, states, seed=1)
    columns = [f"{pattern}, {len(states)} states"]
    for name in ("known", "walkable_right_of_known", "walkable_right"):
        columns.append(f"{shares[name]:.2%}")
    print("|", " | ".join(columns), "|")


if __name__ == "__main__":
    main(*sys.argv[1:])
