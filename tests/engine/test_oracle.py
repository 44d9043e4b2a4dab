"""The engine against a reference that is too simple to be wrong, on workflows nobody would draw."""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minibrains import (
    ABSENT,
    Absent,
    Aged,
    Episode,
    Flag,
    Lazy,
    Node,
    Number,
    On,
    Register,
    widget,
)
from minibrains.engine.engine import Engine
from minibrains.errors import WorkflowError
from minibrains.graph.workflow import parse_workflow
from tests.support.engine_fixtures import Call, Entries, Noted, make_engine, open_engine
from tests.support.reference_engine import Broken, Loop, ReferenceEngine

RATE = 59.92


def dice(*what: Any) -> int:
    return crc32(repr(what).encode())


# -- registers -------------------------------------------------------------------------------------


class Shown(NamedTuple):
    number: Number
    maybe: Number | Absent
    flag: Flag
    view: Lazy[Number]
    glimpse: Lazy[Number | Absent]
    done: Flag


class Console(Noted, Register, terminal="done"):
    length: int = widget(default=0)
    breaks: int = widget(default=0)

    def open(self, host: Any) -> None:
        super().open(host)
        host.rate(RATE)

    def reset(self, episode: Episode) -> None:
        self.number = int(episode.rng().integers(100))

    def emit(self) -> Shown:
        tick = self.host.tick
        state = self.number
        self.note("emit")
        self._break("emit")
        maybe: Number | Absent = ABSENT
        if dice(tick, state) % 3 == 0:
            maybe = dice(state) % 100
        return Shown(
            number=state,
            maybe=maybe,
            flag=dice("flag", tick, state) % 2 == 1,
            view=lambda: self._look(state),
            glimpse=lambda: self._glimpse(tick),
            done=self.length > 0 and tick == self.length,
        )

    def _look(self, state: int) -> int:
        self._break("look")
        return state + 1000

    def _glimpse(self, tick: int) -> Number | Absent:
        self._break("glimpse")
        if dice(tick) % 4:
            return ABSENT
        return 2000 + tick

    def latch(self, pads: list[On[Number]], pad: Number | None = None) -> None:
        self.note("latch", pads, pad)
        self._break("latch")
        self.number = dice(self.number, pads, pad) % 100

    def _break(self, what: str) -> None:
        if self.breaks and dice(what, self.host.tick, self.number) % self.breaks == 0:
            raise Broken


class Delay(Noted, Register):
    """Gives out nothing before it was first latched."""

    def reset(self, episode: Episode) -> None:
        self.held: Number | Absent = ABSENT

    def emit(self) -> Number | Absent:
        self.note("emit")
        return self.held

    def latch(self, value: Number) -> None:
        self.note("latch", value)
        self.held = (value + 1) % 1000


class Window(Noted, Register):
    """Latches once everything linked to it has arrived."""

    def reset(self, episode: Episode) -> None:
        self.sum: float = 0

    def emit(self) -> Lazy[Number]:
        self.note("emit")
        held = self.sum
        return lambda: held

    def latch(self, terms: list[Aged[Number]], event: On[Number] = None) -> None:
        self.note("latch", terms, event)
        self.sum += event or 0
        for term in terms:
            self.sum += term.value + term.age
        self.sum %= 1000


# -- without state ---------------------------------------------------------------------------------


class Constant(Noted, Node):
    def tick(self) -> Number:
        self.note("tick")
        return 7


class Add(Noted, Node):
    breaks: int = widget(default=0)

    def tick(self, a: Number, b: Number | None = None) -> Number:
        self.note("tick", a, b)
        if self.breaks and a % self.breaks == 0:
            raise Broken
        return (a + (b or 0)) % 1000


class Total(Noted, Node):
    def tick(self, terms: list[Number], more: Number | None = None) -> Number:
        self.note("tick", terms, more)
        return sum(terms, start=more or 0) % 1000


class Filter(Noted, Node):
    def tick(self, a: Number) -> Number | Absent:
        self.note("tick", a)
        if a % 2:
            return ABSENT
        return a


class Parts(NamedTuple):
    low: Number
    high: Number | Absent
    odd: Flag


class Split(Noted, Node):
    def tick(self, a: Number) -> Parts:
        self.note("tick", a)
        high: Number | Absent = ABSENT
        if a % 3:
            high = a // 10
        return Parts(a % 10, high, a % 2 == 1)


class Pick(Noted, Node):
    def tick(self, flag: Flag, yes: Number, no: Number | None = None) -> Number:
        self.note("tick", flag, yes, no)
        if flag:
            return yes
        return no or 0


class Event(Noted, Node):
    def tick(self, a: On[Number] = None, b: Number | None = None) -> Number:
        self.note("tick", a, b)
        if a is None:
            a = 500
        return a + (b or 0) % 10


class ShowsAge(Noted, Node):
    def tick(self, s: Aged[Number], maybe: Aged[Number] | None = None) -> Number:
        self.note("tick", s, maybe)
        result = s.value + s.age
        if maybe:
            result += maybe.age
        return result % 1000


class Stamped(Noted, Node, every_tick=True):
    """Clocked, but without state."""

    def tick(self, a: On[Number] = None, s: Aged[Number] | None = None) -> Flag:
        self.note("tick", a, s)
        return a is not None and a % 2 == 0


class Sink(Noted, Node):
    def tick(
        self, numbers: list[Number], events: list[On[Number]], flag: Flag | None = None
    ) -> None:
        self.note("tick", numbers, events, flag)


# -- with state ------------------------------------------------------------------------------------


class Accumulate(Noted, Node):
    breaks: int = widget(default=0)

    def reset(self, episode: Episode) -> None:
        self.sum: float = episode.index

    def tick(self, a: Number, event: On[Number] = None) -> Number | Absent:
        self.note("tick", a, event)
        self.sum = (self.sum + a + (event or 0)) % 1000
        if self.breaks and self.sum % self.breaks == 0:
            raise Broken
        if self.sum % 5 == 0:
            return ABSENT
        return self.sum


class Ponder(Noted, Node, background="thread"):
    """Thinks beside the tick; which tick it is there nobody can say."""

    breaks: int = widget(default=0)

    def tick(self, a: Number, b: Number | None = None, event: On[Number] = None) -> Parts:
        self.host.calls.append(Call(self.host.node, -1, "tick", (a, b, event)))
        if self.breaks and a % self.breaks == 0:
            raise Broken
        high: Number | Absent = ABSENT
        if a % 3 == 0:
            high = event or 0
        return Parts((a + (b or 0)) % 1000, high, a % 2 == 0)


class Learn(Noted, Node, background="thread"):
    def reset(self, episode: Episode) -> None:
        self.sum: float = episode.index

    def tick(self, numbers: list[Number], late: Aged[Number] | None = None) -> Number | Absent:
        self.host.calls.append(Call(self.host.node, -1, "tick", (numbers, late)))
        self.sum += sum(numbers)
        if late:
            self.sum += late.value + late.age
        self.sum %= 1000
        if self.sum % 7 == 0:
            return ABSENT
        return self.sum


class Beat(NamedTuple):
    count: Number  # type: ignore[assignment]  # tuples have a method of this name
    now: Flag


class Counter(Noted, Node, every_tick=True):
    def reset(self, episode: Episode) -> None:
        self.count = 0

    def tick(self, a: Number | None = None) -> Beat:
        self.note("tick", a)
        self.count += 1
        return Beat(self.count, self.count % 3 == 0)


class Recorder(Noted, Node):
    def reset(self, episode: Episode) -> None:
        pass

    def tick(self, s: Aged[Number], numbers: list[Number]) -> None:
        self.note("tick", s, numbers)


FAMILY: list[Any] = [cls for cls in Noted.__subclasses__() if cls.__module__ == __name__]
TYPES = {cls.__name__: cls for cls in FAMILY}


@st.composite
def workflows(draw: st.DrawFn) -> Entries:
    """Registers may read any node, other nodes read registers and what comes before them,
    most of all what is near.
    """
    classes: list[type[Node]] = [Console]
    for _ in range(draw(st.integers(1, 11))):
        classes.append(draw(st.sampled_from(FAMILY)))

    def links(reader: int, label: str) -> st.SearchStrategy[str]:
        near: list[str] = []
        far: list[str] = []
        for place, cls in enumerate(classes):
            wide = (
                issubclass(classes[reader], Register)
                or issubclass(cls, Register)
                or cls in (Ponder, Learn)
            )
            if not wide and place >= reader:
                continue
            found = near
            if wide or place < reader - 3:
                found = far
            for name, output in cls.schema.outputs.items():
                if output.type.label == label:
                    found.append(f"n{place}.{name}")
        if not near:
            return st.sampled_from(far)
        return st.sampled_from(near) | st.sampled_from(far)

    def one_in(count: int) -> bool:
        return draw(st.integers(1, count)) == count

    entries: dict[str, dict[str, Any]] = {}
    for place, cls in enumerate(classes):
        entry: dict[str, Any] = {"type": f"{cls.__name__}@1", "set": {}, "in": {}}
        for name, declared in cls.schema.inputs.items():
            wanted = links(place, declared.type.label)
            if declared.many:
                entry["in"][name] = draw(st.lists(wanted, max_size=3))
            elif declared.must_be_linked or draw(st.booleans()):
                entry["in"][name] = draw(wanted)
        if "length" in cls.schema.widgets:
            entry["set"]["length"] = draw(st.sampled_from([0, 0, 1, 5, 30]))
        if "breaks" in cls.schema.widgets and one_in(4):
            entry["set"]["breaks"] = draw(st.integers(1, 4))
            entry["on_error"] = "hold"
        if cls.background and not one_in(4):
            entry["busy"] = "continue"
            if one_in(2):
                entry["latency"] = draw(st.integers(1, 9))
        if not issubclass(cls, Register):
            quick = cls.reset is Node.reset and bool(cls.schema.outputs)
            if one_in(4) == quick:
                pace = draw(st.sampled_from([1, 2, 3, 6, 7, "10 hz", "25.5 hz"]))
                entry["every"] = pace
                entry["offset"] = 0
                if isinstance(pace, int):
                    entry["offset"] = draw(st.integers(0, pace - 1))
            if one_in(6 if quick else 3):
                entry["when"] = draw(links(place, "flag"))
        if place:  # the first console stays: it says what "10 hz" is
            entry["mode"] = draw(st.sampled_from(["run"] * 8 + ["mute", "bypass"]))
        entries[f"n{place}"] = entry
    return {name: entries[name] for name in draw(st.permutations(list(entries)))}


class Played(NamedTuple):
    ended: bool
    ticks: int
    calls: dict[str, list[Call]]


def play(engine: Any, episodes: int, ticks: int, chunk: int, saves: bool = False) -> list[Played]:
    """Play in pieces of `chunk` ticks; with `saves` each goes on from a state
    that was saved and loaded.
    """
    calls = open_engine(engine)
    calls.clear()
    played = []
    for index in range(episodes):
        engine.reset(index, seed=5)
        ended = False
        while not ended and engine.tick < ticks:
            ended = engine.advance(min(chunk, ticks - engine.tick))
            if isinstance(engine, Engine):
                state = engine.state()  # waits for those that think
                if saves and not ended:
                    saved = pickle.dumps(state)
                    engine.reset(index + 1, seed=6)
                    engine.load_state(pickle.loads(saved))
        by_node = defaultdict(list)
        for call in calls:
            by_node[call.node].append(call)
        calls.clear()
        played.append(Played(ended, engine.tick, by_node))
    engine.close()
    return played


def may_inherit(reference: ReferenceEngine) -> set[str]:
    """Nodes that may run less often than they have something new: no state,
    and all that read them are slower.
    """
    watched: set[str] = set()
    for entry in reference.entries.values():
        if not entry.when:
            continue
        flag = reference.source(entry.when)
        if flag:
            watched.add(flag.node)
    readers: dict[str, set[str]] = defaultdict(set)
    for name in reference.nodes:
        for link in reference.all_sources(name):
            readers[link.node].add(name)
    found: set[str] = set()

    def own_clock(name: str) -> bool:
        entry = reference.entries[name]
        return entry.every != 1 or entry.hertz is not None or entry.when is not None

    for name in reversed(reference.order):
        cls = type(reference.nodes[name])
        if (
            cls.reset is not Node.reset
            or cls.every_tick
            or name in reference.thinking
            or own_clock(name)
            or name in watched
            or not readers[name]
        ):
            continue
        if all(own_clock(reader) or reader in found for reader in readers[name]):
            found.add(name)
    return found


def is_constant(reference: ReferenceEngine) -> set[str]:
    """Nodes that nothing moving feeds: they are worked out once, before the first tick."""
    found: set[str] = set()
    for name in reference.order:
        node = reference.nodes[name]
        entry = reference.entries[name]
        has_clock = entry.every != 1 or entry.hertz is not None or entry.when is not None
        state = type(node).reset is not Node.reset or node.every_tick or name in reference.thinking
        plain = bool(node.schema.outputs) and not (has_clock or state or entry.on_error == "hold")
        if plain and all(link.node in found for link in reference.all_sources(name)):
            found.add(name)
    return found


def compare(entries: Entries, episodes: int, ticks: int, chunk: int, saves: bool) -> None:
    try:
        reference = ReferenceEngine(parse_workflow({"minibrains": 1, "nodes": entries}), TYPES)
    except Loop:
        with pytest.raises(WorkflowError, match="form a loop"):
            make_engine(entries, FAMILY)
        return
    try:
        engine = make_engine(entries, FAMILY)
    except WorkflowError as error:
        if "never begins" in str(error):
            return  # a test of its own
        raise
    expected = play(reference, episodes, ticks, 1)
    found = play(engine, episodes, ticks, chunk, saves)
    fewer = may_inherit(reference)
    constants = is_constant(reference)
    times = engine.node_stats()
    for wanted, got in zip(expected, found, strict=True):
        assert (got.ended, got.ticks) == (wanted.ended, wanted.ticks)
        for name in reference.nodes:
            if name in constants:
                continue
            if name not in fewer:
                assert got.calls[name] == wanted.calls[name]
                continue
            for call in got.calls[name]:
                if reference.nodes[name].background:
                    assert call in wanted.calls[name]
                    continue
                so_far = [other for other in wanted.calls[name] if other.tick <= call.tick]
                assert so_far
                assert call.arguments == so_far[-1].arguments
    for name in reference.nodes:
        if not saves:
            assert times[name].runs + times[name].skips == engine.total_ticks
        if name in constants:
            for got in found:
                assert not got.calls[name], "it was worked out when the engine was opened"
            assert times[name].runs <= 1
        elif name not in fewer and not saves:
            assert times[name].runs == reference.runs[name]
            if not isinstance(reference.nodes[name], Console):
                assert times[name].errors == reference.errors[name]


anything = given(
    workflows(), st.integers(1, 3), st.integers(1, 40), st.integers(1, 40), st.booleans()
)
healthy = [HealthCheck.too_slow, HealthCheck.data_too_large]


@anything
@settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=healthy)
def test_same_calls(entries: Entries, episodes: int, ticks: int, chunk: int, saves: bool) -> None:
    compare(entries, episodes, ticks, chunk, saves)


@pytest.mark.soak
@anything
@settings(max_examples=20_000, deadline=None, suppress_health_check=healthy)
def test_same_calls_in_very_many_workflows(
    entries: Entries, episodes: int, ticks: int, chunk: int, saves: bool
) -> None:
    compare(entries, episodes, ticks, chunk, saves)
