"""The deadlines of a realtime run: when each tick is due, and which node made it late.

Pure arithmetic, without a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from minibrains.engine.timing import LatencyHistogram

MAX_FRAMES_BEHIND: Final = 60
"""Number of frames that are caught up. If the run is further behind, the schedule moves: after a
laptop was suspended, a minute of the game must not be played in a second."""


class Deadlines:
    """The schedule of an episode: tick n is due at T0 + n / (rate * speed),
    and must be finished when the next one is due.

    Points in time and durations are in seconds. `own` time is time that the run itself used,
    without the time in which the system did not schedule the process. For each tick call `started`,
    then `finished`.

    `_lateness` says how late the run would be in a process that is always scheduled. In frames, for
    a rate of 1, where a tick is missed if it ends more than 1 after it was due:

    | tick | due | `started` | own time | ends | | `_lateness` afterwards |
    |---|---|---|---|---|---|---|
    | 0 | 0 | 0 | 1.6 | 1.6 | missed: its slowest node is the cause | 1.6 - 1 = 0.6 |
    | 1 | 1 | 1.6, not fresh | 0.8 | 2.4 | missed: 0.6 + 0.8 > 1, so the same cause | 0.4 |
    | 2 | 2 | 2.4, not fresh | 0.5 | 2.9 | met | 0.4 + 0.5 - 1 = -0.1 |
    | 3 | 3 | 3.9: it was not woken earlier | 0.2 | 4.1 | missed: 0.2 < 1, so `unscheduled` | -0.8 |
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        """Ticks a second of the console's own clock."""
        self.ticks = 0
        self.nodes: dict[str, int] = {}
        """Number of deadlines missed because of each node."""
        self.engine = 0
        """Number of deadlines missed because of everything around the nodes."""
        self.unscheduled = 0
        """Number of deadlines that were missed only because the system did not schedule the
        process."""
        self.slipped = 0.0
        """Seconds by which the schedule was moved, because the run was too far behind."""
        self.blocked_seconds = 0.0
        """Seconds by which the schedule was moved, because the game waited for background nodes."""
        self._speed = 1.0
        self._period = 1 / rate
        self._late = LatencyHistogram()
        # the lateness in a process that is always scheduled is carried from tick to tick, so that a
        # miss with inherited lateness is attributed to its first cause
        self._lateness = 0.0
        self._last_late = 0.0
        self.begin(0.0, 0)

    def begin(self, now: float, tick: int) -> None:
        """Make a new schedule, in which `tick` of the episode is due now."""
        self._tick = tick
        self._origin = now - tick * self._period
        self._lateness = 0.0

    @property
    def speed(self) -> float:
        """The speed as a share of `rate`; 1: that of the console's own clock. When it is set, a new
        schedule must begin.
        """
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = speed
        self._period = 1 / (self.rate * speed)

    @property
    def due(self) -> float:
        """The time at which the current or next tick is due,
        recomputed for each tick so that rounding does not add up.
        """
        return self._origin + self._tick * self._period

    @property
    def misses(self) -> int:
        """The number of missed deadlines, whatever the cause."""
        return sum(self.nodes.values()) + self.engine + self.unscheduled

    @property
    def missed(self) -> dict[str, Any]:
        """The missed deadlines by cause: `nodes` (node -> number), `engine`, `unscheduled`."""
        return {
            "nodes": dict(self.nodes),
            "engine": self.engine,
            "unscheduled": self.unscheduled,
        }

    def started(self, now: float, own: float) -> bool:
        """Begin a tick; `own` seconds were used since the last one.

        Returns False if there is work to catch up from that one.
        """
        fresh = self._lateness <= 0
        self._lateness = max(0.0, self._lateness + own)
        self._last_late = max(0.0, now - self.due)
        self._late.add(self._last_late)
        return fresh

    def finished(
        self, now: float, own: float, blocked_seconds: float, find_cause: Callable[[], str | None]
    ) -> None:
        """End a tick that took `own` seconds; for another `blocked_seconds`,
        which move the schedule, the game waited for nodes.

        `find_cause` is called for a miss that the run itself caused: it returns the node that it
        is attributed to, or None for the engine.
        """
        self._origin += blocked_seconds
        self.blocked_seconds += blocked_seconds
        self._lateness += own
        if now > self.due + self._period:
            self._attribute_miss(find_cause)
        self._lateness -= self._period
        self._tick += 1
        self.ticks += 1
        late = now - self.due
        if late > MAX_FRAMES_BEHIND * self._period:
            self._origin += late
            self.slipped += late
            self._lateness = 0.0

    def _attribute_miss(self, find_cause: Callable[[], str | None]) -> None:
        """Count a missed deadline for what has caused it."""
        if self._lateness <= self._period:
            self.unscheduled += 1
            return
        node = find_cause()
        if node is None:
            self.engine += 1
        else:
            self.nodes[node] = self.nodes.get(node, 0) + 1

    @classmethod
    def merged(cls, parts: Sequence[Deadlines]) -> Deadlines:
        """Add up the deadlines of several workers, at least one."""
        whole = cls(parts[0].rate)
        for part in parts:
            whole.ticks += part.ticks
            whole.engine += part.engine
            whole.unscheduled += part.unscheduled
            whole.slipped += part.slipped
            whole.blocked_seconds += part.blocked_seconds
            whole._late.merge(part._late)
            whole._last_late = max(whole._last_late, part._last_late)
            for node, missed in part.nodes.items():
                whole.nodes[node] = whole.nodes.get(node, 0) + missed
        return whole

    def report(self) -> dict[str, Any]:
        """Return the entries of the summary."""
        p99 = self._late.quantile(0.99)
        scheduled = self.ticks - self.unscheduled
        on_time = None
        if scheduled:
            on_time = round((self.ticks - self.misses) / scheduled, 6)
        return {
            "rate": round(self.rate, 4),
            "missed": self.missed,
            "on_time": on_time,
            "late_ms": {
                "p99": None if p99 is None else round(p99 * 1e3, 4),
                "max": round(self._late.longest * 1e3, 4),
            },
            "slipped_s": round(self.slipped, 4),
            "drift_frames": round(self._last_late * self.rate, 4),
            "held_s": round(self.blocked_seconds, 4),
        }
