"""Console nodes: emulated games, and pads that people hold."""
