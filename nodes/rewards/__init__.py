"""Reward nodes: what a trained agent is rewarded for, one node for each term, and their sum."""
