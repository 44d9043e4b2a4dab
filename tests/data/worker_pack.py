"""Nodes that do to their worker what the tests want to see survived."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, Literal

from minibrains import Episode, Host, Node, Number, widget

TIMEOUT = 300.0
"""That of the tests, from which a pack cannot import."""
_SIGNALS = {"kill": signal.SIGKILL, "crash": signal.SIGSEGV}


class Dies(Node, every_tick=True):
    """Ends its process on tick 100 of one episode, `times` times in all."""

    episode: int = widget(default=0, doc="in which episode")
    times: int = widget(default=1, doc="how often")
    way: Literal["kill", "exit", "crash"] = widget(
        default="kill", doc="how; crash: as when the core is at fault"
    )
    marks: str = widget(default="", doc="folder in which each time leaves a file")

    def reset(self, episode: Episode) -> None:
        self.index, self.count = episode.index, 0

    def tick(self, reward: Number) -> None:
        self.count += 1
        if self.index != self.episode or self.count != 101:
            return
        for number in range(self.times):
            mark = Path(self.marks) / f"died{number}"
            if not mark.exists():
                mark.touch()
                os._exit(3) if self.way == "exit" else os.kill(os.getpid(), _SIGNALS[self.way])


class Raises(Node, every_tick=True):
    """Raises on tick 50 of one episode."""

    episode: int = widget(default=0, doc="in which episode")

    def reset(self, episode: Episode) -> None:
        self.index, self.count = episode.index, 0

    def tick(self, reward: Number) -> None:
        self.count += 1
        if self.index == self.episode and self.count == 51:
            raise ValueError("REAL REASON")


class Hangs(Node):
    """Never comes back from its first tick."""

    marks: str = widget(default="", doc="folder in which it leaves a file")

    def tick(self, reward: Number) -> None:
        (Path(self.marks) / "hangs").touch()
        threading.Event().wait()


class Maps(Node, every_tick=True):
    """Maps a function over items on the first tick, and records what came of it."""

    what: str = widget(default="squares", doc="which of the things below")
    marks: str = widget(default="", doc="folder for files")

    def open(self, host: Host) -> None:
        self.host = host

    def tick(self) -> None:
        host = self.host
        if self.what == "squares":
            host.record(
                squares=json.dumps(host.map(square, range(20))),
                empty=json.dumps(host.map(square, [])),
            )
        elif self.what == "meet":
            host.record(meet=json.dumps(host.map(meet, [self.marks] * 2)))
        elif self.what == "lambda":
            host.map(lambda item: item, [1])
        elif self.what == "item":
            host.map(square, [lambda: None])  # type: ignore[arg-type]
        elif self.what == "result":
            host.map(give_lambda, [1])
        elif self.what == "raise":
            host.map(refuse_three, range(6))
        elif self.what == "die":
            host.record(
                die=json.dumps(
                    host.map(
                        die_elsewhere, [(number, os.getpid(), self.marks) for number in range(2)]
                    )
                )
            )


def square(number: int) -> int:
    return number**2


def meet(folder: str) -> int:
    """Come back once a second process has come here as well."""
    (Path(folder) / f"pid{os.getpid()}").touch()
    deadline = time.monotonic() + TIMEOUT
    while len(list(Path(folder).glob("pid*"))) < 2:
        assert time.monotonic() < deadline, "nobody came"
        time.sleep(0.01)
    return os.getpid()


def give_lambda(item: int) -> Any:
    return lambda: item


def refuse_three(number: int) -> int:
    if number == 3:
        raise ValueError("item 3")
    return number


def die_elsewhere(item: tuple[int, int, str]) -> int:
    """The first process other than that of the node dies here; the node's own waits for that."""
    number, node, folder = item
    mark = Path(folder) / "died"
    if os.getpid() != node and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    deadline = time.monotonic() + TIMEOUT
    while not mark.exists():
        assert time.monotonic() < deadline, "nobody died"
        time.sleep(0.01)
    return number
