"""A running graph is changed between two ticks: what stays, what begins anew,
and what is refused.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from minibrains import Aged, Brain, Episode, Node, Number, On, Register, Socket, setting, widget
from minibrains.engine.engine import Engine
from minibrains.engine.live_edit import Edit
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.errors import MinibrainsError, RunError, WorkflowError
from minibrains.tape.recording import TapePlayer
from tests.support import thinking_nodes
from tests.support.engine_fixtures import Entries, FakeHost, Written, make_plan, node
from tests.support.thinking_nodes import gates

events: list[str] = []
"""What the nodes of a test were opened and closed, in this order."""


class Weight(Brain):
    """A number."""

    kind = "weight"
    number: int = setting(0, "added")


class Told:
    """Mixed into a node class: it tells when it is opened and closed."""

    def open(self, host: Any) -> None:
        self.name = host.node
        self.host = host
        events.append(f"open {host.node}")

    def close(self) -> None:
        events.append(f"close {self.name}")


class Counts(Told, Node, every_tick=True):
    """Counts its ticks by `step`."""

    step: int = widget(default=1, min=-9)
    start: int = widget(default=0, rebuild=True)

    def reset(self, episode: Episode) -> None:
        self.count = self.start

    def tick(self) -> Number:
        self.count += self.step
        return self.count


class Adds(Told, Node):
    """Adds its brain to the sum of all it was given."""

    brain: Weight

    def reset(self, episode: Episode) -> None:
        self.sum: float = 0

    def tick(self, number: Number) -> Number:
        self.sum += number
        return self.sum + 1000 * self.brain.number


class AddsInProcess(Node, background="process"):
    brain: Weight

    def reset(self, episode: Episode) -> None:
        self.sum: float = 0

    def tick(self, number: Number) -> Number:
        self.sum += number
        return self.sum + 1000 * self.brain.number


class Plain(Told, Node):
    """Without state."""

    add: int = widget(default=0)

    def tick(self, a: Number, b: Number | None = None) -> Number:
        return a + (b or 0) + self.add


class Fixed(Told, Node):
    """Nothing moves it."""

    number: int = widget(default=5)

    def tick(self) -> Number:
        return self.number


class Rare(Told, Node):
    """Gives out something on the first tick only."""

    def tick(self, number: Number) -> Number:
        return number


class ShowsAge(Told, Node, every_tick=True):
    def reset(self, episode: Episode) -> None:
        self.ages: list[tuple[float, ...]] = []

    def tick(self, a: Aged[Number]) -> None:
        self.ages.append(tuple(a))


class Event(Told, Node):
    def reset(self, episode: Episode) -> None:
        self.all: list[Any] = []

    def tick(self, a: On[Number], b: Number | None = None) -> None:
        self.all.append(a)


class Keeps(Told, Register):
    start: int = widget(default=0)

    def reset(self, episode: Episode) -> None:
        self.held: float = self.start

    def emit(self) -> Number:
        return self.held

    def latch(self, number: Number) -> None:
        self.held = number


class CannotOpen(Told, Node):
    def open(self, host: Any) -> None:
        super().open(host)
        raise MinibrainsError("it is not there")

    def tick(self) -> Number:
        return 1


class BeginsIn(Told, Node, every_tick=True):
    """Delivers how many states its episode may begin from."""

    def reset(self, episode: Episode) -> None:
        self.states = episode.states

    def tick(self) -> Number:
        return len(self.states)


class CannotReset(Told, Node):
    def reset(self, episode: Episode) -> None:
        raise ValueError("no way to begin")

    def tick(self) -> Number:
        return 1


class CannotSet(Told, Node, every_tick=True):
    level: int = widget(default=1)

    def set(self, **widgets: Any) -> None:
        super().set(**widgets)
        if self.level == 13:
            raise ValueError("not thirteen")

    def tick(self) -> Number:
        return self.level


class Sized(Told, Node):
    size: int = widget(default=3, rebuild=True)

    def open(self, host: Any) -> None:
        super().open(host)
        host.size(n=self.size)

    def tick(self, number: Number) -> Annotated[Any, Socket("row", "f32[n]")]:
        return number


class Wants(Told, Node):
    size: int = widget(default=3)

    def tick(self, row: Annotated[Any, Socket("row", "f32[{size}]")]) -> None:
        pass


OURS = [
    cls
    for cls in vars().copy().values()
    if isinstance(cls, type) and issubclass(cls, Node) and cls.__module__ == __name__
]
THEIRS = [
    getattr(thinking_nodes, name)
    for name in ("Clock", "Seen", "InThread", "InProcess", "Even", "Talks")
]
TYPES = [*OURS, *THEIRS]


class Running:
    """An engine that is edited by its entries."""

    def __init__(self, brains: Path, entries: Entries, tape: Any = None) -> None:
        self.brains = brains
        self.engine = Engine(make_plan(entries, TYPES, brains), tape=tape)
        self.engine.open(self.host)
        self.engine.reset(0, 0)

    def host(self, runtime: NodeRuntime, engine: Engine) -> FakeHost:
        return FakeHost(runtime, engine)

    def prepare(self, entries: Entries) -> Edit:
        return self.engine.prepare(
            make_plan(entries, TYPES, self.brains), {"nodes": entries}, self.host
        )

    def change(self, entries: Entries) -> None:
        """Edit it now, between two ticks."""
        edit = self.prepare(entries)
        self.engine.edits.append(edit)
        self.engine.apply_edits()
        assert edit.done.is_set()
        assert self.engine.finish_edit(edit) == []

    def seen(self, name: str = "seen") -> list[Any]:
        return [value for _, value in self.engine.nodes[name].all]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Any]:
    for name, number in (("one", 1), ("two", 2)):
        Weight(number=number).save(tmp_path / f"{name}.safetensors", title=name, made_by="a test")
    events.clear()
    made: list[Running] = []

    def start(entries: Entries, tape: Any = None) -> Running:
        made.append(Running(tmp_path, entries, tape))
        return made[-1]

    yield start
    for each in made:
        assert each.engine.close() == []
    opened, closed = (
        [event.split()[1] for event in events if event.startswith(what)]
        for what in ("open", "close")
    )
    assert sorted(opened) == sorted(closed), "what was opened was closed, once"
    assert not multiprocessing.active_children()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("thinks: ")]


def counting(**set: Any) -> dict[str, dict[str, Any]]:
    return {"counts": node("Counts", set=set), "seen": node("Seen", {"value": "counts.number"})}


# -- nodes that stay -------------------------------------------------------------------------------


def test_a_widget_is_set_in_place_and_the_node_keeps_its_state(running: Any) -> None:
    run = running(counting())
    run.engine.advance(3)
    before = run.engine.nodes["counts"]
    run.change(counting(step=10))
    run.engine.advance(2)
    assert run.engine.nodes["counts"] is before
    assert run.seen() == [1, 2, 3, 13, 23]
    assert run.engine.node_stats()["counts"].runs == 5


def test_a_widget_that_says_rebuild_makes_a_new_node(running: Any) -> None:
    run = running(counting())
    run.engine.advance(3)
    before = run.engine.nodes["counts"]
    run.change(counting(start=100))
    run.engine.advance(2)
    assert run.engine.nodes["counts"] is not before
    assert run.seen() == [1, 2, 3, 101, 102]
    assert events[:3] == ["open counts", "open counts", "close counts"]
    assert run.engine.node_stats()["counts"].runs == 5, "counters carry over"


def test_a_new_node_begins_in_the_states_that_the_episode_may_begin_from(running: Any) -> None:
    run = running(counting())
    run.engine.start_states = ("Level4.*",)
    run.engine.advance(1)
    run.change({**counting(), "begins": node("BeginsIn")})
    assert run.engine.nodes["begins"].states == ("Level4.*",)


@pytest.mark.parametrize("kind", ["Adds", "AddsInProcess"])
def test_a_new_brain_inherits_the_state(kind: str, running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "adds": node(kind, {"number": "clock.number"}, brain="one.safetensors"),
        "seen": node("Seen", {"value": "adds.number"}),
    }
    run = running(entries)
    run.engine.advance(4)
    run.change(entries | {"adds": {**entries["adds"], "brain": "two.safetensors"}})
    run.engine.advance(2)
    assert run.seen() == [1000, 1001, 1003, 1006, 2010, 2015]


def test_a_new_brain_gives_out_what_the_old_one_was_thinking(running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "adds": node(
            "AddsInProcess",
            {"number": "clock.number"},
            brain="one.safetensors",
            busy="continue",
            latency=4,
        ),
        "seen": node("Seen", {"value": "adds.number"}),
    }
    run = running(entries)
    run.engine.advance(6)  # begun on 0 and 4
    run.change(entries | {"adds": {**entries["adds"], "brain": "two.safetensors"}})
    run.engine.advance(7)
    assert run.engine.nodes["seen"].all == [(4, 1000), (8, 1004), (12, 2012)]


def test_a_node_without_change_keeps_its_object_its_last_output_and_its_pending_delivery(
    running: Any,
) -> None:
    entries = {
        "clock": node("Clock"),
        "rare": node("Rare", {"number": "clock.number"}, every=4),
        "late": node("Event", {"a": "rare.number", "b": "clock.number"}, every=3, offset=2),
        "seen": node("Seen", {"value": "rare.number"}, every=3, offset=2),
    }
    run = running(entries)
    run.engine.advance(1)  # delivered on 0; `seen` is to run on 2
    nodes = run.engine.nodes
    run.change(entries | {"other": node("Counts")})
    run.engine.advance(11)
    assert run.engine.nodes["seen"].all == [(2, 0), (5, 4), (8, 8)]
    assert all(run.engine.nodes[name] is nodes[name] for name in nodes)


def test_the_age_of_a_value_is_carried_over(running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "rare": node("Rare", {"number": "clock.number"}, every=4),
        "aged": node("ShowsAge", {"a": "rare.number"}),
    }
    run = running(entries)
    run.engine.advance(3)
    run.change(entries | {"other": node("Counts")})
    run.engine.advance(4)
    assert run.engine.nodes["aged"].ages == [(0, 0), (0, 1), (0, 2), (0, 3), (4, 0), (4, 1), (4, 2)]


def test_a_register_keeps_what_it_holds(running: Any) -> None:
    entries = {
        "keeps": node("Keeps", {"number": "plain.number"}),
        "plain": node("Plain", {"a": "keeps.number"}, set={"add": 1}),
        "seen": node("Seen", {"value": "keeps.number"}),
    }
    run = running(entries)
    run.engine.advance(3)
    run.change(entries | {"plain": {**entries["plain"], "set": {"add": 10}}})
    run.engine.advance(3)
    assert run.seen() == [0, 1, 2, 3, 13, 23]


# -- nodes that come and go ------------------------------------------------------------------------


def test_a_new_node_gets_what_was_delivered_last(running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "rare": node("Rare", {"number": "clock.number"}, every=50),
        "fixed": node("Fixed"),
        "seen": node("Seen", {"value": "rare.number"}),
    }
    run = running(entries)
    run.engine.advance(3)
    run.change(
        entries
        | {
            "new": node("Seen", {"value": "rare.number"}),
            "fresh": node("Seen", {"value": "fixed.number"}),
            "more": node("Fixed"),
        }
        | {"most": node("Seen", {"value": "more.number"})}
    )
    run.engine.advance(3)
    assert run.engine.nodes["new"].all == [(3, 0)]
    assert run.engine.nodes["fresh"].all == [(3, 5)]
    assert run.engine.nodes["most"].all == [(3, 5)]
    assert run.engine.nodes["seen"].all == [(0, 0)], "who was there before gets nothing twice"


@pytest.mark.parametrize("mode", ["mute", "gone"])
def test_a_node_that_is_taken_out_is_closed_and_begins_anew_when_it_is_back(
    mode: str, running: Any
) -> None:
    entries = counting() | {
        "plain": node("Plain", {"a": "counts.number"}),
        "end": node("Seen", {"value": "plain.number"}),
    }
    without = {**entries, "counts": {**entries["counts"], "mode": "mute"}}
    if mode == "gone":
        without = {
            "plain": node("Plain", {"a": "other.number"}),
            "other": node("Counts", set={"start": 50}),
        }
        without["end"] = entries["end"]
    run = running(entries)
    run.engine.advance(3)
    run.change(without)
    assert "close counts" in events
    run.engine.advance(2)
    run.change(entries)
    run.engine.advance(2)
    expected = [1, 2, 3, 1, 2]
    if mode == "gone":
        expected[3:3] = [51, 52]
    assert run.seen("end") == expected


def test_a_bypassed_node_hands_on_what_feeds_it(running: Any) -> None:
    entries = counting() | {"plain": node("Plain", {"a": "counts.number"}, set={"add": 100})}
    entries["seen"] = node("Seen", {"value": "plain.number"})
    run = running(entries)
    run.engine.advance(2)
    run.change(entries | {"plain": {**entries["plain"], "mode": "bypass"}})
    run.engine.advance(2)
    assert run.seen() == [101, 102, 3, 4]


def test_a_node_with_a_new_link_is_due_once(running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "rare": node("Rare", {"number": "clock.number"}, every=50),
        "other": node("Plain", {"a": "clock.number"}, set={"add": 7}, every=50),
        "seen": node("Seen", {"value": "rare.number"}),
        "reads": node("Seen", {"value": "other.number"}),
    }
    run = running(entries)
    run.engine.advance(3)
    run.change(entries | {"seen": node("Seen", {"value": "other.number"})})
    run.engine.advance(3)
    assert run.engine.nodes["seen"].all == [(0, 0), (3, 7)]


def test_a_clock_may_change(running: Any) -> None:
    entries = {"clock": node("Clock"), "seen": node("Seen", {"value": "clock.number"}, every=5)}
    run = running(entries)
    run.engine.advance(7)
    run.change({**entries, "seen": node("Seen", {"value": "clock.number"}, every=2)})
    run.engine.advance(3)
    run.change({**entries, "seen": node("Seen", {"value": "clock.number"})})
    run.engine.advance(2)
    assert [tick for tick, _ in run.engine.nodes["seen"].all] == [0, 5, 8, 10, 11]


def test_what_stands_still_is_worked_out_again_with_the_new_widget(running: Any) -> None:
    def entries(number: int, add: int) -> dict[str, dict[str, Any]]:
        return {
            "fixed": node("Fixed", set={"number": number}),
            "plain": node("Plain", {"a": "fixed.number"}, set={"add": add}),
            "seen": node("Seen", {"value": "plain.number"}),
            "beside": node("Seen", {"value": "fixed.number"}),
        }

    run = running(entries(5, 0))
    run.engine.advance(2)
    run.change(entries(5, 1))
    run.engine.advance(2)
    run.change(entries(6, 1))
    run.engine.advance(2)
    run.change(entries(5, 0))
    run.engine.advance(2)
    assert run.engine.nodes["seen"].all == [(0, 5), (2, 6), (4, 7), (6, 5)]
    assert run.engine.nodes["beside"].all == [(0, 5), (4, 6), (6, 5)]
    times = run.engine.node_stats()["fixed"]
    assert (times.runs, times.cached) == (2, 1), "the last was kept from before"


def test_what_moved_may_stand_still_and_the_other_way_round(running: Any) -> None:
    entries = {
        "clock": node("Clock"),
        "fixed": node("Fixed"),
        "plain": node("Plain", {"a": "clock.number"}),
        "seen": node("Seen", {"value": "plain.number"}),
    }
    with_plain = entries | {"plain": node("Plain", {"a": "fixed.number"})}
    run = running(entries)
    run.engine.advance(2)
    run.change(with_plain)
    run.engine.advance(3)
    run.change(entries)
    run.engine.advance(2)
    assert run.engine.nodes["seen"].all == [(0, 0), (1, 1), (2, 5), (5, 5), (6, 6)]


# -- nodes that think ------------------------------------------------------------------------------


@pytest.fixture
def gate() -> Iterator[str]:
    gates["edit"] = threading.Event()
    yield "edit"
    gates.pop("edit").set()


def slow(kind: str = "InThread", /, **rest: Any) -> dict[str, dict[str, Any]]:
    return {
        "clock": node("Clock"),
        "slow": node(kind, {"number": "clock.number"}, **rest),
        "seen": node("Seen", {"value": "slow.number"}),
        "runs": node("Seen", {"value": "slow.runs"}),
    }


@pytest.mark.parametrize("kind", ["InThread", "InProcess"])
def test_a_node_that_is_thinking_goes_on(kind: str, running: Any) -> None:
    run = running(slow(kind, busy="continue", latency=5))
    run.engine.advance(7)  # begun on 5
    run.change(
        slow(kind, busy="continue", latency=5, set={"add": 100})
        | {"new": node("Seen", {"value": "slow.number"})}
    )
    run.engine.advance(10)
    assert run.engine.nodes["seen"].all[0] == (5, 0)
    assert [tick for tick, _ in run.engine.nodes["seen"].all] == [5, 10, 15]
    assert run.engine.nodes["new"].all[-1] == (15, 110)
    assert run.engine.nodes["new"].all[0] == (7, 0), "what was there last"
    assert run.seen("runs") == [1, 2, 3]


@pytest.mark.parametrize("kind", ["InThread", "InProcess"])
def test_a_node_may_begin_to_hold_or_to_continue(kind: str, running: Any) -> None:
    run = running(slow(kind))
    run.engine.advance(3)
    run.change(slow(kind, busy="continue", latency=2))
    run.engine.advance(5)  # begun on 3, 5, 7
    run.change(slow(kind))
    run.engine.advance(2)
    assert run.engine.nodes["seen"].all == [(0, 0), (1, 1), (2, 2), (5, 3), (7, 5), (8, 8), (9, 9)]
    assert run.seen("runs") == [1, 2, 3, 4, 5, 7, 8], (
        "what it was thinking when it was told to hold is dropped"
    )
    assert run.engine.node_stats()["slow"].runs == 8


def test_a_thought_that_is_dropped_is_thought_again_also_in_a_replay(running: Any) -> None:
    entries = slow(busy="continue", latency=5)
    entries["rare"] = node("Rare", {"number": "clock.number"}, every=50)
    entries["slow"]["in"] = {"number": "rare.number"}
    hold = {
        **entries,
        "slow": {
            key: value for key, value in entries["slow"].items() if key not in ("busy", "latency")
        },
    }
    written = Written()
    for replays in (False, True):
        tape = TapePlayer(written.events) if replays else written
        run = running(entries, tape)
        tape.begin(run.engine)
        run.engine.advance(2)
        run.change(hold)
        run.engine.advance(3)
        assert run.engine.nodes["seen"].all == [(2, 0)]


def test_a_latency_that_changes_is_that_of_the_next_thought(running: Any) -> None:
    run = running(slow(busy="continue", latency=6))
    run.engine.advance(4)
    run.change(slow(busy="continue", latency=1))
    run.engine.advance(5)
    assert [tick for tick, _ in run.engine.nodes["seen"].all] == [6, 7, 8]
    assert run.engine.node_stats()["slow"].late == 0


def test_a_new_process_node_that_holds_and_one_that_is_taken_out_while_it_thinks(
    running: Any,
) -> None:
    run = running(slow("InProcess", busy="continue", latency=50, set={"most": 300.0}))
    run.engine.advance(3)
    run.change(
        {
            "clock": node("Clock"),
            "hold": node("InProcess", {"number": "clock.number"}),
            "seen": node("Seen", {"value": "hold.number"}),
        }
    )
    run.engine.advance(2)
    assert run.engine.nodes["seen"].all == [(3, 3), (4, 4)]


def test_a_widget_set_in_a_process_outlives_the_process(running: Any) -> None:
    run = running(slow("InProcess", on_error="hold", set={"dies": 5}))
    run.engine.advance(2)
    run.change(slow("InProcess", on_error="hold", set={"dies": 5, "add": 100}))
    run.engine.advance(6)
    assert run.seen() == [0, 1, 102, 103, 104, 106, 107]


# -- what is refused -------------------------------------------------------------------------------


def sizes_of(engine: Engine) -> dict[str, dict[str, int]]:
    return {name: dict(runtime.sizes) for name, runtime in engine.runtimes.items()}


def untouched(run: Running, entries: Entries, error: type[Exception], match: str) -> None:
    """An edit that is not possible leaves everything as it is."""
    plan, nodes, sizes, before = run.engine.plan, run.engine.nodes, sizes_of(run.engine), run.seen()
    threads = threading.active_count()
    with pytest.raises(error, match=match):
        run.change(entries)
    assert run.engine.plan is plan
    assert run.engine.nodes == nodes
    assert sizes_of(run.engine) == sizes
    assert threading.active_count() <= threads
    run.engine.advance(2)
    assert run.seen() == [*before, before[-1] + 1, before[-1] + 2]


def test_a_graph_that_is_not_valid_changes_nothing(running: Any) -> None:
    run = running(counting())
    run.engine.advance(2)
    untouched(
        run,
        counting() | {"plain": node("Plain", {"a": "nothing.number"})},
        WorkflowError,
        "no node 'nothing'",
    )
    untouched(run, counting(step=-10), WorkflowError, "wrong value")


def test_a_node_that_cannot_be_opened_changes_nothing_and_the_others_are_closed(
    running: Any,
) -> None:
    run = running(counting())
    run.engine.advance(2)
    wanted = {
        "a": node("Keeps", {"number": "counts.number"}),
        "b": node("InThread", {"number": "counts.number"}),
    }
    untouched(
        run,
        counting(step=5) | wanted | {"poor": node("CannotOpen")},
        WorkflowError,
        "it is not there",
    )
    assert [event for event in events if event.endswith((" a", " poor"))] == [
        "open a",
        "open poor",
        "close poor",
        "close a",
    ]


def test_sizes_that_do_not_fit_change_nothing(running: Any) -> None:
    entries = counting() | {
        "sized": node("Sized", {"number": "counts.number"}),
        "wants": node("Wants", {"row": "sized.row"}),
    }
    run = running(entries)
    run.engine.advance(1)
    untouched(
        run,
        entries | {"sized": {**entries["sized"], "set": {"size": 4}}},
        WorkflowError,
        "does not fit",
    )
    larger = {
        **entries,
        "sized": {**entries["sized"], "set": {"size": 4}},
        "wants": {**entries["wants"], "set": {"size": 4}},
    }
    run.change(larger)
    assert sizes_of(run.engine)["sized"] == {"n": 4}


def test_a_clock_that_cannot_be_had_leaves_no_thread_behind(running: Any) -> None:
    run = running(counting())
    run.engine.advance(2)
    new = {
        "slow": node("InThread", {"number": "counts.number"}),
        "fast": node("Seen", {"value": "counts.number"}, every="10 hz"),
    }
    untouched(run, counting() | new, WorkflowError, "needs a console")


def test_a_node_that_cannot_begin_changes_nothing(running: Any) -> None:
    run = running(counting())
    run.engine.advance(2)
    wanted = {
        "a": node("Fixed"),
        "poor": node("CannotReset"),
        "b": node("InThread", {"number": "counts.number"}),
    }
    untouched(
        run,
        counting(step=5) | wanted,
        RunError,
        r"poor \(CannotReset\) failed on tick 2: ValueError: no way to begin",
    )


def test_a_widget_that_a_node_refuses_changes_nothing(running: Any) -> None:
    def entries(step: int, level: int) -> dict[str, dict[str, Any]]:
        return counting(step=step) | {"poor": node("CannotSet", set={"level": level})}

    run = running(entries(1, 2))
    run.engine.advance(2)
    untouched(run, entries(5, 13), RunError, "not thirteen")
    assert run.engine.nodes["poor"].level == 2
    run.change(entries(1, 3))
    assert run.engine.nodes["poor"].level == 3


def test_an_edit_made_for_an_older_graph_is_refused(running: Any) -> None:
    run = running(counting())
    run.engine.advance(2)
    first = run.prepare(counting() | {"a": node("Fixed")})
    second = run.prepare(counting() | {"b": node("InThread", {"number": "counts.number"})})
    run.engine.edits.extend([first, second])
    run.engine.advance(1)
    assert run.engine.finish_edit(first) == []
    with pytest.raises(RunError, match="another edit came first"):
        run.engine.finish_edit(second)
    assert set(run.engine.nodes) == {"counts", "seen", "a"}


def test_an_edit_that_comes_too_late_is_closed_with_the_run(running: Any) -> None:
    run = running(counting())
    run.engine.advance(2)
    edit = run.prepare(
        counting() | {"a": node("Fixed"), "b": node("InProcess", {"number": "counts.number"})}
    )
    run.engine.edits.append(edit)
    assert run.engine.close() == []
    assert edit.done.is_set()
    with pytest.raises(RunError, match="the run is over"):
        run.engine.finish_edit(edit)


# -- while it runs ---------------------------------------------------------------------------------


def test_two_hundred_edits_in_a_row_while_it_runs(running: Any) -> None:
    chance = random.Random(4)

    def entries() -> dict[str, dict[str, Any]]:
        made: dict[str, dict[str, Any]] = counting() | {
            "clock": node("Clock"),
            "keeps": node("Keeps", {"number": "counts.number"}),
            "after": node("Seen", {"value": "keeps.number"}),
            "adds": node(
                "Adds",
                {"number": "clock.number"},
                brain=chance.choice(["one.safetensors", "two.safetensors"]),
            ),
            "sum": node("Seen", {"value": "adds.number"}),
        }
        if chance.random() < 0.5:
            made["fixed"] = node("Fixed", set={"number": chance.randrange(5)})
        if chance.random() < 0.7:
            into = {"a": chance.choice(["counts.number", "keeps.number", "clock.number"])}
            if "fixed" in made and chance.random() < 0.5:
                into["b"] = "fixed.number"
            made["plain"] = node(
                "Plain", into, set={"add": chance.randrange(3)}, every=chance.choice([1, 2, 7])
            )
            made["look"] = node(
                "Seen", {"value": "plain.number"}, mode=chance.choice(["run", "mute"])
            )
        if chance.random() < 0.7:
            busy: dict[str, Any] = chance.choice(
                [{}, {"busy": "continue", "latency": chance.randrange(1, 5)}]
            )
            made["slow"] = node(
                "InThread", {"number": "counts.number"}, set={"add": chance.randrange(3)}, **busy
            )
            made["thought"] = node("Seen", {"value": "slow.number"})
        return made

    run = running(entries())
    over = threading.Event()
    failed: list[BaseException] = []

    def play() -> None:
        try:
            while not over.wait(0.001):  # a game has a pace as well
                run.engine.advance(3)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        for _ in range(200):
            edit = run.prepare(entries())
            run.engine.edits.append(edit)
            while not edit.done.wait(0.1):
                assert thread.is_alive(), failed
            assert run.engine.finish_edit(edit) == []
    finally:
        over.set()
        thread.join()
    assert failed == []
    ticks = run.engine.total_ticks
    assert run.seen() == [*range(1, ticks + 1)], "a counter never skips"
    assert run.seen("after") == [*range(ticks)]
    sums = zip(run.seen("sum"), itertools.accumulate(range(ticks)), strict=True)
    assert {given - expected for given, expected in sums} == {1000, 2000}, (
        "its state goes from brain to brain"
    )
