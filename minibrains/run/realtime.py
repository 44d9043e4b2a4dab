"""The realtime clock: ticks at the console's own frame rate."""

from __future__ import annotations

import time

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from minibrains.engine.engine import Engine
from minibrains.run.deadlines import Deadlines


class RealtimeClock:
    """Ticks an engine `rate` times a second, on an absolute schedule;
    `deadlines` counts the missed deadlines.

    A late tick is followed by the next one at once, until the schedule is met again: no frame is
    dropped or repeated. The first tick of an episode is due when `advance` reaches it.
    """

    def __init__(self, engine: Engine, rate: float) -> None:
        self.engine = engine
        self.deadlines = Deadlines(rate)
        self._laps = _Laps()
        self._next = -1
        """The tick at which this clock left the engine; at any other tick, a new episode has
        begun."""
        self._since = engine.step_times()
        self._own = 0.0
        """Own seconds since `_since` was taken, when the schedule was last met."""

    @property
    def speed(self) -> float:
        """The speed of the ticks as a share of the console's own frame rate, above 0."""
        return self.deadlines.speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self.deadlines.speed = speed
        self.resume()

    def advance(self, ticks: int) -> bool:
        """Run up to `ticks` ticks of the episode, each when it is due.

        Returns True if the episode ended.
        """
        engine, deadlines, laps = self.engine, self.deadlines, self._laps
        for _ in range(ticks):
            between = laps.lap()
            if engine.tick != self._next:
                deadlines.begin(laps.now, engine.tick)
                between = 0.0
            self._sleep()
            if engine.stopping:
                return False
            laps.lap()
            if deadlines.started(laps.now, between):
                self._since, self._own = engine.step_times(), 0.0
            blocked_before = engine.blocked_seconds
            ended = engine.advance(1)
            blocked_seconds = engine.blocked_seconds - blocked_before
            own = max(0.0, laps.lap() - blocked_seconds)
            self._own += between + own
            deadlines.finished(laps.now, own, blocked_seconds, self._find_cause)
            self._next = engine.tick
            if ended or engine.stopping:
                return ended
        return False

    def resume(self) -> None:
        """Continue after a pause: the next tick is due at once, and no deadline has been missed."""
        self._next = -1

    def _sleep(self) -> None:
        """Sleep until the next tick is due.

        This is never longer than a frame, so `stopping` need not wake it.
        """
        while not self.engine.stopping and (left := self.deadlines.due - time.perf_counter()) > 0:
            time.sleep(left)

    def _find_cause(self) -> str | None:
        """Return the node that took most time since the schedule was last met;
        None if the engine did.
        """
        nodes = self.engine.seconds_since(self._since)
        slowest = max(nodes, key=nodes.__getitem__)
        return slowest if nodes[slowest] >= self._own - sum(nodes.values()) else None


class _Laps:
    """A stopwatch whose laps leave out the time in which this thread was ready but not scheduled.

    That time is wall time minus the thread's CPU time, unless the thread gave up its
    core voluntarily: then it waited for something, and the wait is its own. Where the
    system does not count voluntary switches, the whole lap is its own.
    """

    def __init__(self) -> None:
        self.now = time.perf_counter()
        """The time at which the last lap ended."""
        self._cpu = time.thread_time()
        self._waits = _waits()

    def lap(self) -> float:
        """Return the own seconds since the last lap."""
        before, self.now = self.now, time.perf_counter()
        cpu, self._cpu = self._cpu, time.thread_time()
        waits, self._waits = self._waits, _waits()
        wall = self.now - before
        if waits is None or waits != self._waits:
            return wall
        return min(wall, self._cpu - cpu)


def _waits() -> int | None:
    """Return how often this thread gave up its core voluntarily;
    None if the system does not count it.
    """
    if hasattr(resource, "RUSAGE_THREAD"):
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    return None
