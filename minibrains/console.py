"""Console: the base class of every game console in a graph, whatever emulates it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Unpack

from minibrains.annotations import Lazy
from minibrains.errors import GameError, MinibrainsError, NodeClassError
from minibrains.games.save_states import SaveState
from minibrains.node import Register
from minibrains.node_options import NodeOptions
from minibrains.sockets import ColorFrame, Flag, Number, Pad, Variables
from minibrains.widgets import widget

_OPPOSITE: Final = frozenset({"LEFT", "RIGHT"}), frozenset({"UP", "DOWN"})


class ConsoleOutput(NamedTuple):
    """The outputs of a console at the start of a tick."""

    frame: Lazy[ColorFrame]
    variables: Variables
    reward: Number
    terminated: Flag
    truncated: Flag


class Console(Register, ABC, abstract=True, category="consoles", terminal="terminated"):
    """A game: shows its screen, takes the pads, and advances by one frame a tick.

    pad1, pad2:  names of the buttons held; without a link, none are. Opposite directions held at
                 once cancel each other, as on a real pad
    frame:       uint8 [h, w, 3], the screen; read only on ticks on which something reads this
                 output
    variables:   the game's variables by name
    reward:      of the last frame, in the unit of the game's scenario
    terminated:  True on the tick on which the game is over by its own rules; nothing is latched
                 then
    truncated:   True on the last tick of an episode that the run's limit ends, if the game is not
                 over

    In `reset` it calls `host.begin`, so that other nodes know how the episode began.

    Films, evaluations, benchmarks and the editor use only this class. A subclass determines how
    frames are made, for example by an emulator or by a Gymnasium environment. It may return outputs
    of these names from a class of its own, if its variables are Lazy too, or it has no pictures.

    `report` returns "score" (the sum of rewards), "won" and "drawn" (None if the game does not
    define them), "start" (an object, whose "state" is the name of the save state), "actions_sha256"
    and "trajectory_sha256".
    """

    game: str | tuple[str, ...] = widget(
        rebuild=True,
        names="game",
        doc="one game, or several, of which the first with a ROM is played",
    )
    states: tuple[str, ...] = widget(
        default=(),
        rebuild=True,
        names="state",
        doc="save states to start from, or SPLIT/PATTERN for those of the game's splits.json: "
        "training/Level[2-7].*; none: the one that the game defines",
    )
    noop_max: int = widget(
        default=0,
        min=0,
        max=30,
        doc="an episode starts after 0 to this many frames in which no button is held",
    )
    write: Mapping[str, int | str] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc='variables to set at the start; "$seed" is a number of the episode\'s own',
    )
    players: int = widget(
        default=1, min=1, max=2, rebuild=True, doc="the number of pads that are plugged in"
    )

    def __init_subclass__(cls, **options: Unpack[NodeOptions]) -> None:
        super().__init_subclass__(**options)
        if options.get("abstract", False):
            return
        for name in ConsoleOutput._fields:
            if name not in cls.schema.outputs:
                raise NodeClassError(
                    f"{cls.__name__} is a Console without the output {name!r}; "
                    "return a ConsoleOutput from emit()"
                )
        for name in ("pad1", "pad2"):
            if name not in cls.schema.inputs:
                raise NodeClassError(
                    f"{cls.__name__} is a Console without the input {name!r}; "
                    "latch() takes pad1 and pad2"
                )

    def buttons(self) -> tuple[str, ...] | None:
        """Return the names of the pad's buttons, before the console is opened;
        None if they are not known by then.
        """
        return None

    @property
    @abstractmethod
    def frames(self) -> int:
        """Return the number of frames that this episode has advanced by,
        without those before its first tick.
        """

    def save_state(self) -> SaveState:
        """Return the state of the game between two ticks.

        Raises GameError if this console cannot save states.
        """
        raise GameError(f"{type(self).__name__} cannot save states")

    @abstractmethod
    def emit(self) -> ConsoleOutput:
        """Return the current frame, variables and reward, and whether the episode is over."""

    @abstractmethod
    def latch(self, pad1: Pad | None = None, pad2: Pad | None = None) -> None:
        """Advance by one frame with these buttons held, by name; see `without_opposites`."""


@lru_cache(maxsize=4096)
def without_opposites(pad: Pad) -> Pad:
    """Return the buttons of a pad without LEFT and RIGHT where both are held,
    and without UP and DOWN likewise.
    """
    impossible: set[str] = set()
    for pair in _OPPOSITE:
        if pair.issubset(pad):
            impossible |= pair
    return tuple(button for button in pad if button not in impossible)


def find_console(nodes: Mapping[str, Any]) -> tuple[str, Console]:
    """Return the id of the only console among the nodes of an engine, and the console itself.

    Raises MinibrainsError if there is none, or more than one.
    """
    consoles = [(name, node) for name, node in nodes.items() if isinstance(node, Console)]
    if len(consoles) != 1:
        raise MinibrainsError(
            f"a workflow with one console, a RetroEmulator say, is needed; found {len(consoles)}"
        )
    return consoles[0]
