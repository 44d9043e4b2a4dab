"""The public API: the classes that node authors import, and the entry points for running workflows.

Node authors import names from here:

    from minibrains import Action, Node, On, widget

So do scripts that play workflows:

    import minibrains as mb

    with mb.Run(mb.RunSpec("sf2")) as run:
        for episode in run:
            print(episode.score)

The module that defines a name is imported on first access. So the command line can report a missing
package, such as NumPy, in a sentence, and importing a node does not import the layers above it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minibrains.annotations import ABSENT, Absent, Aged, Lazy, On
    from minibrains.brain import Brain, setting, tensor
    from minibrains.console import Console, ConsoleOutput
    from minibrains.errors import BrainError, DataError, GameError, MinibrainsError
    from minibrains.hooks import Budget, Hook, NodeProgress, Progress
    from minibrains.host import Episode, EpisodeStart, Host, WorkflowInfo
    from minibrains.loading import BrainRef
    from minibrains.node import Node, Register
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.fork import ForkPoint
    from minibrains.run.rewind import Mark, Rewind
    from minibrains.run.run import Run
    from minibrains.run.spec import RunSpec
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
    from minibrains.training.env import WorkflowEnv
    from minibrains.widgets import widget

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "Absent",
    "Action",
    "Aged",
    "Brain",
    "BrainError",
    "BrainRef",
    "Budget",
    "ColorFrame",
    "Console",
    "ConsoleOutput",
    "DataError",
    "Episode",
    "EpisodeResult",
    "EpisodeStart",
    "Flag",
    "ForkPoint",
    "Frame",
    "Frames",
    "GameError",
    "Hook",
    "Host",
    "Lazy",
    "Logits",
    "Mark",
    "MinibrainsError",
    "Node",
    "NodeProgress",
    "Number",
    "On",
    "Pad",
    "Progress",
    "Register",
    "Rewind",
    "Run",
    "RunSpec",
    "Situation",
    "Socket",
    "Text",
    "TorchNode",
    "Variables",
    "WorkflowEnv",
    "WorkflowInfo",
    "setting",
    "tensor",
    "widget",
]  # fmt: skip

_NAMES = {
    "minibrains.annotations": ("ABSENT", "Absent", "Lazy", "On", "Aged"),
    "minibrains.brain": ("Brain", "setting", "tensor"),
    "minibrains.console": ("Console", "ConsoleOutput"),
    "minibrains.errors": ("BrainError", "DataError", "GameError", "MinibrainsError"),
    "minibrains.hooks": ("Budget", "Hook", "NodeProgress", "Progress"),
    "minibrains.host": ("Episode", "EpisodeStart", "Host", "WorkflowInfo"),
    "minibrains.loading": ("BrainRef",),
    "minibrains.node": ("Node", "Register"),
    "minibrains.run.episode": ("EpisodeResult",),
    "minibrains.run.fork": ("ForkPoint",),
    "minibrains.run.rewind": ("Mark", "Rewind"),
    "minibrains.run.run": ("Run",),
    "minibrains.run.spec": ("RunSpec",),
    "minibrains.sockets": (
        "Action", "ColorFrame", "Flag", "Frame", "Frames", "Logits", "Number", "Pad", "Situation",
        "Socket", "Text", "Variables",
    ),
    "minibrains.torch_node": ("TorchNode",),
    "minibrains.training.env": ("WorkflowEnv",),
    "minibrains.widgets": ("widget",),
}  # fmt: skip
"""Module -> the names that node authors and callers import from it."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


if "gymnasium" in sys.modules:
    # gymnasium.make("minibrains:minibrains/Workflow-v0") imports this module to have it registered
    import_module("minibrains.training")
