"""Measure how much of Meadow: North the tile codebook of the first world knows.

    python -m games.source.meadow.measure_tiles

prints a row of the table in North's README.md. Walks are at random, from its validation states, in
every part of the day.
"""

from __future__ import annotations

import json

from games.source.meadow import FOLDERS
from minibrains.files import bundled_dir
from nodes.vision.tiles import TileCodebook
from server.commands.make_brains.meadow_tiles import measure


def main() -> None:
    """Print the shares of known tiles and of right labels."""
    codebook = TileCodebook.load(bundled_dir("models") / "tile_codebook/meadow.safetensors")
    folder = FOLDERS["north"]
    states = list(json.loads((folder / "splits.json").read_text())["validation"])
    shares = measure(codebook, folder.name, states, seed=1)
    columns = (shares["known"], shares["walkable_right_of_known"], shares["walkable_right"])
    print("| validation states |", " | ".join(f"{share:.2%}" for share in columns), "|")


if __name__ == "__main__":
    main()
