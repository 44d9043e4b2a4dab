"""The sources of Meadow, and the programs that play and measure it.

The game itself is in `FOLDER`.
"""

from minibrains.files import bundled_dir

FOLDER = bundled_dir("games") / "Meadow-GbAdvance"
"""ROM, data and save states, as stable-retro reads them."""
