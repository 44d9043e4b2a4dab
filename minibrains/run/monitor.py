"""The performance monitor: optional nodes run less often while deadlines are missed, and again when there is room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from minibrains.engine.engine import Engine
from minibrains.hooks import Hook
from minibrains.run.deadlines import Deadlines

if TYPE_CHECKING:
    from minibrains.run.run import Run

LEAST: Final = 64
"""Optional nodes run on at least one in so many of their ticks."""
_ROOM: Final = 0.5
"""Share of the time that ticks may take for there to be room."""
_CALM: Final = 5
"""Seconds in a row with room, and without a miss, before they run more often."""


@dataclass
class Monitor(Hook):
    """Looks at a realtime run once a second of the game and sets the engine's `thinning`."""

    engine: Engine
    deadlines: Deadlines
    say: Callable[[str], None]
    changes: list[dict[str, Any]] = field(default_factory=list)
    """What it did: the tick of the run, the thinning from then on, and why."""
    _ticks: int = 0
    _misses: int = 0
    _spent: float = 0.0
    _calm: int = 0

    def between_ticks(self, run: Run) -> None:
        self.look()

    def look(self) -> None:
        """Look once, between two ticks."""
        deadlines, world = self.deadlines, self.engine.world
        ticks = deadlines.ticks - self._ticks
        if ticks < deadlines.rate:
            return
        misses = deadlines.misses - deadlines.unscheduled
        spent = sum(self.engine.motion.spent)  # without what nodes took to think while the clock stood still
        missed, load = misses - self._misses, (spent - self._spent) * deadlines.rate / ticks
        self._ticks, self._misses, self._spent = deadlines.ticks, misses, spent
        self._calm = self._calm + 1 if not missed and load < _ROOM else 0
        if missed and world.thinning < LEAST:
            self._set(world.thinning * 2, f"{missed} of {ticks} deadlines were missed")
        elif self._calm >= _CALM and world.thinning > 1:
            self._calm = 0
            self._set(world.thinning // 2, f"there is room: ticks take {load:.0%} of the time")

    def _set(self, thinning: int, why: str) -> None:
        self.engine.world.thinning = thinning
        if self.engine.world.tape is not None:
            self.engine.world.tape.add("", "pace", thinning)
        self.changes.append({"tick": self.engine.ticks, "thinning": thinning, "why": why})
        share = "all" if thinning == 1 else f"one in {thinning}"
        self.say(f"{why}; optional nodes now run on {share} of their ticks")
