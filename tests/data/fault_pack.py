"""Nodes with faults: one that fails now and then, one that can be killed and may hang."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from minibrains import Host, MinibrainsError, Node, Number, Variables, widget


class Fickle(Node):
    """Raise on every `period`-th frame of the console's own count."""

    period: int = widget(default=97, min=1)

    def tick(self, variables: Variables) -> Number:
        if variables["frame"] % self.period == 0:
            raise MinibrainsError("it is that frame again")
        return variables["frame"]


class Thinker(Node, background="process"):
    """Leave the number of its process in the folder, to be killed; then think a moment.

    Not before the first call: a process that dies while it opens ends the run.
    """

    folder: str = widget(default="", doc="where")
    hangs: Literal["", "open", "tick", "report"] = widget(
        default="", doc="where it leaves another mark, and never comes to an end"
    )

    def open(self, host: Host) -> None:
        self._come_to("open")

    def tick(self, number: Number) -> Number:
        (Path(self.folder) / f"thinker-{os.getpid()}").touch()
        self._come_to("tick")
        return sum(range(20_000)) + number

    def report(self) -> Mapping[str, Any]:
        self._come_to("report")
        return {}

    def _come_to(self, place: str) -> None:
        if self.hangs == place:
            (Path(self.folder) / f"hangs-{os.getpid()}").touch()
            time.sleep(1e6)


class ThinkerOnThread(Thinker, background="thread"):
    """The same on a thread."""


class ThinkerInTick(Thinker, background=None):
    """The same within the tick."""


class Stubborn(Node):
    """Never come to an end, and leave a mark when somebody interrupts that."""

    folder: str = widget(default="", doc="where")

    def tick(self, number: Number) -> Number:
        (Path(self.folder) / f"hangs-{os.getpid()}").touch()
        while True:
            try:
                time.sleep(1e6)
            except KeyboardInterrupt:
                (Path(self.folder) / "interrupted").touch()
