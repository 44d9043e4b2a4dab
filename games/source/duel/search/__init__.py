"""Searches for simple players that beat Duel's opponent: `exploits.py` during tuning,
`judge.py` after it.
"""
