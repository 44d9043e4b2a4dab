"""Nodes in processes of their own: where they compute is for the workflow,
and one that dies is there again at once.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains.engine.engine import Engine
from minibrains.engine.live_edit import Edit
from minibrains.engine.node_process import NodeDied
from minibrains.engine.node_runtime import NodeFailed
from minibrains.errors import RunError
from tests.support.background_fixtures import TYPES, nothing_is_left, running, seen, thinks
from tests.support.engine_fixtures import (
    Call,
    Entries,
    FakeHost,
    make_engine,
    make_plan,
    node,
    open_engine,
)
from tests.support.timeouts import TIMEOUT


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """The door of an OpensWhenLet or a WarmsUp: open."""
    door = tmp_path / "door"
    door.touch()
    return door


@pytest.fixture
def calls() -> list[Call]:
    """What the nodes of `engine` say."""
    return []


@contextmanager
def in_real_time(entries: Entries, calls: list[Call]) -> Iterator[Engine]:
    """An engine in real time; afterwards nothing of it may be left."""
    engine = make_engine(entries, TYPES)
    engine.context.realtime = True
    open_engine(engine, calls)
    engine.reset(0, 0)
    yield engine
    assert engine.close() == []
    assert nothing_is_left()


@pytest.fixture
def engine(door: Path, calls: list[Call], request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine in real time whose node went through the door;
    its parameter is the node's `"on_error"`.
    """
    entries = thinks("OpensWhenLet", {"door": str(door)}, busy="continue", on_error=request.param)
    entries["seen"] = node("Seen", {"value": "slow.number"})
    entries["process"] = node("Seen", {"value": "slow.runs"})
    with in_real_time(entries, calls) as engine:
        yield engine


@pytest.fixture
def warm(door: Path, calls: list[Call]) -> Iterator[Engine]:
    """An engine in real time whose node was warmed up with 1."""
    with in_real_time(warms_up(door, 1), calls) as engine:
        yield engine


def until(engine: Engine, holds: Callable[[], bool]) -> None:
    """Play on until something holds."""
    end = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        engine.advance(1)
        time.sleep(0.005)


def answers(engine: Engine) -> list[Any]:
    """What the node answered, without its fallback."""
    return [number for _, number in seen(engine) if number >= 0]


def kill_process() -> None:
    (process,) = multiprocessing.active_children()
    process.kill()
    process.join()


def restarts(engine: Engine) -> int:
    return engine.node_stats()["slow"].restarts


def sentences(calls: list[Call]) -> list[str]:
    return [call.arguments[0] for call in calls if call.what == "say"]


def refusal(ask: Callable[[], Any]) -> NodeDied:
    """Return the error of a question that no process answers."""
    with pytest.raises(NodeDied) as caught:
        ask()
    return caught.value


def start_without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibrains.engine.node_process._FIRST_DELAY", 0.01)
    monkeypatch.setattr("minibrains.engine.node_process._LONGEST_DELAY", 0.02)


def warms_up(door: Path, fixed: int) -> dict[str, dict[str, Any]]:
    """Return a graph with a node that is warmed up with a number."""
    entries = thinks("WarmsUp", {"door": str(door)}, busy="continue", on_error="fallback")
    entries["fixed"] = node("Fixed", set={"value": fixed})
    entries["slow"]["in"] = {"number": "clock.number", "fixed": "fixed.number"}
    return entries


def prepare(engine: Engine, entries: Entries, calls: list[Call]) -> Edit:
    plan = make_plan(entries, TYPES)
    return engine.prepare(plan, None, lambda runtime, engine: FakeHost(runtime, engine, calls))


def apply(engine: Engine, edit: Edit) -> None:
    engine.edits.append(edit)
    engine.advance(1)
    assert engine.finish_edit(edit) == []


# -- where a node computes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "processes"), [({}, 0), ({"background": "thread"}, 0), ({"background": "process"}, 1)]
)
def test_the_workflow_says_where_a_node_computes_that_may_do_so_anywhere(
    keys: dict[str, Any], processes: int
) -> None:
    with running(thinks("Anywhere", **keys)) as engine:
        engine.advance(5)
        assert seen(engine) == [(tick, tick) for tick in range(5)]
        assert len(multiprocessing.active_children()) == processes
        assert engine.health() == {"slow": "ready"}


def test_a_running_node_is_moved_into_a_process_and_back_with_its_state() -> None:
    with running(thinks("Anywhere")) as engine:
        for place, processes in (("process", 1), ("thread", 0)):
            engine.advance(2)
            apply(engine, prepare(engine, thinks("Anywhere", background=place), []))
            assert len(multiprocessing.active_children()) == processes
        assert engine.report() == {"runs": 6}


# -- a process that dies ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["hold"], indirect=True)
def test_a_process_that_dies_while_it_is_asked_nothing_is_replaced_before_anybody_asks(
    engine: Engine,
) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    kill_process()
    while not restarts(engine):
        time.sleep(0.01)
    assert engine.health() == {"slow": "ready"}
    until(engine, lambda: engine.node_stats()["slow"].errors > 0)
    before = len(answers(engine))
    until(engine, lambda: len(answers(engine)) > before)
    times = engine.node_stats()["slow"]
    assert (times.errors, times.reason) == (1, "its process ended by SIGKILL"), (
        "it is not replaced in silence"
    )


@pytest.mark.parametrize(
    ("engine", "meanwhile"), [("hold", []), ("fallback", [-1])], indirect=["engine"]
)
def test_in_real_time_the_game_goes_on_until_the_next_process_is_there(
    engine: Engine, meanwhile: list[int], door: Path, calls: list[Call]
) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    door.unlink()
    kill_process()
    until(engine, lambda: engine.health() == {"slow": "restarting"})
    engine.advance(2)
    before = len(seen(engine))
    engine.advance(100)
    assert sorted({number for _, number in seen(engine)[before:]}) == meanwhile
    assert engine.report() == {}, "nobody waits for it"
    door.touch()
    until(engine, lambda: engine.health() == {"slow": "ready"})
    asked = engine.tick - 1  # perhaps on the tick before
    until(engine, lambda: seen(engine)[-1][1] >= 0 and seen(engine)[-1][0] > asked)
    assert seen(engine)[-1][1] >= asked, "what is answered was asked when it was there again"
    assert len({process for _, process in engine.nodes["process"].all if process}) == 2
    assert restarts(engine) == 1
    (sentence,) = sentences(calls)
    assert sentence.startswith("its process had ended; another was ready after ")


def test_in_real_time_a_process_past_its_time_limit_is_replaced_beside_the_game() -> None:
    entries = thinks(
        "Anywhere",
        {"sleeps": 0},  # the first number: in real time, a busy node misses others
        background="process",
        busy="continue",
        on_error="hold",
        timeout=3.0,
    )
    with running(entries) as engine:
        engine.context.realtime = True
        until(engine, lambda: engine.node_stats()["slow"].errors > 0)
        assert engine.node_stats()["slow"].reason == "it took longer than its time limit of 3 s"
        before = len(seen(engine))
        until(engine, lambda: len(seen(engine)) > before)
        assert restarts(engine) == 1


@pytest.mark.parametrize("engine", ["stop"], indirect=True)
def test_where_errors_stop_the_run_a_process_that_died_does(engine: Engine) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    kill_process()
    with pytest.raises(
        NodeFailed, match=r"slow \(OpensWhenLet\) failed on tick \d+: its process ended by SIGKILL"
    ):
        until(engine, lambda: False)


@pytest.mark.parametrize("engine", ["fallback"], indirect=True)
def test_a_node_that_never_opens_again_is_given_up_and_its_errors_are_counted(
    engine: Engine, door: Path, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    start_without_delay(monkeypatch)
    until(engine, lambda: len(answers(engine)) > 2)
    door.write_text("locked")
    kill_process()
    until(engine, lambda: engine.health() == {"slow": "lost"})
    errors = engine.node_stats()["slow"].errors
    engine.advance(20)
    assert engine.node_stats()["slow"].errors == errors + 20
    assert seen(engine)[-1][1] == -1
    engine.reset(1, 0)
    engine.advance(5)
    assert seen(engine)[-1][1] == -1
    assert restarts(engine) == 0
    (sentence,) = sentences(calls)
    assert (
        sentence
        == "its process ended, and 5 others could not open the node: ValueError: the door is locked"
    )
    process = engine.nodes["slow"]
    for ask in (process.check_health, process.report):
        first, second = refusal(ask), refusal(ask)
        assert str(first) == str(second) == sentence
        assert first is not second, "an error holds what was asked for as long as it lives"


@pytest.mark.parametrize("engine", ["hold"], indirect=True)
def test_a_run_that_ends_does_not_wait_for_a_process_that_is_being_started(
    engine: Engine, door: Path
) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    door.unlink()
    kill_process()
    until(
        engine,
        lambda: (
            engine.health() == {"slow": "restarting"} and bool(multiprocessing.active_children())
        ),
    )
    assert engine.close() == []
    assert nothing_is_left()


def test_in_the_fast_clock_a_process_that_is_being_started_is_waited_for() -> None:
    entries = thinks("SlowToOpen", {"dies": 3}, busy="continue", on_error="hold")
    with running(entries) as engine:
        engine.advance(8)
        assert seen(engine) == [(number + 1, number) for number in (0, 1, 2, 4, 5, 6)]
        assert restarts(engine) == 1


# -- a process that is warmed up -------------------------------------------------------------------


def test_a_node_in_a_process_is_warmed_up_before_the_first_tick_and_in_the_next_process(
    warm: Engine, calls: list[Call]
) -> None:
    assert sentences(calls) == ["warmed up with 1"]
    until(warm, lambda: len(answers(warm)) > 2)
    kill_process()
    until(warm, lambda: restarts(warm) == 1)
    assert sentences(calls)[:2] == ["warmed up with 1"] * 2


def test_what_caches_saved_a_node_in_a_process_is_counted_as_its_own(warm: Engine) -> None:
    assert warm.node_stats()["slow"].savings == {"its model": 1.5, "its merge": 2.5}


def test_an_edit_warms_it_up_after_its_thought_and_the_game_goes_on_meanwhile(
    warm: Engine, door: Path, calls: list[Call]
) -> None:
    door.unlink()
    until(warm, lambda: "it waits at the door" in sentences(calls))
    with ThreadPoolExecutor(1) as pool:
        preparing = pool.submit(prepare, warm, warms_up(door, 5), calls)
        warm.advance(100)
        assert not preparing.done()
        door.touch()
        edit = preparing.result(TIMEOUT)
    assert sentences(calls) == ["warmed up with 1", "it waits at the door", "warmed up with 5"]
    apply(warm, edit)


def test_an_edit_that_changes_nothing_for_it_does_not_wait_for_its_thought(
    warm: Engine, door: Path, calls: list[Call]
) -> None:
    door.unlink()
    until(warm, lambda: "it waits at the door" in sentences(calls))
    entries = warms_up(door, 1)
    entries["other"] = node("Seen", {"value": "clock.number"})
    apply(warm, prepare(warm, entries, calls))
    assert warm.thinking() == {"slow"}
    assert sentences(calls) == ["warmed up with 1", "it waits at the door"]
    door.touch()


def test_what_it_cannot_be_warmed_up_with_refuses_the_edit_and_not_the_next_process(
    warm: Engine, door: Path, calls: list[Call]
) -> None:
    with pytest.raises(
        NodeFailed, match=r"slow \(WarmsUp\) failed before the first tick: ValueError: thirteen"
    ):
        prepare(warm, warms_up(door, 13), calls)
    kill_process()
    until(warm, lambda: restarts(warm) == 1)
    assert sentences(calls)[:2] == ["warmed up with 1"] * 2


def test_a_process_that_dies_while_it_is_warmed_up_refuses_the_edit_and_is_an_error_of_the_node(
    warm: Engine, door: Path, calls: list[Call]
) -> None:
    with pytest.raises(NodeFailed, match="its process ended by SIGKILL"):
        prepare(warm, warms_up(door, 9), calls)
    until(warm, lambda: restarts(warm) == 1)
    until(warm, lambda: warm.node_stats()["slow"].errors > 0)
    assert warm.node_stats()["slow"].reason == "its process ended by SIGKILL"


def test_a_node_that_is_lost_holds_up_no_edit(
    warm: Engine, door: Path, calls: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    start_without_delay(monkeypatch)
    door.write_text("locked")
    kill_process()
    until(warm, lambda: warm.health() == {"slow": "lost"})
    apply(warm, prepare(warm, warms_up(door, 5), calls))
    warm.advance(5)
    assert seen(warm)[-1][1] == -1


def test_a_run_that_ends_does_not_leave_an_edit_waiting(door: Path, calls: list[Call]) -> None:
    with in_real_time(warms_up(door, 1), calls) as engine:
        background = engine.runtimes["slow"].background
        assert background is not None
    with pytest.raises(RunError, match="it is closed"):
        background.warm_up({"fixed": 5})
