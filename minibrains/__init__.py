"""What a node author imports, and the door to runs.

from minibrains import Action, Node, On, widget

import minibrains as mb
with mb.Run(mb.RunSpec("sf2")) as run: ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from minibrains.annotations import ABSENT, Absent, Lazy, On, Sample
from minibrains.brain import Brain, setting, tensor
from minibrains.console import Console, ConsoleOutput
from minibrains.errors import BrainError, GameError, MinibrainsError
from minibrains.host import Episode, Host
from minibrains.loading import BrainRef
from minibrains.node import Node, Register
from minibrains.sockets import (
    Action,
    ColorFrame,
    Flag,
    Frame,
    Frames,
    Logits,
    Number,
    Pad,
    Situation,
    Socket,
    Text,
    Variables,
)
from minibrains.torch_node import TorchNode
from minibrains.widgets import widget

if TYPE_CHECKING:
    from minibrains.hooks import Budget, Hook, Progress
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run
    from minibrains.run.spec import RunSpec

__version__ = "0.1.0"

__all__ = [
    "ABSENT", "Absent", "Action", "Brain", "BrainError", "BrainRef", "Budget", "ColorFrame", "Console",
    "ConsoleOutput", "Episode", "EpisodeResult", "Flag", "Frame", "Frames", "GameError", "Hook", "Host", "Lazy",
    "Logits", "MinibrainsError", "Node", "Number", "On", "Pad", "Progress", "Register", "Run", "RunSpec", "Sample",
    "Situation", "Socket", "Text", "TorchNode", "Variables", "setting", "tensor", "widget",
]  # fmt: skip

_LATE = {
    "Budget": "minibrains.hooks",
    "EpisodeResult": "minibrains.run.episode",
    "Hook": "minibrains.hooks",
    "Progress": "minibrains.hooks",
    "Run": "minibrains.run.run",
    "RunSpec": "minibrains.run.spec",
}
"""Where the names are that lie above what a node author imports: their modules are only imported when they are asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
