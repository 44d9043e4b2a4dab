"""What Duel is made of, and what plays and measures it; the game itself is what stands in `FOLDER`."""

import re
from pathlib import Path

from minibrains.files import bundled_dir

FOLDER = bundled_dir("games") / "Duel-Genesis"
"""ROM, data and save states: what stable-retro reads."""


def _levels() -> int:
    header = Path(__file__).with_name("published.h").read_text()
    found = re.search(r"^#define LEVELS (\d+)$", header, re.MULTILINE)
    assert found is not None
    return int(found[1])


LEVELS = _levels()
"""How many levels the opponent has: what the game itself says."""
