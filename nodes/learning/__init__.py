"""Nodes that collect data for learning, and the data sets that they write."""
