"""The breakpoints of a run, between its ticks."""

from __future__ import annotations

from collections.abc import Sequence

from minibrains.engine.engine import Engine
from minibrains.engine.peek import is_kept, peek_item
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

    def errors(self, engine: Engine) -> list[str]:
        """Return a sentence about each breakpoint that can never hold in this graph."""
        nodes = engine.plan.graph.nodes
        errors = []
        for each in self._breakpoints:
            node = nodes.get(each.node)
            if node is None or each.socket not in node.cls.schema.outputs:
                errors.append(f'the breakpoint "{each}" is of an output that is not in the graph')
            elif not is_kept(engine, each.node, each.socket):
                errors.append(
                    f'the breakpoint "{each}" cannot hold, because the value is not kept: link the '
                    "output to an input that reads the last value, such as that of a Preview"
                )
        return errors

    def hit(self, engine: Engine) -> tuple[str, ...]:
        """Return the breakpoints that hold now, and did not when this was last called, in words
        such as "console.reward < 0".
        """
        holding = set()
        hit = []
        for breakpoint in self._breakpoints:
            value = peek_item(engine, breakpoint.node, breakpoint.socket, breakpoint.item)
            if breakpoint.holds(value):
                holding.add(breakpoint)
                if breakpoint not in self._holding:
                    hit.append(str(breakpoint))
        self._holding = holding
        return tuple(hit)
