"""What a replay opens and asks, and what it takes from the tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minibrains import Episode, Host, Node, Number, Register
from minibrains.engine.engine import Engine
from minibrains.tape.recording import TapePlayer
from tests.support.engine_fixtures import Written, make_plan, node, open_engine
from tests.support.thinking_nodes import Clock, Seen

asked: list[str] = []
"""What the nodes of a test were asked."""


class Ponders(Node, background="thread"):
    def open(self, host: Host) -> None:
        asked.append(f"{host.node}.open")

    def reset(self, episode: Episode) -> None:
        asked.append(f"{episode.node}.reset")

    def tick(self, number: Number) -> Number:
        asked.append("ponders.tick")
        return number * 2

    def close(self) -> None:
        asked.append("ponders.close")


class Prepares(Node, background="thread"):
    def tick(self) -> Number:
        asked.append("prepares.tick")
        return 7


class Person(Register, external=True):
    held = 0

    def emit(self) -> Number:
        asked.append("person.emit")
        self.held += 1
        return self.held

    def latch(self) -> None:
        asked.append("person.latch")


TYPES = (Clock, Seen, Ponders, Prepares, Person)


@pytest.fixture(autouse=True)
def _nothing_asked() -> Iterator[None]:
    yield
    asked.clear()


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_what_came_from_outside_comes_from_the_tape(busy: str) -> None:
    entries = {
        "clock": node("Clock"),
        "ponders": node("Ponders", {"number": "clock.number"}, busy=busy),
        "prepares": node("Prepares"),
        "person": node("Person"),
        "pondered": node("Seen", {"value": "ponders.number"}),
        "prepared": node("Seen", {"value": "prepares.number"}),
        "played": node("Seen", {"value": "person.number"}),
    }
    written = Written()
    recorded = _play(entries, written)
    assert {"ponders.open", "ponders.reset", "ponders.tick", "ponders.close", "person.emit"} <= set(
        asked
    )
    asked.clear()
    assert _play(entries, TapePlayer(written.events)) == recorded
    assert asked == ["prepares.tick", *["person.latch"] * 6]


def _play(entries: dict[str, Any], tape: Any) -> list[Any]:
    engine = Engine(make_plan(entries, TYPES), tape=tape)
    try:
        open_engine(engine)
        tape.begin(engine)
        engine.reset(0, 0)
        engine.advance(6)
        assert engine.report() == {}
        return [engine.nodes[name].all for name in ("pondered", "prepared", "played")]
    finally:
        assert engine.close() == []
