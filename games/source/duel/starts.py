"""The moment of a save state at the start of a fight: where make_states saves it, and where the
native build of a console begins.
"""

INTRO_FRAMES = 64
INTRO_LEFT = 4
"""Frames before the fight at which start states are saved, so that a host's settings apply from its
beginning."""
FIRST_SEED = 0x12345678
TWO_PADS_LEVEL = 3
"""The level in the states for two pads, which matters only if a host chooses another mode."""
