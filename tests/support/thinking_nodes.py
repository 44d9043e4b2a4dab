"""Nodes that think beside the clock, in a module that another process can import."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np

from minibrains import Episode, Host, Node, Number, Register, Socket, Variables, widget
from minibrains.errors import BrainError, MinibrainsError
from minibrains.savings import tell_saving
from tests.support.timeouts import TIMEOUT

Thing = Annotated[object, Socket("thing")]
Anything = Annotated[object, Socket("number")] | Thing
Row = Annotated[np.ndarray, Socket("row", "f32[n]")]
gates: dict[str, threading.Event] = {}
"""Where the nodes of a test stand until they are let through."""


class Clock(Register):
    """Gives out the number of the tick."""

    def reset(self, episode: Episode) -> None:
        self.now = 0

    def emit(self) -> Number:
        return self.now

    def latch(self, back: Number | None = None) -> None:
        self.now += 1


class Counted(NamedTuple):
    number: Number
    runs: Number


class Slow(Node):
    """Hand the number on after a random time, and count the runs of the episode."""

    most: float = widget(default=0.0, doc="milliseconds")
    fails: int = widget(default=-1, doc="the number on which it raises")
    dies: int = widget(default=-1, doc="the number on which it kills its process")
    sleeps: int = widget(
        default=-1,
        doc="the number on which it sleeps for a minute, or until it is let through its gate",
    )
    gate: str = widget(default="")
    add: int = widget(default=0)

    def reset(self, episode: Episode) -> None:
        self.runs = 0

    def tick(self, number: Number) -> Counted:
        self.runs += 1
        time.sleep(random.random() * self.most / 1000)
        if number == self.fails:
            raise ValueError("it cannot think of anything")
        if number == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self.sleeps:
            gates.get(self.gate, threading.Event()).wait(TIMEOUT)
        return Counted(number + self.add, self.runs)

    def report(self) -> Mapping[str, Any]:
        return {"runs": self.runs}


class InThread(Slow, background="thread"):
    pass


class InProcess(Slow, background="process"):
    pass


class Anywhere(Slow, background="either"):
    """On a thread, or in a process where the workflow says so."""


class OpensWhenLet(Slow, background="process", fallback=Counted(-1, 0)):
    """Opens when the file `door` is there, refuses while there is something in it,
    and leaves its process's number.
    """

    door: str = widget()

    def open(self, host: Any) -> None:
        door = Path(self.door)
        while not door.exists():
            time.sleep(0.01)
        if door.read_text():
            raise ValueError("the door is locked")

    def tick(self, number: Number) -> Counted:
        return super().tick(number)._replace(runs=os.getpid())


class Fixed(Node):
    """Gives out the same on every tick."""

    value: int = widget(default=1)

    def tick(self) -> Number:
        return self.value


class WarmsUp(Node, background="process", fallback=-1):
    """Says what it is warmed up with, and thinks for as long as the file `door` is not there."""

    door: str = widget()

    def open(self, host: Any) -> None:
        self.host = host
        if Path(self.door).read_text():
            raise ValueError("the door is locked")
        tell_saving("its model", 1.5)

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        if constants["fixed"] == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        if constants["fixed"] == 13:
            raise ValueError("thirteen")
        self.host.say(f"warmed up with {constants['fixed']}")
        tell_saving("its merge", 2.5)

    def tick(self, number: Number, fixed: Number) -> Number:
        door = Path(self.door)
        if not door.exists():
            self.host.say("it waits at the door")
        while not door.exists():
            time.sleep(0.01)
        return number


class Stateless(Node, background="thread", fallback=-1):
    """Hands the number on; when it fails, -1."""

    sleeps: int = widget(default=-1, doc="the number on which it waits for its gate")
    gate: str = widget(default="")

    def tick(self, number: Number) -> Number:
        if number == self.sleeps:
            gates[self.gate].wait(TIMEOUT)
        return number


class SlowToOpen(InProcess):
    """Its process takes some seconds to be there."""

    def open(self, host: Any) -> None:
        time.sleep(2.5)


class Talks(Node, background="process"):
    """Says things to its host."""

    labels: Mapping[str, int] = widget(default=MappingProxyType({"a": 1}))

    def open(self, host: Any) -> None:
        self.host = host
        host.size(n=3)
        host.record(model="small")
        host.say(f"in process {os.getpid()}")

    def tick(self, number: Number) -> Row:
        self.host.say(f"tick {self.host.tick}")
        return np.full(3, number + self.labels["a"], np.float32)


class TakesRow(Node):
    length: int = widget(default=3)

    def tick(self, row: Annotated[np.ndarray, Socket("row", "f32[{length}]")]) -> None:
        pass


class CannotOpen(Node, background="process"):
    raises: str = widget(default="sentence")

    def open(self, host: Any) -> None:
        if self.raises == "sentence":
            raise MinibrainsError("there is no such model")
        if self.raises == "bug":
            raise KeyError("weights")
        if self.raises == "death":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.exit(7)

    def tick(self) -> Number:
        return 1


class Odd(Node, background="process"):
    """Gives out what cannot be sent."""

    def tick(self, number: Number) -> Thing:
        return (lambda: 1) if number == 2 else number


class MakesOdd(Node):
    def tick(self, number: Number) -> Thing:
        return threading.Lock() if number == 2 else number


class Unreadable:
    """Can be pickled, but not read again."""

    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise ValueError("nobody reads this")


class MakesUnreadable(Node):
    def tick(self, number: Number) -> Thing:
        return Unreadable() if number == 2 else number


class GivesUnreadable(Node, background="process"):
    def tick(self, number: Number) -> Thing:
        return Unreadable() if number == 2 else number


class SaysOdd(Node, background="process"):
    """Tells its host what cannot be sent."""

    thing: str = widget(default="lock")

    def open(self, host: Any) -> None:
        self.host = host

    def tick(self, number: Number) -> Thing:
        if number == 2:
            self.host.say(threading.Lock() if self.thing == "lock" else Unreadable())
        return number


class RefusesItsBrain(Node, background="process"):
    def tick(self, number: Number) -> Number:
        raise BrainError("the adapter was made for another model")


class Through(Node, background="process"):
    """Takes anything, in a process."""

    def tick(self, thing: Thing) -> Thing:
        return thing


class CannotClose(Node, background="process"):
    how: str = widget(default="raises")

    def tick(self, number: Number) -> Number:
        return number

    def close(self) -> None:
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("the lid is stuck")


class Shadows(Node):
    """Has a value under the name of a method."""

    when: str = widget(default="open")

    def open(self, host: Any) -> None:
        if self.when == "open":
            self.settle = 3  # type: ignore[assignment,method-assign]

    def reset(self, episode: Episode) -> None:
        if self.when == "reset":
            self.state = "idle"  # type: ignore[assignment,method-assign]

    def tick(self) -> Number:
        return 1


class ShadowsInProcess(Shadows, background="process"):
    pass


class Seen(Node):
    """Keeps all it was given, with the tick."""

    def open(self, host: Any) -> None:
        self.host = host
        self.all: list[tuple[int, Any]] = []

    def tick(self, value: Anything) -> None:
        self.all.append((self.host.tick, value))


class Sum(Node):
    def tick(self, a: Number, b: Number | None = None) -> Number:
        return a + (b or 0)


class Beats(Node, every_tick=True):
    """Counts its own runs."""

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def tick(self) -> Number:
        self.count += 1
        return self.count


class Even(Node):
    def tick(self, number: Number) -> Annotated[bool, Socket("flag")]:
        return number % 2 == 0


class Burns(Node, background="process"):
    """Uses half a second of CPU time in its process."""

    def tick(self, variables: Variables) -> Number:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        return 1


class Works(Node, background="allowed"):
    """Work in steps, show how many are done, and end early once the run is to end.

    Out:  how many it has done
    """

    steps: int = widget(default=100, min=0)
    wait: bool = widget(default=False, doc="go on after the last step until the run is to end")

    def open(self, host: Host) -> None:
        self.host = host

    def reset(self, episode: Episode) -> None:
        self.done = 0

    def tick(self, number: Number) -> Number:
        while not self.host.stopping and (self.wait or self.done < self.steps):
            self.done = min(self.done + 1, self.steps)
            self.host.progress(self.done, self.steps, f"step {self.done}")
            time.sleep(0.001 * self.wait)
        return self.done

    def report(self) -> Mapping[str, Any]:
        return {"done": self.done}


class RunsAnother(Node, background="allowed"):
    """Run another workflow on each tick.

    Out:  the number of its episodes
    """

    workflow: str = widget(rebuild=True)
    settings: Mapping[str, Any] = widget(default=MappingProxyType({}), doc="widgets of its nodes")
    episodes: int = widget(default=2, min=1)
    workers: int = widget(default=1, min=1)

    def open(self, host: Host) -> None:
        self.host = host

    def reset(self, episode: Episode) -> None:
        self.state_of: list[str] = []
        self.ticks: list[int] = []

    def tick(self, number: Number) -> Number:
        summary = self.host.run(
            self.workflow,
            episodes=self.episodes,
            seed=5,
            workers=self.workers,
            widgets=self.settings,
        )
        self.state_of.append(summary["state"])
        self.ticks += [episode["ticks"] for episode in summary["episodes"]]
        return len(summary["episodes"])

    def report(self) -> Mapping[str, Any]:
        return {"states": self.state_of, "nested_ticks": self.ticks}
