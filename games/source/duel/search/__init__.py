"""Searches for simple players that beat Duel's computer opponent:
`exploits.py` while it is tuned, `judge.py` when it is done.
"""
