"""Nodes for the tests of the service: films with known pictures,
and nodes that fail in every way there is.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from minibrains import Brain, Episode, Frame, Host, Node, Number, Register, Text, tensor, widget


def picture(count: int, colours: int, height: int = 24, width: int = 32) -> np.ndarray:
    """The film's picture number `count`, of that many colours."""
    number = (np.arange(height * width).reshape(height, width) + count) % colours
    return np.stack([number & 255, number >> 8, (number * 7) & 255], 2).astype(np.uint8)


class Shot(NamedTuple):
    """What a film shows."""

    frame: Frame
    count: Number  # type: ignore[assignment]  # tuples have a method of this name


class Film(Register):
    """A picture a tick, 600 a second of its own clock.

    frame:  in as many colours as asked for
    count:  its number
    """

    colours: int = widget(default=16, min=1, max=768, doc="in each picture")
    size: int = widget(default=24, min=1, max=1024, doc="pixels high", rebuild=True)

    def open(self, host: Host) -> None:
        host.rate(600.0)

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def emit(self) -> Shot:
        return Shot(picture(self.count, self.colours, self.size), float(self.count))

    def latch(self) -> None:
        self.count += 1


class Troubled(Node):
    """Says something, then does what its widget says on the tick it names."""

    does: str = widget(default="nothing", doc="raise, die or hang")
    on: int = widget(default=5, doc="the tick")

    def open(self, host: Host) -> None:
        self.host = host

    def tick(self, count: Number) -> Text:
        if count == self.on:
            self.host.say(f"now I {self.does}")
            if self.does == "raise":
                raise ValueError("as I was told")
            if self.does == "die":
                print("farewell from the worker", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            if self.does == "hang":
                threading.Event().wait()
        return f"{count:g} of them"


class Works(Node, background="thread"):
    """Works within one tick until the run is to end."""

    def open(self, host: Host) -> None:
        self.host = host

    def tick(self, count: Number) -> None:
        done = 0
        while not self.host.stopping:
            done += 1
            self.host.progress(done, text="waits for the end")
            time.sleep(0.01)


class Speechless(Exception):
    """What it says cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("I cannot even say it")


class Fails(Node):
    """Fails in a way that is hard to tell: with so many letters, or with none at all."""

    letters: int = widget(default=0)

    def tick(self, count: Number) -> None:
        raise ValueError("x" * self.letters) if self.letters else Speechless


class Leaks(Node):
    """Opens all the files that a process may have open, and keeps them."""

    def open(self, host: Host) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, most))
        with suppress(OSError):
            while True:
                os.dup(2)

    def tick(self, count: Number) -> None:
        pass


class Stuck(Node):
    """Never finds out whether its widgets are right."""

    def check(self) -> None:
        threading.Event().wait()

    def tick(self, count: Number) -> None:
        pass


class Bytes(Brain):
    """As large as one likes."""

    kind = "bytes"
    bytes: np.ndarray = tensor("u8[n]")


class HasBytes(Node):
    """Takes a brain that may be large."""

    brain: Bytes

    def tick(self, count: Number) -> Number:
        return count


class Chatty(Node):
    """Says so many lines of so many letters on each tick, up to a number of ticks."""

    lines: int = widget(default=5)
    letters: int = widget(default=2000)
    ticks: int = widget(default=2_000_000_000)

    def open(self, host: Host) -> None:
        self.host = host

    def tick(self, count: Number) -> None:
        if count < self.ticks:
            for _ in range(self.lines):
                self.host.say("x" * self.letters)


class Adder(Node):
    """Adds its widget to what it gets."""

    add: float = widget(default=0.0)

    def tick(self, value: Number) -> Number:
        return value + self.add


class Slow(Node, background="thread"):
    """Thinks for a while."""

    def tick(self, value: Number) -> Number:
        threading.Event().wait(0.02)
        return value


class Mortal(Node, background="process"):
    """Its process ends on the 30th picture of an episode, or a little later."""

    def reset(self, episode: Episode) -> None:
        self.seen = 0

    def tick(self, value: Number) -> Number:
        self.seen += 1
        if value >= 30 and self.seen > 1:
            os._exit(1)
        return value


class Keep(Node):
    """Takes anything, so that outputs are linked."""

    def tick(self, value: Any) -> None:
        pass
