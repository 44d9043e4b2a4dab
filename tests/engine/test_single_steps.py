"""A tick that waits after each of its steps is the same tick."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minibrains import MinibrainsError
from minibrains.engine.single_steps import StepDone
from minibrains.errors import RunError
from tests.engine.test_oracle import FAMILY, workflows
from tests.support.engine_fixtures import (
    Call,
    Entries,
    make_engine,
    make_plan,
    node,
    open_engine,
)

TABLES = (
    "calls",
    "idle_calls",
    "errors",
    "reasons",
    "due_next_tick",
    "due_flags",
    "one_tick_slots",
)


@given(workflows(), st.integers(1, 2), st.integers(1, 40))
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_nodes_are_called_and_counted_as_in_a_whole_tick(
    entries: Entries, episodes: int, ticks: int
) -> None:
    try:
        make_plan(entries, FAMILY)
    except MinibrainsError:
        assume(False)
    engines = [make_engine(entries, FAMILY) for _ in range(2)]
    calls = [open_engine(engine) for engine in engines]
    steps: list[StepDone] = []
    engines[1].after_step = steps.append
    for index in range(episodes):
        for engine in engines:
            with suppress(RunError):  # a node that fails ends the episode
                engine.reset(index, seed=5)
                while engine.tick < ticks and not engine.advance(1):
                    pass
                engine.state()  # waits for those that think
        assert _by_node(calls[1]) == _by_node(calls[0])
        for name in ("tick", "total_ticks", "episode"):
            assert getattr(engines[1], name) == getattr(engines[0], name)
        for name in TABLES:
            found, wanted = (getattr(engine.execution, name) for engine in engines[::-1])
            assert found == wanted, name
    for engine in engines:
        engine.close()


def _by_node(calls: list[Call]) -> dict[str, list[Call]]:
    """Sort calls by node: those that think on threads of their own come in any order."""
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.node, []).append(call)
    return found


def test_each_step_tells_what_it_was_given_and_what_it_delivered() -> None:
    entries = {
        "game": node("Console", set={"length": 9}),
        "seldom": node("Add", {"a": "game.number"}, every=2),
        "sink": node("Sink", {"numbers": ["game.number", "seldom.number"], "events": []}),
    }
    engine = make_engine(entries, FAMILY)
    open_engine(engine)
    engine.reset(0, seed=5)
    ticks: list[list[StepDone]] = []
    for _ in range(2):
        ticks.append([])
        engine.after_step = ticks[-1].append
        engine.advance(100)
    assert engine.tick == 2, "one tick at a time"
    names = [[(done.node, done.role) for done in tick] for tick in ticks]
    assert names[0] == [
        ("game", "emit"),
        ("seldom", "tick"),
        ("sink", "tick"),
        ("game", "latch"),
    ]
    assert ("seldom", "tick") not in names[1]
    game, seldom, sink, _ = ticks[0]
    number = game.outputs["number"]
    assert seldom.inputs == {"a": number}
    assert sink.inputs == {"numbers": [number, seldom.outputs["number"]]}
    assert sink.outputs == {}
    engine.close()
