"""Workflow files: read, checked, and what this installation has to make them of."""
