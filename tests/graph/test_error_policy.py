"""What stop, hold and fallback do: the table in minibrains/graph/error_policy.py, row by row."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from minibrains import ABSENT, BrainError, Episode, Lazy, Node, Number, Register
from minibrains.engine.node_runtime import NodeFailed
from tests.support.engine_fixtures import make_engine, node, open_engine
from tests.support.thinking_nodes import Clock, Seen

FALLBACK = -1
BAD = 1
"""The tick, or the episode, in which a node fails."""


class Ticks(Node, fallback=FALLBACK):
    def tick(self, number: Number) -> Number:
        if number == BAD:
            raise ValueError("tick")
        return number


class InBackground(Ticks, background="thread"):
    pass


class WithoutResult(Node, fallback=FALLBACK):
    def tick(self, number: Number) -> Number:
        return ABSENT if number == BAD else number  # type: ignore[return-value]


class WithPoorBrain(Node, fallback=FALLBACK):
    def tick(self, number: Number) -> Number:
        if number == BAD:
            raise BrainError("it does not fit")
        return number


class Emits(Register, fallback=FALLBACK):
    def reset(self, episode: Episode) -> None:
        self.now: float = 0

    def emit(self) -> Number:
        if self.now == BAD:
            raise ValueError("emit")
        return self.now

    def latch(self, number: Number) -> None:
        self.now = number + 1


class Latches(Emits):
    def emit(self) -> Number:
        return self.now

    def latch(self, number: Number) -> None:
        self.now = number + 1
        if number == BAD:
            raise ValueError("latch")


class Shows(Emits):
    def emit(self) -> Lazy[Number]:  # type: ignore[override]
        return self.look

    def look(self) -> float:
        if self.now == BAD:
            raise ValueError("look")
        return self.now


class Resets(Ticks):
    def reset(self, episode: Episode) -> None:
        if episode.index == BAD:
            raise ValueError("reset")

    def tick(self, number: Number) -> Number:
        return number


class DiesInReset(Resets, background="process"):
    def reset(self, episode: Episode) -> None:
        if episode.index == BAD:
            os.kill(os.getpid(), signal.SIGKILL)


class Reports(Ticks):
    def tick(self, number: Number) -> Number:
        return number

    def report(self) -> Mapping[str, Any]:
        raise ValueError("report")


class DiesInReport(Reports, background="process"):
    def report(self) -> Mapping[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it is not there any more")


class Opens(Ticks):
    def open(self, host: Any) -> None:
        raise ValueError("open")


TYPES = (
    *(Clock, Seen, Ticks, InBackground, WithoutResult, WithPoorBrain, Emits, Latches, Shows),
    *(Resets, DiesInReset, Reports, DiesInReport, Opens),
)
ENDS = "the run ends"
COUNTED = "counted"
GIVEN = "counted, the fallback is given"


@pytest.mark.parametrize(
    ("type_", "stop", "hold", "fallback"),
    [
        (Opens, ENDS, ENDS, ENDS),
        (Ticks, ENDS, COUNTED, GIVEN),
        (InBackground, ENDS, COUNTED, GIVEN),
        (Emits, ENDS, COUNTED, ENDS),
        (Latches, ENDS, COUNTED, ENDS),
        (Shows, ENDS, COUNTED, ENDS),
        (WithoutResult, ENDS, COUNTED, ENDS),
        (WithPoorBrain, ENDS, ENDS, ENDS),
        (Resets, ENDS, ENDS, ENDS),
        (Reports, ENDS, ENDS, ENDS),
        (DiesInReset, ENDS, COUNTED, COUNTED),
        (DiesInReport, ENDS, COUNTED, COUNTED),
    ],
)
def test_what_becomes_of_a_failure(type_: type[Node], stop: str, hold: str, fallback: str) -> None:
    assert _outcome(type_, "stop") == stop
    assert _outcome(type_, "hold") == hold
    assert _outcome(type_, "fallback") == fallback


def _outcome(type_: type[Node], on_error: str) -> str:
    """Play two episodes of three ticks with a node that fails."""
    engine = make_engine(
        {
            "clock": node("Clock"),
            "fails": node(type_.__name__, {"number": "clock.number"}, on_error=on_error),
            "seen": node("Seen", {"value": "fails.number"}),
        },
        TYPES,
    )
    try:
        open_engine(engine)
        engine.reset(0, 0)
        engine.advance(3)
        engine.report()
        engine.reset(1, 0)
        seen = [value for _, value in engine.nodes["seen"].all]
        errors = engine.node_stats()["fails"].errors
    except NodeFailed:
        return ENDS
    finally:
        assert engine.close() == []
    assert errors == 1
    return GIVEN if FALLBACK in seen else COUNTED
