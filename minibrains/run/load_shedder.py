"""The load shedder: optional nodes run less often while deadlines are missed,
and more often again once there is room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from minibrains.engine.engine import Engine
from minibrains.hooks import Hook
from minibrains.run.deadlines import Deadlines

if TYPE_CHECKING:
    from minibrains.run.run import Run

MAX_DECIMATION: Final = 256
"""Optional nodes run on at least one in this many of their ticks, too few to be the slowest
hundredth of all ticks."""
_BUSY: Final = 2
"""Seconds in a row with deadlines missed because the machine was busy, before optional nodes run
less often."""
_ROOM: Final = 0.5
"""Share of the available time below which the ticks leave room."""
_CALM: Final = 5
"""Seconds in a row with room, and without missed deadlines, before optional nodes run more
often."""


@dataclass
class LoadShedder(Hook):
    """Checks a realtime run once per second of the game, and sets the engine's `decimation`."""

    engine: Engine
    deadlines: Deadlines
    say: Callable[[str], None]
    changes: list[dict[str, Any]] = field(default_factory=list)
    """The changes so far: the tick of the run, the new decimation, and the reason."""
    _ticks: int = 0
    _own_misses: int = 0
    _outside_misses: int = 0
    _step_seconds: float = 0.0
    _busy: int = 0
    """Seconds in a row with deadlines missed because the machine was busy."""
    _calm: int = 0

    def between_ticks(self, run: Run) -> None:
        self.look()

    def look(self) -> None:
        """Check once, between two ticks."""
        ticks = self.deadlines.ticks - self._ticks
        if ticks < self.deadlines.rate:
            return
        self._ticks = self.deadlines.ticks
        own, outside = self._count_misses()
        load = self._count_seconds() * self.deadlines.rate / ticks
        if outside:
            self._busy += 1
        else:
            self._busy = 0
        pressed = own > 0 or self._busy >= _BUSY
        if not pressed and load < _ROOM:
            self._calm += 1
        else:
            self._calm = 0
        decimation = self.engine.context.decimation
        if pressed and decimation < MAX_DECIMATION and self._has_sheddable_nodes():
            why = (
                f"{own + outside} of {ticks} deadlines were missed, "
                f"{outside} of them because the machine was busy otherwise"
            )
            self._set(decimation * 2, why)
        elif self._calm >= _CALM and decimation > 1:
            self._calm = 0
            self._set(decimation // 2, f"there is room: ticks take {load:.0%} of the time")

    def _count_misses(self) -> tuple[int, int]:
        """Count the deadlines missed since the last check: because of the run itself,
        and because the machine was busy.
        """
        before_own, before_outside = self._own_misses, self._outside_misses
        self._outside_misses = self.deadlines.unscheduled
        self._own_misses = self.deadlines.misses - self._outside_misses
        return self._own_misses - before_own, self._outside_misses - before_outside

    def _count_seconds(self) -> float:
        """Return the seconds that ticks took since the last check,
        without the time for which the game waited for nodes.
        """
        before = self._step_seconds
        self._step_seconds = sum(self.engine.execution.step_seconds)
        return self._step_seconds - before

    def _has_sheddable_nodes(self) -> bool:
        return any(node.entry.optional for node in self.engine.plan.graph.nodes.values())

    def _set(self, decimation: int, why: str) -> None:
        self.engine.context.decimation = decimation
        if self.engine.context.tape is not None:
            self.engine.context.tape.add("", "pace", decimation)
        self.changes.append({"tick": self.engine.total_ticks, "thinning": decimation, "why": why})
        share = "all"
        if decimation != 1:
            share = f"one in {decimation}"
        self.say(f"{why}; optional nodes now run on {share} of their ticks")
