"""Learning nodes: they watch games, and save brains."""
