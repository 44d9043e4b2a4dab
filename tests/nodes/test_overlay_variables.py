"""The console's overlay: more of a game's variables than its data.json has."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibrains import GameError
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator

HOME = ("Game1.Step0.Home",)


def test_the_overlay_adds_variables_to_the_console(tmp_path: Path) -> None:
    plain = RetroEmulator(game="Meadow-GbAdvance", states=HOME)
    with opened(plain, ScratchHost(tmp_path)):
        ((_, variables, *_),) = play(plain, {})
    assert "wall_00" not in variables
    console = RetroEmulator(game="Meadow-GbAdvance", states=HOME, overlay="truth.json")
    with opened(console, ScratchHost(tmp_path)):
        ((_, variables, *_),) = play(console, {})
    assert variables["wall_05"] == (1 << 30) - 1
    assert sorted(variables[f"secret_{place:02}"] for place in range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("overlay", ["../Meadow-GbAdvance/truth.json", "none.json"])
def test_an_overlay_that_is_not_there_is_told(overlay: str, tmp_path: Path) -> None:
    console = RetroEmulator(game="Meadow-GbAdvance", overlay=overlay)
    with (
        pytest.raises(GameError, match=r"overlay: the game 'Meadow-GbAdvance' has no file"),
        opened(console, ScratchHost(tmp_path)),
    ):
        pass
