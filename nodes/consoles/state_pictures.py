"""Pictures of a game's save states: the first frame of an episode that starts from each."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from typing import Final

from minibrains.brain_file import hash_file
from minibrains.errors import GameError
from minibrains.games.catalog import Game, find_game
from minibrains.process.trial import try_out
from nodes.consoles.retro import load_data, read_screen, read_state, start_emulator

_NICENESS: Final = 5
"""Games that are being played come first. At 19, pictures would take minutes on a busy machine."""


def state_pictures(game: Game) -> Mapping[str, bytes]:
    """Return a PNG for each save state that the emulator can load, by the name of the state.

    They are drawn in a process of their own, all of them at once, because starting an emulator
    takes longer than a hundred states; the cache on the disk keeps them.

    Raises:
        MinibrainsError: The game cannot be started.
    """
    pictures: dict[str, bytes] = try_out(_key(game), _draw, game.name)
    return pictures


def _key(game: Game) -> str:
    """Return a SHA-256 of everything that the pictures follow from."""
    files = [game.rom, game.data / "data.json", game.data / "scenario.json"]
    whole = hashlib.sha256(b"state pictures")
    for file in filter(lambda file: file.is_file(), files):
        whole.update(f"\n{file} {hash_file(file)}".encode())
    for state, file in sorted(game.state_files().items()):
        whole.update(f"\n{state} {hash_file(file)}".encode())
    return whole.hexdigest()


def _draw(name: str) -> dict[str, bytes]:
    """Emulate one frame from each save state of a game."""
    import stable_retro
    from PIL import Image

    os.nice(_NICENESS)
    game = find_game((name,))
    data = stable_retro.data.GameData()
    emulator = start_emulator(game)
    emulator.configure_data(data)
    emulator.step()
    load_data(data, game)
    pictures: dict[str, bytes] = {}
    for state, file in game.state_files().items():
        try:
            saved = read_state(file)
        except GameError:
            continue
        if not emulator.set_state(saved):
            continue
        emulator.step()
        png = io.BytesIO()
        Image.fromarray(read_screen(emulator, data)).save(png, "PNG")
        pictures[state] = png.getvalue()
    return pictures
