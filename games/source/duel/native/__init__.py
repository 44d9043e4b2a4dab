"""The native build of Duel: the same rules and the same opponent as in the ROM,
without an emulator.

It is compiled from the C files of the ROM, except those that drive the console. Matches are equal
to those on the ROM, frame by frame, which `tests/games/test_duel_native.py` checks. Published
results of agents are still measured on the ROM.

To play a match:

    game = Game()
    game.begin(mode=2, agent_level=4, enemy_level=8, seed=1)
    while not game.get("reset_countdown"): game.step()

Populations of simple players play without Python: see `players.py`. Its `win_share(player, level,
matches)` returns how often a player wins; its `play(players, settings)` also plays the computer
against itself.

The first game of a process compiles the library with gcc into `games/source/duel/build/native`,
unless it is up to date.
"""

from games.source.duel.native.game import Game

__all__ = ["Game"]
