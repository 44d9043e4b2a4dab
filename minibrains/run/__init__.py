"""A run: a plan with its clock, episodes, run folder and results."""
