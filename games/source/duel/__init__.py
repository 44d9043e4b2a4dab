"""What Duel is made of, and what plays and measures it; the game itself is what stands in `FOLDER`."""

from minibrains.files import shipped

FOLDER = shipped("games") / "Duel-Genesis"
"""ROM, data and save states: what stable-retro reads."""
