"""Nodes in processes of their own: where they compute is for the workflow, and one that dies is there again at once."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_fixtures import Call, FakeHost, make_engine, make_plan, node, open_engine
from test_background import TYPES, nothing_is_left, running, seen, thinks

from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """The door of an OpensWhenLet: open."""
    door = tmp_path / "door"
    door.touch()
    return door


@pytest.fixture
def said() -> list[Call]:
    """What the nodes of `engine` say."""
    return []


@pytest.fixture
def engine(door: Path, said: list[Call], request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine in real time whose node went through the door; its parameter is the node's `"on_error"`."""
    entries = thinks("OpensWhenLet", {"door": str(door)}, busy="continue", on_error=request.param)
    entries["seen"] = node("Seen", {"value": "slow.number"})
    entries["process"] = node("Seen", {"value": "slow.runs"})
    engine = make_engine(entries, TYPES)
    engine.world.realtime = True
    open_engine(engine, said)
    engine.reset(0, 0)
    yield engine
    assert engine.close() == []
    assert nothing_is_left()


def until(engine: Engine, holds: Callable[[], bool]) -> None:
    """Play on until something holds."""
    end = time.monotonic() + 60
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
    return engine.node_times()["slow"].restarts


# -- where a node computes --------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "processes"), [({}, 0), ({"background": "thread"}, 0), ({"background": "process"}, 1)])
def test_the_workflow_says_where_a_node_computes_that_may_do_so_anywhere(keys: dict[str, Any], processes: int) -> None:
    with running(thinks("Anywhere", **keys)) as engine:
        engine.advance(5)
        assert seen(engine) == [(tick, tick) for tick in range(5)]
        assert len(multiprocessing.active_children()) == processes
        assert engine.health() == {"slow": "ready"}


def test_a_running_node_is_moved_into_a_process_and_back_with_its_state() -> None:
    with running(thinks("Anywhere")) as engine:
        for place, processes in (("process", 1), ("thread", 0)):
            engine.advance(2)
            plan = make_plan(thinks("Anywhere", background=place), TYPES)
            edit = engine.prepare(plan, None, lambda runtime, engine: FakeHost(runtime, engine))
            engine.edits.append(edit)
            engine.advance(1)
            assert engine.finish_edit(edit) == []
            assert len(multiprocessing.active_children()) == processes
        assert engine.report() == {"runs": 6}


# -- a process that dies ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["hold"], indirect=True)
def test_a_process_that_dies_while_it_is_asked_nothing_is_replaced_before_anybody_asks(engine: Engine) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    kill_process()
    while not restarts(engine):
        time.sleep(0.01)
    assert engine.health() == {"slow": "ready"}
    until(engine, lambda: engine.node_times()["slow"].errors > 0)
    before = len(answers(engine))
    until(engine, lambda: len(answers(engine)) > before)
    times = engine.node_times()["slow"]
    assert (times.errors, times.reason) == (1, "its process ended by SIGKILL"), "it is not replaced in silence"


@pytest.mark.parametrize(("engine", "meanwhile"), [("hold", []), ("fallback", [-1])], indirect=["engine"])
def test_in_real_time_the_game_goes_on_until_the_next_process_is_there(
    engine: Engine, meanwhile: list[int], door: Path, said: list[Call]
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
    asked = engine.tick
    until(engine, lambda: seen(engine)[-1][1] >= 0 and seen(engine)[-1][0] > asked)
    assert seen(engine)[-1][1] >= asked, "what is answered was asked when it was there again"
    assert len({process for _, process in engine.nodes["process"].all if process}) == 2
    assert restarts(engine) == 1
    (sentence,) = [call.arguments[0] for call in said if call.what == "say"]
    assert sentence.startswith("its process had ended; another was ready after ")


def test_in_real_time_a_process_past_its_time_limit_is_replaced_beside_the_game() -> None:
    entries = thinks("Anywhere", {"sleeps": 3}, background="process", busy="continue", on_error="hold", timeout=1.0)
    with running(entries) as engine:
        engine.world.realtime = True
        until(engine, lambda: engine.node_times()["slow"].errors > 0)
        assert engine.node_times()["slow"].reason == "it took longer than its time limit of 1 s"
        before = len(seen(engine))
        until(engine, lambda: len(seen(engine)) > before)
        assert restarts(engine) == 1


@pytest.mark.parametrize("engine", ["stop"], indirect=True)
def test_where_errors_stop_the_run_a_process_that_died_does(engine: Engine) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    kill_process()
    with pytest.raises(NodeFailed, match=r"slow \(OpensWhenLet\) failed on tick \d+: its process ended by SIGKILL"):
        until(engine, lambda: False)


@pytest.mark.parametrize("engine", ["fallback"], indirect=True)
def test_a_node_that_never_opens_again_is_given_up_and_its_errors_are_counted(
    engine: Engine, door: Path, said: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.engine.node_process._FIRST_DELAY", 0.01)
    monkeypatch.setattr("minibrains.engine.node_process._LONGEST_DELAY", 0.02)
    until(engine, lambda: len(answers(engine)) > 2)
    door.write_text("locked")
    kill_process()
    until(engine, lambda: engine.health() == {"slow": "lost"})
    errors = engine.node_times()["slow"].errors
    engine.advance(20)
    assert engine.node_times()["slow"].errors == errors + 20
    assert seen(engine)[-1][1] == -1
    engine.reset(1, 0)
    engine.advance(5)
    assert seen(engine)[-1][1] == -1
    assert restarts(engine) == 0
    (sentence,) = [call.arguments[0] for call in said if call.what == "say"]
    assert sentence == "its process ended, and 5 others could not open the node: ValueError: the door is locked"


@pytest.mark.parametrize("engine", ["hold"], indirect=True)
def test_a_run_that_ends_does_not_wait_for_a_process_that_is_being_started(engine: Engine, door: Path) -> None:
    until(engine, lambda: len(answers(engine)) > 2)
    door.unlink()
    kill_process()
    until(engine, lambda: engine.health() == {"slow": "restarting"} and bool(multiprocessing.active_children()))
    assert engine.close() == []
    assert nothing_is_left()


def test_in_the_fast_clock_a_process_that_is_being_started_is_waited_for() -> None:
    entries = thinks("SlowToOpen", {"dies": 3}, busy="continue", on_error="hold")
    with running(entries) as engine:
        engine.advance(8)
        assert seen(engine) == [(number + 1, number) for number in (0, 1, 2, 4, 5, 6)]
        assert restarts(engine) == 1
