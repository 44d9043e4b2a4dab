"""When each tick of a realtime run is due, and what became of its deadlines. Arithmetic: others look at the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from minibrains.engine.timing import LatencyHistogram

MAX_FRAMES_BEHIND: Final = 60
"""Frames that are caught up. Further behind than this the schedule moves: after a suspended laptop nobody wants a
minute of the game in a second."""


class Deadlines:
    """Tick n of an episode is due at T0 + n / rate, and has to be finished when the next one is due.

    Points in time and durations are in seconds. A duration is `own` time if the run itself used it: time in which
    the process was not let run is left out. For each tick call `started`, then `finished`.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        """Ticks a second."""
        self.ticks = 0
        self.nodes: dict[str, int] = {}
        """Deadlines missed because of a node."""
        self.engine = 0
        """Deadlines missed because of all that is around the nodes."""
        self.unscheduled = 0
        """Deadlines that would have been met, had the process been let run."""
        self.slipped = 0.0
        """Seconds by which the schedule was moved, because the run was too far behind."""
        self.hold_seconds = 0.0
        """Seconds by which the schedule was moved, because hold nodes were thinking."""
        self._period = 1 / rate
        self._late = LatencyHistogram()
        self._last_late = 0.0
        self.begin(0.0, 0)

    def begin(self, now: float, tick: int) -> None:
        """Make a new schedule, in which `tick` of the episode is due now."""
        self._tick = tick
        self._origin = now - tick / self.rate
        self._behind = 0.0

    @property
    def due(self) -> float:
        """When the coming, or current, tick is due. Worked out anew for each tick, so rounding does not add up."""
        return self._origin + self._tick / self.rate

    @property
    def misses(self) -> int:
        return sum(self.nodes.values()) + self.engine + self.unscheduled

    def started(self, now: float, own: float) -> bool:
        """A tick begins; since the last one ended, `own` seconds were used. False if that one left work to catch up."""
        fresh = self._behind <= 0
        self._behind = max(0.0, self._behind + own)
        self._last_late = max(0.0, now - self.due)
        self._late.add(self._last_late)
        return fresh

    def finished(self, now: float, own: float, hold_seconds: float, culprit: Callable[[], str | None]) -> None:
        """The tick is done. It took `own` seconds; for `hold_seconds` others the clock stood still, and the schedule with it.

        `culprit` is asked on a miss of the run's own making: the node it is put down to, None for the engine.
        """
        self._origin += hold_seconds
        self.hold_seconds += hold_seconds
        # how far after `due` the tick would have ended in a process that is always let run: what stays of it is
        # carried into the next tick, so a miss that only inherits its lateness is put down to what began it
        self._behind += own
        if now > self.due + self._period:
            if self._behind <= self._period:
                self.unscheduled += 1
            elif (node := culprit()) is None:
                self.engine += 1
            else:
                self.nodes[node] = self.nodes.get(node, 0) + 1
        self._behind -= self._period
        self._tick += 1
        self.ticks += 1
        late = now - self.due
        if late > MAX_FRAMES_BEHIND * self._period:
            self._origin += late
            self.slipped += late
            self._behind = 0.0

    @classmethod
    def merged(cls, parts: Sequence[Deadlines]) -> Deadlines:
        """Those of several workers as one; there is at least one."""
        whole = cls(parts[0].rate)
        for part in parts:
            whole.ticks += part.ticks
            whole.engine += part.engine
            whole.unscheduled += part.unscheduled
            whole.slipped += part.slipped
            whole.hold_seconds += part.hold_seconds
            whole._late.merge(part._late)
            whole._last_late = max(whole._last_late, part._last_late)
            for node, missed in part.nodes.items():
                whole.nodes[node] = whole.nodes.get(node, 0) + missed
        return whole

    def report(self) -> dict[str, Any]:
        """What a summary says of them."""
        p99 = self._late.quantile(0.99)
        scheduled = self.ticks - self.unscheduled
        on_time = None
        if scheduled:
            on_time = round((self.ticks - self.misses) / scheduled, 6)
        return {
            "rate": round(self.rate, 4),
            "missed": {"nodes": dict(self.nodes), "engine": self.engine, "unscheduled": self.unscheduled},
            "on_time": on_time,
            "late_ms": {"p99": None if p99 is None else round(p99 * 1e3, 4), "max": round(self._late.longest * 1e3, 4)},
            "slipped_s": round(self.slipped, 4),
            "drift_frames": round(self._last_late * self.rate, 4),
            "held_s": round(self.hold_seconds, 4),
        }
