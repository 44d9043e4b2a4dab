"""The sources of Meadow, and the programs that play and measure it.

The games themselves are in `FOLDERS`.
"""

from minibrains.files import bundled_dir

FOLDERS = {
    "meadow": bundled_dir("games") / "Meadow-GbAdvance",
    "north": bundled_dir("games") / "MeadowNorth-GbAdvance",
    "maze": bundled_dir("games") / "MeadowMaze-GbAdvance",
}
"""For each world ROM, data and save states, as stable-retro reads them."""

FOLDER = FOLDERS["meadow"]
"""Those of the first world."""
