"""Evaluations: what share of a game's episodes an agent wins, with intervals and baselines."""
