"""`host.sources`: a node asks which nodes are linked to its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minibrains import Episode, Host, MinibrainsError, Node, Number
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeRuntime
from tests.support.engine_fixtures import Entries, FakeHost, make_engine, make_plan, node


class One(Node, every_tick=True):
    """Delivers 1."""

    def reset(self, episode: Episode) -> None:
        """Make it a node with state, which runs on every tick."""

    def tick(self) -> Number:
        return 1.0


class Asks(Node, reads_sources=True):
    """Counts its ticks, and knows its links."""

    def open(self, host: Host) -> None:
        self.names = host.sources("numbers")
        self.other = host.sources("other")

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def tick(self, numbers: list[Number], other: Number | None = None) -> Number:
        self.count += 1
        return self.count


class Forbidden(Node):
    """Asks without the class option."""

    def open(self, host: Host) -> None:
        host.sources("number")

    def tick(self, number: Number) -> Number:
        return number


class ForbiddenInProcess(Node, background="process", reads_sources=True):
    """Asks in a process of its own."""

    def open(self, host: Host) -> None:
        host.sources("number")

    def tick(self, number: Number) -> Number:
        return number


TYPES = [One, Asks, Forbidden, ForbiddenInProcess]


def _host(runtime: NodeRuntime, engine: Engine) -> FakeHost:
    return FakeHost(runtime, engine, folder=Path())


def _entries(*links: str, mode: str = "run", **inputs: Any) -> Entries:
    return {
        "a": node("One"),
        "b": node("One", mode=mode),
        "asks": node("Asks", {"numbers": list(links), **inputs}),
    }


def test_the_sources_are_in_the_order_of_the_links() -> None:
    engine = make_engine(_entries("b.number", "a.number"), TYPES)
    engine.open(_host)
    assert engine.nodes["asks"].names == ("b", "a")
    assert engine.nodes["asks"].other == ()
    assert engine.close() == []


def test_a_link_from_a_muted_node_does_not_count() -> None:
    engine = make_engine(_entries("b.number", "a.number", mode="mute", other="b.number"), TYPES)
    engine.open(_host)
    assert engine.nodes["asks"].names == ("a",)
    assert engine.nodes["asks"].other == ()
    assert engine.close() == []


def test_a_live_edit_of_the_links_makes_a_new_node_with_the_state() -> None:
    engine = make_engine(_entries("a.number"), TYPES)
    engine.open(_host)
    engine.reset(0, 0)
    engine.advance(3)
    before = engine.nodes["asks"]
    for links in (("a.number",), ("b.number",)):
        edit = engine.prepare(make_plan(_entries(*links), TYPES), {}, _host)
        engine.edits.append(edit)
        engine.apply_edits()
        assert engine.finish_edit(edit) == []
        same_links = links == ("a.number",)
        assert (engine.nodes["asks"] is before) == same_links
    engine.advance(2)
    assert engine.nodes["asks"].names == ("b",)
    assert engine.nodes["asks"].count == 5
    assert engine.close() == []


@pytest.mark.parametrize(
    ("cls", "wrong"),
    [
        (Forbidden, "Forbidden asks for its links; write reads_sources=True in its class line"),
        (ForbiddenInProcess, "only a node in the process of its run knows its links"),
    ],
)
def test_a_node_that_must_not_ask_is_told(cls: type[Node], wrong: str) -> None:
    entries = {"a": node("One"), "asks": node(cls.__name__, {"number": "a.number"})}
    engine = make_engine(entries, TYPES)
    with pytest.raises(MinibrainsError, match=wrong):
        engine.open(_host)
    engine.close()
