"""Nodes that fail in words no file and no terminal can take as they are."""

from typing import Literal

from minibrains import Episode, Host, Node, Number, widget


class Panic(BaseException):
    """As what comes out of a library in Rust: no Exception."""


class Fails(Node):
    """Raise an error with half a surrogate pair and an escape sequence in its text."""

    place: Literal["open", "reset", "tick", "close"] = widget(default="tick", doc="where")
    panics: bool = widget(default=False, doc="raise what is not an Exception")

    def open(self, host: Host) -> None:
        self._raise_in("open")

    def reset(self, episode: Episode) -> None:
        self._raise_in("reset")

    def tick(self) -> Number:
        self._raise_in("tick")
        return 1

    def close(self) -> None:
        self._raise_in("close")

    def _raise_in(self, place: str) -> None:
        if self.place == place:
            raise (Panic if self.panics else ValueError)("half \ud800 a pair, \x1b[31mred")
