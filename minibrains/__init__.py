"""What a node author imports: sockets, Node, widget, Brain.

from minibrains import Action, Node, On, widget
"""

from minibrains.brain import Brain, setting, tensor
from minibrains.errors import BrainError, GameError, MinibrainsError
from minibrains.host import Episode, Host
from minibrains.loading import BrainRef
from minibrains.node import ABSENT, Absent, Lazy, Node, On, Register, Sample, widget
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

__version__ = "0.1.0"

__all__ = [
    "ABSENT", "Absent", "Action", "Brain", "BrainError", "BrainRef", "ColorFrame", "Episode", "Flag", "Frame", "Frames",
    "GameError", "Host", "Lazy", "Logits", "MinibrainsError", "Node", "Number", "On", "Pad", "Register", "Sample",
    "Situation", "Socket", "Text", "TorchNode", "Variables", "setting", "tensor", "widget",
]  # fmt: skip
