"""Workflow files: reading, checking, and the node types,
brains and workflows of this installation.
"""
