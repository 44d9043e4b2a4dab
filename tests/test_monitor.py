"""The performance monitor: optional nodes make room when deadlines are missed, and come back."""

from __future__ import annotations

import re
import time
from typing import Any

from engine_fixtures import make_engine, open_engine

from minibrains import Flag, Node, Number, widget
from minibrains.run.deadlines import Deadlines
from minibrains.run.monitor import LEAST, Monitor
from minibrains.run.realtime import RealtimeClock
from nodes.consoles.retro import RetroEmulator
from nodes.control.flow import Every, Variable


class Heavy(Node):
    """Compute for longer than a frame while `busy`."""

    busy: bool = widget(default=True)

    def tick(self, number: Number) -> Flag:
        end = time.thread_time() + (0.03 if self.busy else 0.0)
        while time.thread_time() < end:
            pass
        return True


class Thinks(Node, background="thread"):
    """The clock stands still for longer than all ticks of a second take."""

    def tick(self, number: Number) -> None:
        time.sleep(0.03)


NODES: dict[str, Any] = {
    "console": {"type": "RetroEmulator@2", "set": {"game": "Pad-Genesis"}},
    "frame": {"type": "Variable@1", "set": {"name": "frame"}, "in": {"variables": "console.variables"}},
    "heavy": {"type": "Heavy@1", "in": {"number": "frame.number"}, "optional": True},
    "light": {"type": "Heavy@1", "set": {"busy": False}, "in": {"number": "frame.number"}},
    "clock": {"type": "Every@1"},
    "thinks": {"type": "Thinks@1", "in": {"number": "frame.number"}, "when": "clock.now", "busy": "hold"},
}
TYPES = (RetroEmulator, Variable, Every, Heavy, Thinks)


def test_optional_nodes_make_room_and_come_back() -> None:
    engine = make_engine(NODES, TYPES)
    said: list[str] = []
    open_engine(engine)
    try:
        engine.reset(0, 0)
        assert engine.frame_rate is not None
        clock = RealtimeClock(engine, engine.frame_rate)
        monitor = Monitor(engine, clock.deadlines, said.append)
        while engine.world.thinning < 8 and engine.tick < 1200:
            clock.advance(6)
            monitor.look()
        assert engine.world.thinning >= 8
        assert "deadlines were missed" in said[0]
        engine.nodes["heavy"].busy = False
        while engine.world.thinning > 4 and engine.tick < 4000:
            clock.advance(6)
            monitor.look()
        assert engine.world.thinning <= 4
        assert re.match(r"there is room: ticks take \d+% of the time", said[-1])
        times = engine.node_times()
        assert times["light"].runs == engine.ticks
        assert 0 < times["heavy"].runs < engine.ticks / 2
        assert [change["thinning"] for change in monitor.changes][:3] == [2, 4, 8]
    finally:
        engine.close()


def test_unscheduled_misses_thin_nothing_and_there_is_an_end_to_it() -> None:
    engine = make_engine(NODES, TYPES)
    deadlines = Deadlines(60.0)
    monitor = Monitor(engine, deadlines, lambda text: None)
    deadlines.ticks, deadlines.unscheduled = 60, 5
    monitor.look()
    assert engine.world.thinning == 1
    for second in range(2, 20):
        deadlines.ticks, deadlines.engine = 60 * second, second
        monitor.look()
    assert engine.world.thinning == LEAST
