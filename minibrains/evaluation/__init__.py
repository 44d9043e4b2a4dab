"""Evaluations: the share of a game's episodes that an agent wins, with intervals and baselines."""
