"""Consoles: the games of stable-retro and our own, as a register."""
