"""A run: the plan with its clock, episodes, run folder and results."""
