"""The sources of Duel, and the programs that play and measure it.

The game itself is in `FOLDER`.
"""

import re
from pathlib import Path

from minibrains.files import bundled_dir

FOLDER = bundled_dir("games") / "Duel-Genesis"
"""ROM, data and save states, as stable-retro reads them."""


def _levels() -> int:
    header = Path(__file__).with_name("published.h").read_text()
    found = re.search(r"^#define LEVELS (\d+)$", header, re.MULTILINE)
    assert found is not None
    return int(found[1])


LEVELS = _levels()
"""The number of the opponent's levels, read from published.h."""
