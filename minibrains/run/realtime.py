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
    """Ticks an engine `rate` times a second, by an absolute schedule; `deadlines` says how that went.

    A tick that is late is followed by the next one at once, until the schedule is caught up: no frame is dropped
    and none doubled. An episode's first tick is due when `advance` comes to it.
    """

    def __init__(self, engine: Engine, rate: float) -> None:
        self.engine = engine
        self.deadlines = Deadlines(rate)
        self._laps = _Laps()
        self._next = -1
        """The tick this clock left the engine at; elsewhere, it is another episode."""
        self._since = engine.spent()
        self._own = 0.0
        """Own seconds since `_since` was taken, which is when the schedule was last kept."""

    def advance(self, ticks: int) -> bool:
        """Do up to `ticks` ticks of the episode, each when it is due. True if it ended; False also after `stopping`."""
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
                self._since, self._own = engine.spent(), 0.0
            hold_before = engine.hold_seconds
            ended = engine.advance(1)
            hold_seconds = engine.hold_seconds - hold_before
            own = max(0.0, laps.lap() - hold_seconds)
            self._own += between + own
            deadlines.finished(laps.now, own, hold_seconds, self._culprit)
            self._next = engine.tick
            if ended or engine.stopping:
                return ended
        return False

    def resume(self) -> None:
        """The run was paused: the coming tick is due at once, and nothing has been missed."""
        self._next = -1

    def _sleep(self) -> None:
        """Until the coming tick is due. That is never longer than a frame, so `stopping` need not wake it."""
        while not self.engine.stopping and (left := self.deadlines.due - time.perf_counter()) > 0:
            time.sleep(left)

    def _culprit(self) -> str | None:
        """The node that took most since the schedule was last kept; None if the engine did."""
        nodes = self.engine.spent_since(self._since)
        slowest = max(nodes, key=nodes.__getitem__)
        return slowest if nodes[slowest] >= self._own - sum(nodes.values()) else None


class _Laps:
    """Laps of a stopwatch that leave out the time in which this thread wanted to run and was not let.

    That is wall time less the thread's CPU time, unless the thread gave up its core by itself: then it waited for
    something, and the waiting is its own. Where the system does not count that, all of a lap is its own.
    """

    def __init__(self) -> None:
        self.now = time.perf_counter()
        """When the last lap ended."""
        self._cpu = time.thread_time()
        self._waits = _waits()

    def lap(self) -> float:
        """Own seconds since the last lap."""
        before, self.now = self.now, time.perf_counter()
        cpu, self._cpu = self._cpu, time.thread_time()
        waits, self._waits = self._waits, _waits()
        wall = self.now - before
        if waits is None or waits != self._waits:
            return wall
        return min(wall, self._cpu - cpu)


def _waits() -> int | None:
    """How often this thread gave up its core by itself; None where the system does not tell."""
    if hasattr(resource, "RUSAGE_THREAD"):
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    return None
