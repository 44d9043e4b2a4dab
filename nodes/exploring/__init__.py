"""Nodes for games in which one walks through a world of tiles."""
