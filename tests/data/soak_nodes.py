"""Nodes of the soak tests."""

from __future__ import annotations

from pathlib import Path

from minibrains import Host, Node, Number, widget
from minibrains.files import LineFile


class Thinks(Node, background="thread"):
    """Half of what it gets, worked out beside the clock."""

    def tick(self, number: Number) -> Number:
        return number / 2


class Witness(Node):
    """Append what it gets to a file at once: that outlives the process,
    and shows how far the run had come.
    """

    file: str = widget(default="", doc="where")

    def open(self, host: Host) -> None:
        self.lines = LineFile(Path(self.file))

    def tick(self, number: Number) -> None:
        self.lines.append(f"{number}")

    def close(self) -> None:
        self.lines.close()
