"""Nodes that think beside the clock: hold and continue, threads and processes,
and all that can go wrong with them.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains.engine.background import BackgroundNode
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed
from minibrains.engine.timing import OctaveHistogram, buckets, upper_quantile
from minibrains.errors import MinibrainsError, NodeClassError, RunError, WorkflowError
from minibrains.testing import check_node
from tests.support.background_fixtures import TYPES, begin, nothing_is_left, running, seen, thinks
from tests.support.engine_fixtures import Call, make_engine, node, open_engine
from tests.support.thinking_nodes import Clock, Shadows, gates
from tests.support.timeouts import TIMEOUT

KINDS = ("InThread", "InProcess")
every_kind = pytest.mark.parametrize("kind", KINDS)
DELAY = {"wait": 0, "continue": 1}
"""How many ticks after its input a result is there, by the node's `busy`."""


def seen_values(engine: Engine, name: str = "seen") -> list[Any]:
    return [value for _, value in engine.nodes[name].all]


def seen_ticks(engine: Engine, name: str) -> list[int]:
    return [tick for tick, _ in engine.nodes[name].all]


def all_but_3(ticks: int, delay: int) -> list[tuple[int, int]]:
    """What is seen in `ticks` ticks of a node that fails at number 3: each other number,
    `delay` ticks after it was given.
    """
    found = [(number + delay, number) for number in range(ticks - delay)]
    found.remove((3 + delay, 3))
    return found


@pytest.fixture
def gate() -> Iterator[str]:
    """A gate at which a node stands until the test ends or lets it through."""
    gates["here"] = threading.Event()
    yield "here"
    gates.pop("here").set()


# -- time ------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("latency", [None, 1, 3, 10])
def test_a_result_is_there_just_as_many_ticks_later_however_long_it_takes(
    kind: str, latency: int | None
) -> None:
    entries = thinks(kind, {"most": 6.0}, busy="continue")
    if latency:
        entries["slow"]["latency"] = latency
    steps = latency or 1
    begun = range(0, 60, steps)
    with running(entries) as engine:
        engine.advance(60)
        arrived = range(steps, 60, steps)
        assert seen(engine) == list(zip(arrived, begun, strict=False)), (
            "what is begun last arrives after the end"
        )
        times = engine.node_stats()["slow"]
        assert (times.runs, times.late) == (len(begun), 0)
        assert times.thinking > 0


@every_kind
def test_under_hold_the_result_is_there_on_the_same_tick(kind: str) -> None:
    with running(thinks(kind, {"most": 6.0})) as engine:
        engine.advance(40)
        ticks = range(40)
        assert seen(engine) == list(zip(ticks, ticks, strict=True))
        assert engine.blocked_seconds > 0
        assert engine.node_stats()["slow"].runs == 40


@given(st.lists(st.floats(0, 1e5), min_size=1))
def test_the_histogram_of_thoughts_counts_each_in_its_half_octave(seconds: list[float]) -> None:
    times = OctaveHistogram()
    for each in seconds:
        times.add(each)
    milliseconds = np.array(seconds) * 1e3
    bars = buckets(times.counts())
    below = 0
    for end, count in bars[:-1]:  # the last holds all that took longer than an hour as well
        below += count
        certain = np.count_nonzero(milliseconds < end * 0.998)
        possible = np.count_nonzero(milliseconds < end * 1.002)
        assert certain <= below <= possible
    _, last_count = bars[-1]
    assert below + last_count == len(seconds)
    assert buckets(()) == buckets(OctaveHistogram().counts()) == []


@given(st.lists(st.floats(1e-6, 1e3), min_size=1))
def test_95_of_100_thoughts_are_done_within_the_bound_and_fewer_a_bucket_below(
    seconds: list[float],
) -> None:
    times = OctaveHistogram()
    for each in seconds:
        times.add(each)
    bound = upper_quantile(times.counts(), 0.95)
    assert bound is not None
    milliseconds = np.array(seconds) * 1e3
    assert np.mean(milliseconds < bound * 1.002) >= 0.95
    assert np.mean(milliseconds < bound / np.sqrt(2) * 0.998) < 0.95
    assert upper_quantile((), 0.95) is None


def test_a_node_counts_all_its_thoughts() -> None:
    with running(thinks("InThread", {"fails": 3}, on_error="hold")) as engine:
        engine.advance(20)
        assert sum(engine.node_stats()["slow"].think_times) == 20
        assert engine.node_stats()["clock"].think_times == ()


def test_a_node_that_is_due_while_it_is_busy_begins_when_its_result_arrives() -> None:
    entries = thinks("InThread", busy="continue", latency=4) | {
        "slow": node("InThread", {"number": "rare.number"}, busy="continue", latency=4),
        "rare": node("Sum", {"a": "clock.number"}, every=3),
    }
    with running(entries) as engine:
        engine.advance(24)
        # begun on 0, due on 3, begun on 4 with what was delivered on 3, due on 6, begun on
        # 8, …
        assert seen(engine) == [(4, 0), (8, 3), (12, 6), (16, 12), (20, 15)]


def test_a_busy_node_with_a_clock_begins_when_that_opens_next() -> None:
    with running(thinks("InThread", busy="continue", latency=4, every=3)) as engine:
        engine.advance(24)
        assert seen(engine) == [(4, 0), (10, 6), (16, 12), (22, 18)]


def test_in_real_time_a_late_result_is_given_out_when_it_is_there(gate: str) -> None:
    entries = thinks("InThread", {"sleeps": 2, "gate": gate}, busy="continue")
    with running(entries) as engine:
        engine.context.realtime = True
        slow = engine.runtimes["slow"].non_blocking
        assert slow is not None
        for _ in range(2):
            engine.advance(1)
            assert slow.call is not None
            assert slow.call.finished.wait(TIMEOUT)
        engine.advance(1)
        engine.advance(20)  # nothing waits: the node stands at its gate
        assert seen(engine) == [(1, 0), (2, 1)]
        assert engine.node_stats()["slow"].late == 0
        gates[gate].set()
        assert slow.call is not None
        assert slow.call.finished.wait(TIMEOUT)
        engine.advance(1)
        assert seen(engine)[2:] == [(23, 2)]
        assert engine.node_stats()["slow"].late == 1


@every_kind
def test_an_episode_begins_with_nothing_from_the_one_before(kind: str) -> None:
    with running(thinks(kind, busy="continue", latency=5)) as engine:
        engine.advance(13)
        del seen(engine)[:]
        engine.reset(1, 0)
        engine.advance(6)
        assert seen(engine) == [(5, 0)]
        engine.state()
        assert engine.report() == {}, "a node that is thinking is not asked"


@every_kind
def test_a_saved_state_has_what_was_thought(kind: str) -> None:
    with running(thinks(kind, {"most": 20.0}, busy="continue", latency=4)) as engine:
        engine.advance(6)  # in the middle of the second thought
        state = engine.state()
        engine.advance(10)
        expected = seen(engine)[1:]
        del seen(engine)[:]
        engine.load_state(state)
        engine.advance(10)
        assert seen(engine) == expected


# -- what goes wrong -------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_a_node_that_raises_stops_the_run_by_name(kind: str, busy: str) -> None:
    with running(thinks(kind, {"fails": 3}, busy=busy)) as engine:
        with pytest.raises(
            NodeFailed,
            match=r"slow \(\w+\) failed on tick \d: ValueError: it cannot think of anything",
        ) as caught:
            engine.advance(10)
        assert caught.value.node == "slow"
        assert engine.tick == 3 + DELAY[busy]


@every_kind
@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_on_hold_an_error_is_counted_and_the_last_output_stands(kind: str, busy: str) -> None:
    with running(thinks(kind, {"fails": 3}, busy=busy, on_error="hold")) as engine:
        engine.advance(10)
        assert seen(engine) == all_but_3(10, DELAY[busy])
        assert engine.node_stats()["slow"].errors == 1


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_a_process_that_is_killed_stops_the_run_by_name_and_signal(busy: str) -> None:
    with running(thinks("InProcess", {"dies": 3}, busy=busy)) as engine:
        with pytest.raises(
            NodeFailed, match=r"slow \(InProcess\) failed on tick \d: its process ended by SIGKILL"
        ):
            engine.advance(10)
        assert engine.report() == {"runs": 0}


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_on_hold_a_killed_process_is_started_again_as_after_reset(busy: str) -> None:
    entries = thinks("InProcess", {"dies": 3}, busy=busy, on_error="hold")
    entries["runs"] = node("Seen", {"value": "slow.runs"})
    with running(entries) as engine:
        engine.advance(8)
        expected = all_but_3(8, DELAY[busy])
        assert seen(engine) == expected
        assert seen_values(engine, "runs") == [1, 2, 3, 1, 2, 3, 4][: len(expected)]
        assert engine.node_stats()["slow"].errors == 1


def test_a_process_that_was_killed_while_nobody_asked_is_not_replaced_in_silence() -> None:
    with running(thinks("InProcess", on_error="hold")) as engine:
        engine.advance(3)
        (process,) = multiprocessing.active_children()
        process.kill()
        process.join()
        engine.advance(3)
        assert seen_values(engine) == [0, 1, 2, 4, 5]
        assert engine.node_stats()["slow"].errors == 1


@every_kind
@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_the_time_limit_stops_the_run(kind: str, busy: str, gate: str) -> None:
    limits = {"InThread": 1.0, "InProcess": 3.0}
    with running(
        thinks(kind, {"sleeps": 3, "gate": gate}, busy=busy, timeout=limits[kind])
    ) as engine:
        with pytest.raises(
            NodeFailed,
            match=r"slow \(\w+\) failed on tick \d: it took longer than its time limit of \d",
        ):
            engine.advance(10)
        gates[gate].set()
        times = engine.node_stats()["slow"]
        assert (times.runs, times.runs + times.skips) == (4, engine.total_ticks)
        assert 0 <= times.seconds < limits[kind], "what it thought is not a time of the ticks"


def test_the_time_limit_is_for_thinking_and_not_for_a_process_that_starts_anew() -> None:
    entries = thinks("SlowToOpen", {"dies": 1}, on_error="hold", timeout=2.0)
    with running(entries) as engine:
        engine.advance(4)
        assert seen_values(engine) == [0, 2, 3]


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_on_hold_a_process_that_took_too_long_is_replaced(busy: str) -> None:
    with running(
        thinks("InProcess", {"sleeps": 3}, busy=busy, on_error="hold", timeout=3.0)
    ) as engine:
        engine.advance(8)
        assert seen(engine) == all_but_3(8, DELAY[busy])
        assert engine.node_stats()["slow"].errors == 1
        engine.reset(1, 0)
        engine.advance(2)
        assert seen(engine)[-1] == (1, 1 - DELAY[busy])


def _background(engine: Engine) -> BackgroundNode:
    background = engine.runtimes["slow"].background
    assert background is not None
    return background


def _await_abandoned(engine: Engine) -> None:
    """Wait until the thread is there again that thought for too long."""
    abandoned = _background(engine)._abandoned
    assert abandoned is not None
    assert abandoned.finished.wait(TIMEOUT)


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_on_hold_a_thread_that_took_too_long_is_left_alone_until_it_is_there_again(
    busy: str, gate: str
) -> None:
    with running(
        thinks("InThread", {"sleeps": 3, "gate": gate}, busy=busy, on_error="hold", timeout=1.0)
    ) as engine:
        engine.advance(8)
        before = len(seen(engine))
        assert before == 3
        assert engine.node_stats()["slow"].errors > 1, "it is still busy on every tick that follows"
        thoughts = engine.node_stats()["slow"].think_times
        assert sum(thoughts) == 4, "the one that took too long counts, although it has not ended"
        assert buckets(thoughts)[-1][0] > 200
        gates[gate].set()
        _await_abandoned(engine)
        assert engine.node_stats()["slow"].think_times == thoughts, "and once only"
        engine.advance(3)
        assert len(seen(engine)) == before + 3 - DELAY[busy]


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_in_the_place_of_a_thought_that_took_too_long_the_fallback_is_given_out(
    busy: str, gate: str
) -> None:
    """At once on every tick for which the thread is still stuck; and the next episode begins."""
    entries = thinks(
        "Stateless", {"sleeps": 3, "gate": gate}, busy=busy, on_error="fallback", timeout=1.0
    )
    with running(entries) as engine:
        engine.advance(8)
        late = DELAY[busy]
        values = [0, 1, 2, -1, -1, -1, -1, -1][: 8 - late]
        assert seen(engine) == list(zip(range(late, 8), values, strict=True))
        times = engine.node_stats()["slow"]
        assert times.errors == 5 - late
        assert times.reason == "it took longer than its time limit of 1 s"
        engine.reset(1, 0)
        engine.advance(2)
        assert seen(engine)[8 - late :] == [(0, -1), (1, -1)][late:]
        gates[gate].set()
        _await_abandoned(engine)
        engine.advance(2)
        assert seen(engine)[-1][1] >= 0


@pytest.mark.parametrize(("on_error", "errors"), [("fallback", 0), ("hold", 0), ("stop", 1)])
def test_a_node_that_never_comes_back_is_no_trouble_at_the_end_if_it_may_fail(
    on_error: str, errors: int, gate: str
) -> None:
    engine = make_engine(
        thinks("Stateless", {"sleeps": 1, "gate": gate}, on_error=on_error, timeout=0.1), TYPES
    )
    begin(engine)
    if on_error == "stop":
        with pytest.raises(NodeFailed):
            engine.advance(3)
    else:
        engine.advance(3)
    thread = _background(engine)._thread
    assert len(engine.close(0.1)) == errors
    gates[gate].set()
    thread.join(TIMEOUT)
    assert nothing_is_left()


@every_kind
def test_a_thought_past_its_limit_is_so_in_a_saved_state_as_well(
    kind: str, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.engine.background.SHUTDOWN_TIMEOUT", 0.2)
    entries = thinks(
        kind,
        {"sleeps": 0, "gate": gate},
        busy="continue",
        latency=4,
        timeout=1.0,
        on_error="hold",
        every=5,
    )
    with running(entries) as engine:
        engine.advance(2)
        if kind == "InProcess":
            state = engine.state()
            engine.advance(4)
            assert engine.node_stats()["slow"].errors == 1
            engine.load_state(state)
        else:
            with pytest.raises(RunError, match="still busy"):
                engine.state()
        engine.advance(4)
        assert seen(engine) == []
        assert engine.node_stats()["slow"].errors >= 1
        gates[gate].set()
        if kind == "InThread":
            _await_abandoned(engine)


@pytest.mark.parametrize(
    ("giving", "taking", "sentence"),
    [
        ("MakesOdd", "Through", "what the node was given cannot be sent to another process"),
        ("MakesUnreadable", "Through", "what the node was given cannot be read in its process"),
        ("Odd", None, "what the node gave out cannot be sent to another process"),
        ("GivesUnreadable", None, "what the node gave out cannot be read outside of its process"),
    ],
)
def test_what_cannot_be_sent_is_a_sentence_and_the_process_goes_on(
    giving: str, taking: str | None, sentence: str
) -> None:
    entries = {"clock": node("Clock"), "gives": node(giving, {"number": "clock.number"})}
    last = "gives"
    if taking:
        entries["takes"] = node(taking, {"thing": "gives.thing"})
        last = "takes"
    entries["seen"] = node("Seen", {"value": f"{last}.thing"})
    with (
        running(entries) as engine,
        pytest.raises(NodeFailed, match=rf"{last} \(\w+\) failed on tick 2: {sentence}: "),
    ):
        engine.advance(10)
    entries[last]["on_error"] = "hold"
    with running(entries) as engine:
        engine.advance(5)
        assert seen(engine) == [(0, 0), (1, 1), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    ("thing", "what"),
    [("lock", "sent to another process"), ("unreadable", "read outside of its process")],
)
def test_what_a_node_cannot_tell_its_host_is_a_sentence_and_the_process_goes_on(
    thing: str, what: str
) -> None:
    entries = {
        "clock": node("Clock"),
        "says": node("SaysOdd", {"number": "clock.number"}, set={"thing": thing}),
        "seen": node("Seen", {"value": "says.thing"}),
    }
    sentence = f"what the node told its host cannot be {what}: "
    with (
        running(entries) as engine,
        pytest.raises(NodeFailed, match=rf"says \(SaysOdd\) failed on tick 2: {sentence}"),
    ):
        engine.advance(10)
    entries["says"]["on_error"] = "hold"
    with running(entries) as engine:
        engine.advance(5)
        assert seen(engine) == [(0, 0), (1, 1), (3, 3), (4, 4)]


def test_an_error_in_a_process_is_the_error_here_with_file_and_line_there() -> None:
    with running(thinks("InProcess", {"fails": 3})) as engine:
        with pytest.raises(NodeFailed) as caught:
            engine.advance(10)
        error = caught.value.__cause__
        assert type(error) is ValueError
        assert "thinking_nodes.py" in str(error.__cause__)


@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_a_brain_that_does_not_fit_in_its_process_ends_the_run_in_any_case(busy: str) -> None:
    entries = {
        "clock": node("Clock"),
        "poor": node("RefusesItsBrain", {"number": "clock.number"}, busy=busy, on_error="hold"),
    }
    with (
        running(entries) as engine,
        pytest.raises(NodeFailed, match="the adapter was made for another model"),
    ):
        engine.advance(10)


# -- opened and closed -----------------------------------------------------------------------------


def test_what_a_node_says_in_its_process_reaches_the_host() -> None:
    entries = {
        "clock": node("Clock"),
        "talks": node("Talks", {"number": "clock.number"}, set={"labels": {"a": 5}}),
        "takes": node("TakesRow", {"row": "talks.row"}),
        "seen": node("Seen", {"value": "clock.number"}),
    }
    engine = make_engine(entries, TYPES)
    try:
        calls = open_engine(engine)
        engine.reset(0, 0)
        engine.advance(2)
    finally:
        assert engine.close() == []
    messages = [call.arguments[0] for call in calls if call.what == "say"]
    assert messages[1:] == ["tick 0", "tick 1"]
    assert messages[0] != f"in process {os.getpid()}"
    assert Call("talks", 0, "record", ({"model": "small"},)) in calls
    assert engine.runtimes["talks"].sizes == {"n": 3}
    entries["takes"] = node("TakesRow", {"row": "talks.row"}, set={"length": 4})
    engine = make_engine(entries, TYPES)
    try:
        with pytest.raises(WorkflowError, match="does not fit"):
            open_engine(engine)
    finally:
        assert engine.close() == []
    assert nothing_is_left()


@pytest.mark.parametrize(
    ("raises", "error", "sentence"),
    [
        ("sentence", WorkflowError, "there is no such model"),
        ("bug", NodeFailed, "KeyError: 'weights'"),
        ("death", NodeFailed, "its process ended by SIGKILL"),
        ("exit", NodeFailed, "its process ended with status 7"),
    ],
)
def test_a_node_that_cannot_open_in_its_process_is_a_sentence(
    raises: str, error: type[Exception], sentence: str
) -> None:
    engine = make_engine(
        {"clock": node("Clock"), "poor": node("CannotOpen", set={"raises": raises})}, TYPES
    )
    try:
        with pytest.raises(error, match="poor") as caught:
            open_engine(engine)
        assert sentence in str(caught.value)
    finally:
        assert engine.close() == []
    assert nothing_is_left()


@every_kind
@pytest.mark.parametrize("busy", ["wait", "continue"])
def test_nothing_is_left_when_it_is_closed_while_it_thinks(kind: str, busy: str) -> None:
    entries = thinks(kind)
    if busy == "continue":
        entries = thinks(kind, {"most": 300.0}, busy=busy, latency=9)
    with running(entries) as engine:
        engine.advance(3)


def test_a_process_that_does_not_come_to_an_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibrains.engine.background.SHUTDOWN_TIMEOUT", 0.2)
    with running(thinks("InProcess", {"sleeps": 0}, busy="continue", latency=9)) as engine:
        engine.advance(3)


def test_a_stuck_thread_is_said_and_everything_else_is_closed(
    gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.engine.background.SHUTDOWN_TIMEOUT", 0.2)
    engine = make_engine(
        thinks("InThread", {"sleeps": 0, "gate": gate}, busy="continue", latency=9), TYPES
    )
    open_engine(engine)
    engine.reset(0, 0)
    engine.advance(3)
    closed = []
    monkeypatch.setattr(Clock, "close", lambda self: closed.append("clock"))
    assert engine.close() == [
        "slow could not be closed: it is still thinking, and a thread cannot be ended from outside"
    ]
    assert closed == ["clock"], "pads are released"
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "thinks: slow"]
    gates[gate].set()
    thread.join(TIMEOUT)
    assert nothing_is_left()


def test_an_episode_does_not_begin_while_a_thread_is_stuck(
    gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.engine.background.SHUTDOWN_TIMEOUT", 0.2)
    entries = thinks("InThread", {"sleeps": 1, "gate": gate}, on_error="hold", timeout=1.0)
    with running(entries) as engine:
        engine.advance(3)
        assert "runs" not in engine.report()
        with pytest.raises(
            NodeFailed,
            match=r"slow \(InThread\) failed before the first tick: it is still busy .* tick 1",
        ):
            engine.reset(1, 0)
        gates[gate].set()
        _await_abandoned(engine)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [("raises", "ValueError: the lid is stuck"), ("dies", "its process ended by SIGKILL")],
)
def test_a_process_that_cannot_close_is_said_and_everything_else_is_closed(
    how: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(
        {
            "clock": node("Clock"),
            "poor": node("CannotClose", {"number": "clock.number"}, set={"how": how}),
        },
        TYPES,
    )
    open_engine(engine)
    engine.reset(0, 0)
    engine.advance(1)
    closed = []
    monkeypatch.setattr(Clock, "close", lambda self: closed.append("clock"))
    assert engine.close() == [f"poor could not be closed: {sentence}"]
    assert closed == ["clock"]
    assert nothing_is_left()


# -- the workflow ----------------------------------------------------------------------------------


def test_a_loop_may_be_closed_by_a_node_that_continues() -> None:
    entries = {
        "clock": node("Clock"),
        "sum": node("Sum", {"a": "clock.number", "b": "slow.number"}),
        "slow": node("InThread", {"number": "sum.number"}, busy="continue", latency=2),
        "seen": node("Seen", {"value": "sum.number"}),
    }
    with running(entries) as engine:
        engine.advance(6)
        assert seen(engine) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 7)]
    entries["slow"] = node("InThread", {"number": "sum.number"})
    with pytest.raises(WorkflowError, match="the links form a loop"):
        make_engine(entries, TYPES)


@pytest.mark.parametrize(
    ("into", "slow"),
    [({"a": "slow.number"}, {}), ({"a": "clock.number"}, {"when": "even.flag"})],
)
def test_a_loop_in_which_each_waits_for_the_one_before_is_a_fault(
    into: Mapping[str, Any], slow: Mapping[str, Any]
) -> None:
    entries = {
        "clock": node("Clock"),
        "sum": node("Sum", into),
        "even": node("Even", {"number": "slow.number"}),
        "slow": node("InThread", {"number": "sum.number"}, busy="continue", **slow),
    }
    with pytest.raises(
        WorkflowError, match=r"the loop .* never begins: each node waits for the one before it"
    ):
        make_engine(entries, TYPES)


@pytest.mark.parametrize(
    ("type_", "rest", "sentence"),
    [
        ("Sum", {"busy": "continue"}, '"busy" is for background nodes, and Sum is not one'),
        ("Sum", {"busy": "continue", "latency": 3}, '"latency" is for background nodes'),
        ("Sum", {"timeout": 3}, '"timeout" is for background nodes'),
        ("InThread", {"latency": 3}, '"latency" is for nodes with "busy": "continue"'),
        ("InThread", {"busy": "continue", "latency": 0}, '"latency" is not a number of ticks'),
        ("InThread", {"busy": "continue", "latency": 1.5}, '"latency" is not a number of ticks'),
        ("InThread", {"timeout": 0}, '"timeout" is not a number of seconds'),
        ("InThread", {"timeout": True}, '"timeout" is not a number of seconds'),
        ("InThread", {"busy": "pause"}, '"busy" is not known'),
        (
            "InThread",
            {"background": "fibre"},
            '"background" is not known; expected one of thread, process',
        ),
        (
            "InThread",
            {"background": "process"},
            '"background": "process" is not for InThread; expected "thread"',
        ),
        (
            "InProcess",
            {"background": "thread"},
            '"background": "thread" is not for InProcess; expected "process"',
        ),
        (
            "Sum",
            {"background": "thread"},
            '"background" is for background nodes, and Sum is not one',
        ),
        (
            "InThread",
            {"on_error": "fallback"},
            'InThread has no fallback for "on_error": "fallback"; expected "stop" or "hold"',
        ),
        ("InThread", {"optional": 1}, '"optional" is neither true nor false'),
    ],
)
def test_misuse_is_a_sentence(type_: str, rest: Mapping[str, Any], sentence: str) -> None:
    socket = "a" if type_ == "Sum" else "number"
    with pytest.raises(WorkflowError) as caught:
        make_engine(
            {"clock": node("Clock"), "odd": node(type_, {socket: "clock.number"}, **rest)}, TYPES
        )
    assert sentence in str(caught.value)


def test_a_register_is_not_optional() -> None:
    with pytest.raises(WorkflowError, match='"optional" are not for a register'):
        make_engine({"clock": node("Clock", optional=True)}, TYPES)


def test_optional_nodes_run_on_one_of_so_many_of_their_ticks() -> None:
    entries = {
        "clock": node("Clock"),
        "optional": node("Seen", {"value": "clock.number"}, optional=True),
        "slower": node("Seen", {"value": "clock.number"}, optional=True, every=3),
        "when": node("Seen", {"value": "clock.number"}, optional=True, when="even.flag"),
        "even": node("Even", {"number": "clock.number"}),
        "other": node("Seen", {"value": "clock.number"}),
        "third": node("Seen", {"value": "clock.number"}, every=3),
    }
    with running(entries) as engine:
        engine.context.decimation = 4
        engine.advance(48)
        assert seen_ticks(engine, "optional") == [*range(0, 48, 4)]
        assert seen_ticks(engine, "slower") == [*range(0, 48, 12)]
        assert seen_ticks(engine, "when") == [*range(0, 48, 8)]
        assert seen_ticks(engine, "other") == [*range(48)]
        assert seen_ticks(engine, "third") == [*range(0, 48, 3)]
        engine.context.decimation = 1
        engine.advance(6)
        assert seen_ticks(engine, "optional")[-6:] == [*range(48, 54)]


@pytest.mark.parametrize("kind", ["Shadows", "ShadowsInProcess"])
@pytest.mark.parametrize(("when", "name"), [("open", "settle"), ("reset", "state")])
def test_a_value_under_the_name_of_a_method_is_a_sentence(kind: str, when: str, name: str) -> None:
    engine = make_engine({"odd": node(kind, set={"when": when}, every=1, on_error="hold")}, TYPES)
    try:
        with pytest.raises(
            MinibrainsError, match=rf"odd.* {kind} sets self.{name}, but {name} is a method"
        ):
            begin(engine)
    finally:
        assert engine.close() == []
    if kind == "Shadows":
        with pytest.raises(NodeClassError, match=f"Shadows sets self.{name}"):
            check_node(Shadows(when=when), {}, {})
