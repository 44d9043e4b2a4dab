"""The breakpoints of a run, between its ticks."""

from __future__ import annotations

from collections.abc import Sequence

from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek
from minibrains.graph.breakpoint import Breakpoint


class Breakpoints:
    """Finds the breakpoints that begin to hold.

    One that goes on holding is not found again, so a run that was paused by `health < 50` is not
    paused on every tick that follows.
    """

    def __init__(self, breakpoints: Sequence[Breakpoint] = ()) -> None:
        self._breakpoints = breakpoints
        self._holding: set[Breakpoint] = set()

    def __bool__(self) -> bool:
        return bool(self._breakpoints)

    def begun(self, engine: Engine) -> tuple[str, ...]:
        """Return the breakpoints that hold now, and did not when this was last called, in words
        such as "console.reward < 0".
        """
        holding = set()
        begun = []
        for breakpoint in self._breakpoints:
            if breakpoint.holds(peek(engine, breakpoint.node, breakpoint.socket)):
                holding.add(breakpoint)
                if breakpoint not in self._holding:
                    begun.append(str(breakpoint))
        self._holding = holding
        return tuple(begun)
