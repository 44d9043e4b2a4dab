"""Warming up: a node is told of inputs that do not change,
before the first tick and beside the game at a live edit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from minibrains import ABSENT, Absent, Number, On, widget
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed
from minibrains.node import Node
from tests.support.engine_fixtures import (
    Call,
    Entries,
    FakeHost,
    Noted,
    make_plan,
    node,
    open_engine,
)
from tests.support.thinking_nodes import Clock
from tests.support.timeouts import TIMEOUT

BUSY, GO_ON = threading.Event(), threading.Event()


class Fixed(Noted, Node):
    value: int = widget(default=1)

    def tick(self) -> Number | Absent:
        return self.value or ABSENT


class Warm(Noted, Node, background="thread"):
    """Answers with what it was warmed up with; on tick 2 it waits until it is let go on."""

    def open(self, host: Any) -> None:
        self.host = host

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        if constants.get("fixed") == 13:
            raise ValueError("thirteen")
        self.note("warm_up", dict(constants))

    def tick(
        self,
        moving: Number,
        fixed: Number,
        all: list[Number],
        mixed: list[Number],
        heard: On[Number] = None,
    ) -> Number:
        if moving == 2:
            BUSY.set()
            assert GO_ON.wait(TIMEOUT)
        return moving


TYPES = [Clock, Fixed, Warm]


def graph(value: int = 1, other: int = 2) -> Entries:
    return {
        "clock": node("Clock"),
        "first": node("Fixed", set={"value": value}),
        "second": node("Fixed", set={"value": other}),
        "warm": node(
            "Warm",
            {
                "moving": "clock.number",
                "fixed": "first.number",
                "all": ["first.number", "second.number"],
                "mixed": ["second.number", "clock.number"],
                "heard": "first.number",
            },
            busy="continue",
        ),
    }


def _told(calls: list[Call]) -> list[Any]:
    return [call.arguments[0] for call in calls if call.what == "warm_up"]


def test_a_node_is_told_of_what_does_not_change_before_the_first_tick() -> None:
    engine = Engine(make_plan(graph(), TYPES))
    calls = open_engine(engine)
    assert engine.close() == []
    assert _told(calls) == [{"fixed": 1, "all": [1, 2]}]


def test_an_input_with_a_source_that_never_delivers_is_none_of_them() -> None:
    engine = Engine(make_plan(graph(other=0), TYPES))
    calls = open_engine(engine)
    assert engine.close() == []
    assert _told(calls) == [{"fixed": 1}]


def test_an_edit_tells_it_beside_the_game_while_it_is_thinking() -> None:
    BUSY.clear()
    GO_ON.clear()
    engine = Engine(make_plan(graph(), TYPES))
    calls = open_engine(engine)
    engine.reset(0, 0)
    engine.advance(3)
    assert BUSY.wait(TIMEOUT)
    edit = engine.prepare(
        make_plan(graph(value=5), TYPES),
        None,
        lambda runtime, engine: FakeHost(runtime, engine, calls),
    )
    assert _told(calls)[1:] == [{"fixed": 5, "all": [5, 2]}]
    assert engine.runtimes["warm"].is_thinking
    GO_ON.set()
    engine.edits.append(edit)
    engine.advance(1)
    assert engine.finish_edit(edit) == []
    assert engine.close() == []


def test_what_it_cannot_do_is_said_before_the_game_and_refuses_an_edit() -> None:
    engine = Engine(make_plan(graph(value=13), TYPES))
    with pytest.raises(
        NodeFailed, match=r"warm \(Warm\) failed before the first tick: ValueError: thirteen"
    ):
        open_engine(engine)
    assert engine.close() == []
    engine = Engine(make_plan(graph(), TYPES))
    calls = open_engine(engine)
    engine.reset(0, 0)
    with pytest.raises(NodeFailed, match="thirteen"):
        engine.prepare(
            make_plan(graph(value=13), TYPES),
            None,
            lambda runtime, engine: FakeHost(runtime, engine, calls),
        )
    engine.advance(2)
    assert engine.node_stats()["warm"].runs == 2
    assert engine.close() == []
