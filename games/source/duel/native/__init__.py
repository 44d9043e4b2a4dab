"""Duel compiled for this computer: the same rules and the same opponent as in the ROM,
without the emulator.

The C files are the ROM's own; only what drives the console is left out. A match goes frame by frame
as it goes on the ROM, which `tests/games/test_duel_native.py` checks. What is published about
agents is still played on the ROM.

To play a match:

    game = Game()
    game.begin(mode=2, agent_level=4, enemy_level=8, seed=1)
    while not game.get("reset_countdown"): game.step()

Whole populations of simple players play without Python in between: see `players.py`, whose
`win_share(player, level, matches)` tells how often one wins, and whose `play(players, settings)`
also plays the computer against the computer.

The first game of a process compiles what is not compiled yet, with gcc, into
`games/source/duel/build/native`.
"""

from games.source.duel.native.game import Game

__all__ = ["Game"]
