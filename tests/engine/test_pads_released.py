"""However a run ends, the console's last pad has no button held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Node, Pad, Variables, widget
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed
from nodes.consoles.retro import RetroEmulator
from tests.support.engine_fixtures import make_engine, open_engine


class Press(Node):
    """Hold a button, and fail or be interrupted on one tick."""

    error: str = widget(default="")
    when: int = widget(default=20)

    def open(self, host: Any) -> None:
        self.host = host

    def tick(self, variables: Variables) -> Pad:
        if self.error and self.host.tick == self.when:
            raise KeyboardInterrupt if self.error == "interrupt" else ValueError(self.error)
        return ("B", "LEFT")


class Watched:
    """An emulator, with a note of the last pad it was given."""

    def __init__(self, emulator: Any) -> None:
        self._emulator = emulator
        self.held = np.zeros(1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)

    def set_button_mask(self, mask: np.ndarray, player: int) -> None:
        self.held = mask.copy()
        self._emulator.set_button_mask(mask, player)


@pytest.mark.parametrize(
    "ending", ["stopped", "raised", "interrupt", "another node cannot be closed"]
)
def test_pads_are_released(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"raised": "no", "interrupt": "interrupt"}.get(ending, "")
    nodes = {
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": "Pad-Genesis"},
            "in": {"pad1": "press.pad"},
        },
        "press": {
            "type": "Press@1",
            "set": {"error": error},
            "in": {"variables": "console.variables"},
        },
    }
    engine = make_engine(nodes, (RetroEmulator, Press))
    open_engine(engine)
    console = engine.nodes["console"]
    console.emulator = watched = Watched(console.emulator)
    if ending.startswith("another"):
        monkeypatch.setattr(Press, "close", _fail)
    try:
        engine.reset(0, 0)
        _play(engine, ending)
        assert watched.held.any()
    finally:
        errors = engine.close()
    assert not watched.held.any()
    assert bool(errors) == ending.startswith("another")


def _play(engine: Engine, ending: str) -> None:
    if ending == "raised":
        with pytest.raises(NodeFailed):
            engine.advance(100)
    elif ending == "interrupt":
        with pytest.raises(KeyboardInterrupt):
            engine.advance(100)
    else:
        engine.advance(30)


def _fail(self: Press) -> None:
    raise OSError("no")
