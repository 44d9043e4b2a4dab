"""Console nodes: emulated games and people's pads."""
