"""The engine through its public doors: parse, check, compile, open, tick, close."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

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
    Socket,
    widget,
)
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed
from minibrains.engine.timing import LatencyHistogram
from minibrains.errors import MinibrainsError, RunError, WorkflowError
from tests.support.engine_fixtures import Call, Entries, Noted, make_engine, node, open_engine


class Shown(NamedTuple):
    count: Number  # type: ignore[assignment]  # tuples have a method of this name
    view: Lazy[Number]
    done: Flag


class Game(Noted, Register, terminal="done"):
    """Counts how often it was latched; looks at `view` are counted as well."""

    length: int = widget(default=0, doc="the episode ends when it was latched so often; 0: never")
    rate: float = widget(default=0.0)

    def open(self, host: Any) -> None:
        super().open(host)
        self.looks = 0
        if self.rate:
            host.rate(self.rate)

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def emit(self) -> Shown:
        self.note("emit", self.count)
        return Shown(self.count, self.look, bool(self.length) and self.count == self.length)

    def look(self) -> int:
        self.looks += 1
        return 100 + self.count

    def latch(self, pad: Number | None = None) -> None:
        self.note("latch", pad)
        self.count += 1


class Back(Noted, Register):
    """Gives out on the next tick what it took; nothing before the first."""

    fails: bool = widget(default=False)

    def reset(self, episode: Episode) -> None:
        self.held: Number | Absent = ABSENT

    def emit(self) -> Number | Absent:
        return self.held

    def latch(self, value: Number) -> None:
        self.note("latch", value)
        if self.fails and value % 2:
            raise ValueError("odd")
        self.held = value


class Torn(Noted, Register):
    """Fails to give out anything on odd ticks."""

    def emit(self) -> Shown:
        if self.host.tick % 2:
            raise ValueError("odd")
        tick = self.host.tick
        return Shown(tick, lambda: tick, False)

    def latch(self) -> None:
        pass


class Ended(NamedTuple):
    done: Lazy[Flag]


class Ending(Noted, Register, terminal="done"):
    """Whether it is done it says only when asked, and what it says is its widget."""

    after: int = widget(default=2)

    def emit(self) -> Ended:
        return Ended(lambda: self.host.tick >= self.after)

    def latch(self) -> None:
        pass


class Decision(NamedTuple):
    done: Flag


class Undecided(Noted, Register, terminal="done"):
    def emit(self) -> Decision:
        return Decision(np.array([True, False]))  # type: ignore[arg-type]

    def latch(self) -> None:
        pass


class Constant(Noted, Node):
    def tick(self) -> Number:
        self.note("tick")
        return 7


class Add(Noted, Node):
    def tick(self, a: Number, b: Number | None = None) -> Number:
        self.note("tick", a, b)
        return a + (b or 0)


class Even(Noted, Node):
    def tick(self, a: Number) -> Flag:
        self.note("tick", a)
        return a % 2 == 0


class OnlyEven(Noted, Node):
    def tick(self, a: Number) -> Number | Absent:
        self.note("tick", a)
        if a % 2:
            return ABSENT
        return a


class Undeclared(Noted, Node):
    def tick(self, a: Number) -> Number:
        return ABSENT  # type: ignore[return-value]


class Both(NamedTuple):
    number: Number
    flag: Flag


class Parts(Noted, Node):
    def tick(self, a: Number) -> Both:
        return Both(a, a % 2 == 0)


class Event(Noted, Node):
    def tick(self, a: On[Number] = None, b: Number | None = None) -> Number:
        self.note("tick", a, b)
        if a is None:
            return -1
        return a


class Ages(Noted, Node, every_tick=True):
    def tick(self, a: Aged[Number], b: Aged[Number] | None = None) -> None:
        self.note("tick", a, b)


class Sum(Noted, Node):
    def reset(self, episode: Episode) -> None:
        self.sum: float = 0

    def tick(self, a: Number) -> Number:
        self.note("tick", a)
        self.sum += a
        return self.sum


class Beat(Noted, Node, every_tick=True):
    def reset(self, episode: Episode) -> None:
        self.count = 0

    def tick(self) -> Number:
        self.note("tick")
        self.count += 1
        return self.count


class Tells(Noted, Node, every_tick=True):
    what: float = widget(default=0.0)

    def tick(self) -> None: ...

    def report(self) -> Mapping[str, Any]:
        return {"told": self.what}


class Look(Noted, Node):
    """A sink."""

    def tick(self, a: Number) -> None:
        self.note("tick", a)


class Gather(Noted, Node):
    def tick(self, numbers: list[Number]) -> None:
        self.note("tick", numbers)


class Dice(Noted, Node, every_tick=True):
    def reset(self, episode: Episode) -> None:
        self.rng = episode.rng()

    def tick(self) -> None:
        self.note("tick", int(self.rng.integers(2**32)))


class Breaks(Noted, Node):
    at: int = widget(default=3)

    def tick(self, a: Number) -> Number:
        self.note("tick", a)
        if a == self.at:
            raise ValueError("no")
        return a


class Stops(Noted, Node):
    at: int = widget(default=3)

    def tick(self, a: Number) -> None:
        if a == self.at:
            self.host.engine.stopping = True


class Faulty(Noted, Node):
    fails: str = widget(default="")

    def open(self, host: Any) -> None:
        super().open(host)
        self._do("open")

    def tick(self) -> None:
        pass

    def close(self) -> None:
        self._do("close")

    def _do(self, what: str) -> None:
        self.note(what)
        if what == self.fails:
            raise ValueError("it is stuck")


class Screen(Noted, Register):
    height: int = widget(default=4)

    def open(self, host: Any) -> None:
        host.size(h=self.height, w=6)

    def emit(self) -> Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]:
        return np.zeros((self.height, 6, 3), np.uint8)

    def latch(self) -> None:
        pass


class Reads(Noted, Node):
    height: int = widget(default=4)

    def tick(self, image: Annotated[np.ndarray, Socket("frame", "u8[{height} w 3]")]) -> None:
        pass


TYPES = [cls for cls in Noted.__subclasses__() if cls.__module__ == __name__]
GAME: Mapping[str, Any] = {"type": "Game@1"}


def start(entries: Entries) -> tuple[Engine, list[Call]]:
    engine = make_engine(entries, TYPES)
    calls = open_engine(engine)
    engine.reset(0, seed=0)
    return engine, calls


def play(entries: Entries, ticks: int) -> tuple[Engine, list[Call]]:
    engine, calls = start(entries)
    engine.advance(ticks)
    return engine, calls


def of(calls: list[Call], name: str, what: str = "tick") -> list[tuple[Any, ...]]:
    """(tick, arguments…) of the calls of one node."""
    return [
        (call.tick, *call.arguments) for call in calls if call.node == name and call.what == what
    ]


def ticks(calls: list[Call], name: str) -> list[int]:
    return [tick for tick, *_ in of(calls, name)]


def callers(calls: list[Call]) -> list[str]:
    return [call.node for call in calls]


# -- order and phases ------------------------------------------------------------------------------


def test_a_node_runs_after_what_it_reads_whatever_the_order_of_the_file() -> None:
    entries = {
        "last": node("Look", {"a": "middle.number"}, when="gate.flag"),
        "gate": node("Even", {"a": "first.number"}),
        "middle": node("Add", {"a": "first.number"}),
        "first": node("Add", {"a": "game.count"}),
        "game": GAME,
    }
    for order in itertools.permutations(entries.items()):
        _, calls = play(dict(order), 1)
        assert of(calls, "last") == [(0, 0)]
        names = callers(calls)
        assert (
            names.index("game")
            < names.index("first")
            < names.index("middle")
            < names.index("last")
            < len(names) - 1
        )
        assert calls[-1].what == "latch"


def test_a_loop_without_a_register_is_named_in_the_direction_of_flow() -> None:
    entries = {
        "game": GAME,
        "a": node("Add", {"a": "game.count", "b": "d.number"}),
        "b": node("Add", {"a": "a.number"}),
        "c": node("Add", {"a": "b.number"}),
        "d": node("Add", {"a": "c.number"}),
    }
    with pytest.raises(WorkflowError, match="form a loop") as caught:
        make_engine(entries, TYPES)
    loop = str(caught.value).split("loop: ")[1].split(".")[0].split(" -> ")
    assert loop[0] == loop[-1]
    assert "a b c d" in " ".join(loop[:-1] * 2)


def test_a_loop_through_a_flag_is_a_loop() -> None:
    with pytest.raises(WorkflowError, match="a -> a"):
        make_engine({"game": GAME, "a": node("Even", {"a": "game.count"}, when="a.flag")}, TYPES)


def test_what_a_register_latched_is_given_out_on_the_next_tick() -> None:
    entries = {
        "game": GAME,
        "back": node("Back", {"value": "game.count"}),
        "look": node("Look", {"a": "back.number"}),
    }
    _, calls = play(entries, 4)
    assert of(calls, "back", "latch") == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert of(calls, "look") == [(1, 0), (2, 1), (3, 2)]


def test_on_the_terminal_tick_the_graph_runs_and_nothing_is_latched() -> None:
    engine, calls = start({
        "game": {**GAME, "set": {"length": 3}, "in": {"pad": "add.number"}},
        "add": node("Add", {"a": "game.count"}),
        "back": node("Back", {"value": "game.count"}),
    })  # fmt: skip
    assert engine.advance(100)
    assert engine.tick == engine.total_ticks == 4
    assert ticks(calls, "add") == [0, 1, 2, 3]
    assert of(calls, "game", "latch") == [(0, 0), (1, 1), (2, 2)]
    assert of(calls, "back", "latch") == [(0, 0), (1, 1), (2, 2)]


def test_a_terminal_output_may_be_lazy_and_unread() -> None:
    engine, _ = start({"end": node("Ending"), "slow": node("Beat", every=6)})
    assert engine.advance(100)
    assert engine.tick == 3


def test_a_terminal_output_that_is_neither_true_nor_false_is_a_sentence() -> None:
    engine, _ = start(
        {
            "game": GAME,
            "held": node("Add", {"a": "game.count"}, on_error="hold"),
            "odd": node("Undecided"),
        }
    )
    with pytest.raises(
        RunError, match="game or odd: cannot tell on tick 0 whether the episode ends"
    ):
        engine.advance(1)


def test_an_episode_is_as_if_it_were_the_first() -> None:
    entries = {
        "game": {**GAME, "set": {"length": 5}},
        "even": node("OnlyEven", {"a": "game.count"}),
        "back": node("Back", {"value": "even.number"}),
        "sum": node("Sum", {"a": "back.number"}),
        "slow": node("Look", {"a": "sum.number"}, every=4, offset=3),
        "ages": node("Ages", {"a": "sum.number", "b": "back.number"}),
        "again": node("Back", {"value": "back.number"}),
        "rare": node("Add", {"a": "game.count"}, every=9, offset=3),
        "event": node("Event", {"a": "rare.number"}, every=3, offset=2),
        "once": node("Constant"),
    }
    engine, calls = start(entries)
    episodes = []
    for _ in range(3):
        engine.reset(0, seed=0)
        assert engine.advance(100)
        episodes.append(list(calls))
        calls.clear()
    first, second, third = episodes
    once = Call("once", 0, "tick", ())
    assert callers(first).count("once") == 1, (
        "what nothing moves is worked out once for the whole run"
    )
    first.remove(once)
    assert first == second == third
    engine.reset(0, seed=0)
    engine.advance(4)  # left in the middle: a delivery waits for `event`
    calls.clear()
    engine.reset(0, seed=0)
    engine.advance(100)
    assert calls == second


def test_a_node_waits_for_the_first_delivery_of_each_input_it_needs() -> None:
    entries = {
        "game": GAME,
        "back": node("Back", {"value": "game.count"}),
        "back2": node("Back", {"value": "back.number"}),
        "both": node("Add", {"a": "back2.number", "b": "game.count"}),
        "either": node("Add", {"a": "game.count", "b": "back2.number"}),
        "list": node("Gather", {"numbers": ["game.count", "back2.number"]}),
        "never": node("Look", {"a": "muted.number"}),
        "nothing": node("Gather", {"numbers": ["muted.number"]}),
        "muted": node("Add", {"a": "game.count"}, mode="mute"),
    }
    _, calls = play(entries, 4)
    assert of(calls, "both") == [(2, 0, 2), (3, 1, 3)]
    assert of(calls, "either") == [(0, 0, None), (1, 1, None), (2, 2, 0), (3, 3, 1)]
    assert of(calls, "list") == [(2, [2, 0]), (3, [3, 1])]
    assert of(calls, "never") == []
    assert of(calls, "nothing") == [(0, [])]


def test_on_and_sample() -> None:
    entries = {
        "game": GAME,
        "even": node("OnlyEven", {"a": "game.count"}),
        "back": node("Back", {"value": "even.number"}),
        "event": node("Event", {"a": "even.number"}),
        "both": node("Event", {"a": "even.number", "b": "game.count"}),
        "slow": node("OnlyEven", {"a": "game.count"}, every=3, offset=2),
        "ages": node("Ages", {"a": "even.number", "b": "slow.number"}),
        "early": node("Ages", {"a": "slow.number", "b": "even.number"}),
    }
    _, calls = play(entries, 5)
    assert of(calls, "event") == [(0, 0, None), (2, 2, None), (4, 4, None)]
    assert of(calls, "both") == [(0, 0, 0), (1, None, 1), (2, 2, 2), (3, None, 3), (4, 4, 4)]
    assert of(calls, "ages") == [
        (0, Aged(0, 0), None),
        (1, Aged(0, 1), None),
        (2, Aged(2, 0), Aged(2, 0)),
        (3, Aged(2, 1), Aged(2, 1)),
        (4, Aged(4, 0), Aged(2, 2)),
    ]
    assert ticks(calls, "early") == [2, 3, 4]


def test_a_bypassed_node_hands_on_what_feeds_it() -> None:
    entries = {
        "game": GAME,
        "pass": node("Sum", {"a": "game.count"}, mode="bypass"),
        "flag": node("Even", {"a": "game.count"}, mode="bypass"),
        "look": node("Look", {"a": "pass.number"}),
        "shut": node("Beat", when="flag.flag"),
    }
    _, calls = play(entries, 3)
    assert of(calls, "look") == [(0, 0), (1, 1), (2, 2)]
    assert of(calls, "shut") == []


# -- clocks ----------------------------------------------------------------------------------------


def test_results_of_nodes_of_one_type_are_told_apart() -> None:
    entries = {"first": node("Tells", set={"what": 1}), "second": node("Tells", set={"what": 2})}
    engine = make_engine(entries, [Tells])
    open_engine(engine)
    assert engine.report() == {"told": 1.0, "second.told": 2.0}
    engine.close()


def test_every() -> None:
    entries = {
        "game": GAME,
        "one": node("Add", {"a": "game.count"}),
        "six": node("Add", {"a": "game.count"}, every=6),
        "sixty": node("Beat", every=60, offset=59),
    }
    engine, calls = play(entries, 600)
    times = engine.node_stats()
    for name, runs in {"game": 600, "one": 600, "six": 100, "sixty": 10}.items():
        assert times[name].runs == runs
    assert of(calls, "six")[:3] == [(0, 0, None), (6, 6, None), (12, 12, None)]
    assert ticks(calls, "sixty") == list(range(59, 600, 60))


def test_a_rate_follows_the_frame_rate_of_the_game() -> None:
    entries = {
        "game": {**GAME, "set": {"rate": 59.92}},
        "slow": node("Beat", every="10 hz"),
        "full": node("Beat", every="59.92 hz"),
    }
    minutes = 35952  # ticks of ten minutes
    _, calls = play(entries, minutes)
    opened = ticks(calls, "slow")
    assert len(opened) == 6000
    assert opened[0] == 0
    assert set(np.diff(opened)) == {5, 6}
    assert len(ticks(calls, "full")) == minutes


@pytest.mark.parametrize(("rate", "hertz"), [(49, 1), (60, 10), (50, 25), (107, 1), (60, 0.5)])
def test_a_rate_that_divides_the_frame_rate_is_even(rate: int, hertz: float) -> None:
    _, calls = play(
        {"game": {**GAME, "set": {"rate": float(rate)}}, "slow": node("Beat", every=f"{hertz} hz")},
        2000,
    )
    assert ticks(calls, "slow") == list(range(0, 2000, int(rate / hertz)))


def test_a_rate_without_a_console_is_a_sentence() -> None:
    entries = {
        "const": node("Constant"),
        "add": node("Add", {"a": "const.number"}),
        "beat": node("Sum", {"a": "add.number"}),
    }
    entries["beat"]["every"] = "10 hz"  # and the others inherit it
    engine = make_engine(entries, TYPES)
    with pytest.raises(WorkflowError, match='beat: "every": "10 hz" needs a console'):
        open_engine(engine)
    engine.close()


def test_a_rate_faster_than_the_game_is_a_sentence() -> None:
    engine = make_engine(
        {"game": {**GAME, "set": {"rate": 59.92}}, "beat": node("Beat", every="60 hz")}, TYPES
    )
    with pytest.raises(
        WorkflowError, match=r'beat: "every": "60 hz" is faster than the game, 59\.92 hz'
    ):
        open_engine(engine)


def test_when_runs_only_while_the_flag_is_true() -> None:
    entries = {
        "game": GAME,
        "even": node("Even", {"a": "game.count"}),
        "rare": node("Even", {"a": "game.count"}, every=3, offset=1),
        "mute": node("Even", {"a": "game.count"}, mode="mute"),
        "a": node("Beat", when="even.flag"),
        "b": node("Beat", when="rare.flag"),
        "c": node("Beat", when="mute.flag"),
    }
    _, calls = play(entries, 10)
    assert ticks(calls, "a") == [0, 2, 4, 6, 8]
    assert ticks(calls, "b") == [4, 5, 6]  # the last delivered value holds: 1 odd, 4 even, 7 odd
    assert ticks(calls, "c") == []


def test_every_and_when_open_on_the_same_tick_or_not_at_all() -> None:
    entries = {"game": GAME, "even": node("Even", {"a": "game.count"})}
    entries["both"] = node("Beat", every=3, offset=1, when="even.flag")
    _, calls = play(entries, 20)
    assert ticks(calls, "both") == [4, 10, 16]


def test_a_delivery_waits_until_the_clock_opens() -> None:
    entries = {
        "game": GAME,
        "one": node("Add", {"a": "game.count"}, every=100, offset=1),
        "even": node("Even", {"a": "game.count"}),
        "every": node("Look", {"a": "one.number"}, every=5, offset=3),
        "when": node("Look", {"a": "one.number"}, when="even.flag"),
    }
    _, calls = play(entries, 20)
    assert of(calls, "every") == [(3, 1)]
    assert of(calls, "when") == [(2, 1)]


def test_a_node_without_links_runs_once_when_its_clock_first_opens() -> None:
    entries = {
        "game": GAME,
        "even": node("Even", {"a": "game.count"}),
        "now": node("Constant"),
        "late": node("Constant", every=6, offset=4),
        "gated": node("Constant", when="even.flag", every=5, offset=1),
        "asked": node("Constant"),
        "asking": node("Look", {"a": "asked.number"}, every=6, offset=4),
    }
    _, calls = play(entries, 30)
    assert ticks(calls, "now") == [0]
    assert ticks(calls, "late") == [4]
    assert ticks(calls, "gated") == [6]
    assert of(calls, "asking") == [(4, 7)]


def test_a_register_has_no_clock() -> None:
    for clock in ({"every": 2}, {"every": "10 hz"}, {"when": "even.flag"}):
        with pytest.raises(
            WorkflowError, match='game: "every", "when" and "optional" are not for a register'
        ):
            make_engine(
                {"game": {**GAME, **clock}, "even": node("Even", {"a": "game.count"})}, TYPES
            )


# -- clocks that are inherited ---------------------------------------------------------------------


def test_a_node_without_state_runs_as_often_as_the_slower_ones_that_read_it() -> None:
    entries = {
        "game": GAME,
        "draw": node("Add", {"a": "game.view"}),
        "again": node("Add", {"a": "draw.number"}),
        "slow": node("Look", {"a": "again.number"}, every=6),
        "slower": node("Look", {"a": "draw.number"}, every=8),
    }
    _, calls = play(entries, 600)
    sixths = range(0, 600, 6)
    eighths = range(0, 600, 8)
    assert ticks(calls, "again") == list(sixths)
    assert ticks(calls, "draw") == sorted({*sixths, *eighths})
    assert of(calls, "slow")[1] == (6, 106)


def looks(entries: Entries, count: int) -> int:
    engine, _ = play(entries, count)
    result: int = engine.nodes["game"].looks
    return result


def test_a_lazy_output_is_read_only_on_the_ticks_on_which_it_is_needed() -> None:
    assert looks({"game": GAME}, 600) == 0
    assert looks({"game": GAME, "slow": node("Look", {"a": "game.view"}, every=6)}, 600) == 100
    assert looks({"game": GAME, "ages": node("Ages", {"a": "game.view"}, every=6)}, 600) == 100
    assert (
        looks(
            {
                "game": GAME,
                "a": node("Look", {"a": "game.view"}),
                "b": node("Add", {"a": "game.view"}),
            },
            600,
        )
        == 600
    )


def test_a_lazy_output_waits_for_a_flag_made_of_another_output_of_the_same_register() -> None:
    entries = {
        "game": GAME,
        "even": node("Even", {"a": "game.count"}),
        "think": node("Sum", {"a": "overlay.number"}, when="even.flag"),
        "overlay": node("Add", {"a": "game.view"}),
    }
    assert looks(entries, 600) == 300


def test_no_clock_is_inherited_where_a_slower_node_would_see_less() -> None:
    """What each of these gives out between tick 0 and tick 6 it could not
    give out again on tick 6.
    """
    entries = {
        "game": GAME,
        "four": node("Constant", every=100, offset=4),
        "event": node("Event", {"a": "four.number"}),
        "see_event": node("Look", {"a": "event.number"}, every=6),
        "even": node("OnlyEven", {"a": "game.count"}),
        "see_even": node("Look", {"a": "even.number"}, every=5),
        "bad": node("Breaks", {"a": "game.count"}, set={"at": 6}, on_error="hold"),
        "see_bad": node("Look", {"a": "bad.number"}, every=6),
        "dated": node("Add", {"a": "four.number"}),
        "see_date": node("Ages", {"a": "dated.number"}, every=6),
    }
    _, calls = play(entries, 7)
    assert of(calls, "see_event") == [(6, 7)]
    assert of(calls, "see_even") == [(0, 0), (5, 4)]
    assert of(calls, "see_bad") == [(0, 0), (6, 5)]
    assert of(calls, "see_date") == [(6, Aged(7, 2), None)]


def test_a_flag_keeps_its_own_pace() -> None:
    entries = {
        "game": GAME,
        "parts": node("Parts", {"a": "game.count"}),
        "slow": node("Look", {"a": "parts.number"}, every=5),
        "gated": node("Beat", when="parts.flag"),
    }
    _, calls = play(entries, 6)
    assert ticks(calls, "gated") == [0, 2, 4]


def test_no_clock_is_inherited_from_a_flag_that_comes_later() -> None:
    entries = {
        "game": GAME,
        "add": node("Add", {"a": "game.count"}),
        "sum": node("Sum", {"a": "add.number"}, every=2),
        "even": node("Even", {"a": "sum.number"}),
        "gated": node("Even", {"a": "add.number"}, when="even.flag"),
        "last": node("Beat", when="gated.flag"),
    }
    _, calls = play(entries, 6)
    assert of(calls, "sum") == [(0, 0), (2, 2), (4, 4)]  # adds up to 0, 2, 6
    assert of(calls, "gated") == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert ticks(calls, "last") == [0, 2, 4]


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_stops_the_run_and_names_the_node() -> None:
    engine, _ = start({"game": GAME, "bad": node("Breaks", {"a": "game.count"})})
    with pytest.raises(
        NodeFailed, match=r"^bad \(Breaks\) failed on tick 3: ValueError: no$"
    ) as caught:
        engine.advance(10)
    assert caught.value.node == "bad"
    assert isinstance(caught.value.__cause__, ValueError)


def test_on_hold_the_last_output_stands_and_the_error_is_counted() -> None:
    entries = {
        "game": GAME,
        "bad": node("Breaks", {"a": "game.count"}, on_error="hold"),
        "look": node("Look", {"a": "bad.number"}),
        "both": node("Add", {"a": "game.count", "b": "bad.number"}),
    }
    engine, calls = play(entries, 6)
    assert of(calls, "look") == [(0, 0), (1, 1), (2, 2), (4, 4), (5, 5)]
    assert of(calls, "both")[3] == (3, 3, 2)
    times = engine.node_stats()
    assert (times["bad"].runs, times["bad"].skips, times["bad"].errors) == (6, 0, 1)
    assert times["look"].errors == 0


def test_a_register_on_hold() -> None:
    entries = {
        "game": GAME,
        "back": node("Back", {"value": "game.count"}, set={"fails": True}, on_error="hold"),
        "after": node("Back", {"value": "game.count"}),
        "torn": node("Torn", on_error="hold"),
        "look": node("Look", {"a": "back.number"}),
        "see": node("Look", {"a": "torn.view"}),
    }
    engine, calls = play(entries, 6)
    assert of(calls, "look") == [(1, 0), (2, 0), (3, 2), (4, 2), (5, 4)]
    assert of(calls, "after", "latch") == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert of(calls, "see") == [(0, 0), (2, 2), (4, 4)]
    times = engine.node_stats()
    assert times["back"].errors == 3
    assert times["torn"].errors == 3


def test_undeclared_absence_is_a_sentence() -> None:
    engine, _ = start({
        "game": GAME, "bad": node("Undeclared", {"a": "game.count"}),
        "look": node("Look", {"a": "bad.number"})
    })  # fmt: skip
    with pytest.raises(
        NodeFailed, match="ABSENT was returned for the output 'number', which is not declared"
    ):
        engine.advance(1)


# -- the books -------------------------------------------------------------------------------------


def test_runs_and_skips_are_the_ticks() -> None:
    entries = {
        "game": {**GAME, "set": {"length": 20}},
        "even": node("OnlyEven", {"a": "game.count"}),
        "back": node("Back", {"value": "even.number"}),
        "late": node("Sum", {"a": "back.number"}, every=3),
        "bad": node("Breaks", {"a": "game.count"}, on_error="hold"),
        "never": node("Look", {"a": "muted.number"}),
        "muted": node("Sum", {"a": "game.count"}, mode="mute"),
    }
    engine, _ = start(entries)
    for index in range(3):
        engine.reset(index, seed=0)
        engine.advance(100)
    times = engine.node_stats()
    assert engine.total_ticks == engine.times.count == 63
    assert set(times) == set(entries) - {"muted"}
    for stats in times.values():
        assert stats.runs + stats.skips == 63
    assert times["game"].runs == 63
    assert times["never"].runs == 0


def test_timings_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minibrains.engine.engine.perf_counter", itertools.count().__next__)
    entries = {
        "game": GAME,
        "add": node("Add", {"a": "game.count"}),
        "bad": node("Breaks", {"a": "game.count"}, on_error="hold"),
        "sum": node("Sum", {"a": "bad.number"}),
    }
    engine, _ = start(entries)
    tick_times: list[float] = []
    monkeypatch.setattr(engine.times, "add", tick_times.append)
    engine.advance(10)
    seconds = {name: times.seconds for name, times in engine.node_stats().items()}
    # a call takes a second here; a game is called twice
    assert seconds == {
        "game": 20,
        "add": 10,
        "bad": 10,
        "sum": 9,
    }
    assert sum(tick_times) == sum(seconds.values())


def test_quantiles_of_tick_times_are_exact_to_one_per_cent() -> None:
    times = LatencyHistogram()
    assert times.quantile(0.5) is None
    for microseconds in range(1, 10001):
        times.add(microseconds * 1e-6)
    assert times.quantile(0.5) == pytest.approx(5000e-6, rel=0.01)
    assert times.quantile(0.99) == pytest.approx(9900e-6, rel=0.01)
    assert times.quantile(1.0) == pytest.approx(times.longest, rel=0.01)
    assert times.longest == 10000e-6


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 127e-9, 128e-9, 255e-9, 256e-9, 1e-6, 0.016, 60.0])
def test_a_tick_time_is_found_where_it_belongs(seconds: float) -> None:
    times = LatencyHistogram()
    for _ in range(513):  # they are sorted many at a time
        times.add(seconds)
    assert times.count == 513
    assert times.quantile(0.5) == pytest.approx(seconds, rel=0.01, abs=1e-9)


# -- life ------------------------------------------------------------------------------------------


def test_every_node_is_closed_whatever_happens_in_the_others() -> None:
    stuck = node("Faulty", set={"fails": "close"})
    engine, calls = start({"a": stuck, "b": stuck, "c": stuck})
    calls.clear()
    assert engine.close() == [
        "c could not be closed: ValueError: it is stuck",
        "b could not be closed: ValueError: it is stuck",
        "a could not be closed: ValueError: it is stuck",
    ]
    assert engine.close() == []
    assert calls == [
        Call("c", 0, "close", ()),
        Call("b", 0, "close", ()),
        Call("a", 0, "close", ()),
    ]


def test_what_was_opened_is_closed_when_the_rest_could_not_be_opened() -> None:
    engine = make_engine(
        {"a": node("Faulty"), "b": node("Faulty", set={"fails": "open"}), "c": node("Faulty")},
        TYPES,
    )
    calls: list[Call] = []
    with pytest.raises(
        NodeFailed, match=r"^b \(Faulty\) failed before the first tick: ValueError: it is stuck$"
    ):
        open_engine(engine, calls)
    engine.close()
    assert [(call.node, call.what) for call in calls] == [
        ("a", "open"),
        ("b", "open"),
        ("b", "close"),
        ("a", "close"),
    ]


def test_stopping_ends_the_run_after_the_current_tick() -> None:
    engine, calls = start(
        {
            "stop": node("Stops", {"a": "game.count"}),
            "game": GAME,
            "look": node("Look", {"a": "game.count"}),
        }
    )
    assert not engine.advance(100)
    assert engine.tick == 4
    assert ticks(calls, "look") == [0, 1, 2, 3]
    assert calls[-1] == Call("game", 3, "latch", (None,))


def test_sizes_that_only_the_opened_node_knows_are_checked() -> None:
    def entries(height: int) -> Entries:
        return {
            "reads": node("Reads", {"image": "screen.frame"}, set={"height": height}),
            "screen": node("Screen"),
        }

    play(entries(4), 1)
    with pytest.raises(WorkflowError) as caught:
        play(entries(5), 1)
    (fault,) = caught.value.faults
    assert str(fault) == (
        "reads.image: the link from screen.frame does not fit; "
        "expected frame u8[5 w 3], found frame u8[4 6 3] at screen.frame. "
        "5 comes from the widget reads.height, 4 is what screen found when it was opened"
    )


def test_a_long_chain_compiles_and_runs() -> None:
    entries = {"n0": {"type": "Game@1"}, "n1": node("Add", {"a": "n0.count"})}
    for place in range(2, 10_000):
        entries[f"n{place}"] = node(
            "Add", {"a": f"n{place - 1}.number", "b": f"n{place // 2}.number"}
        )
    _, calls = play(dict(reversed(entries.items())), 2)
    assert len(calls) == 2 * 9_999 + 4


class Quiet(Register):
    """Gives out a new object on each tick and notes nothing."""

    def reset(self, episode: Episode) -> None:
        self.count = 0.5

    def emit(self) -> Shown:
        held = self.count
        return Shown(held, lambda: held + 1, False)

    def latch(self, pad: On[Number] = None) -> None:
        self.count += 1
        if pad is not None:
            self.count += 1


class Pass(Node, every_tick=True):
    def tick(self, a: Number, s: Aged[Number], e: On[Number] = None) -> Number | Absent:
        if a % 3 < 1:
            return ABSENT
        return a + s.age


class Throws(Node):
    def tick(self, a: Number) -> Number:
        raise MinibrainsError("no")


def memory_stays_flat(ticks: int) -> None:
    entries = {
        "game": node("Quiet", {"pad": "pass.number"}),
        "pass": node("Pass", {"a": "game.view", "s": "game.count", "e": "slow.number"}),
        "slow": node("Pass", {"a": "game.count", "s": "game.view", "e": "game.view"}, every=7),
        "bad": node("Throws", {"a": "game.count"}, on_error="hold", every=50),
    }
    engine = make_engine(entries, [Quiet, Pass, Throws])
    open_engine(engine)
    engine.reset(0, seed=0)
    tracemalloc.start()
    try:
        engine.advance(10_000)
        before, _ = tracemalloc.get_traced_memory()
        engine.advance(ticks - 10_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 50_000


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    memory_stays_flat(200_000)


@pytest.mark.soak
def test_memory_stays_flat_for_a_million_ticks() -> None:
    memory_stays_flat(1_000_000)


# -- chance ----------------------------------------------------------------------------------------


def drawn(entries: Entries, episodes: list[int]) -> dict[int, list[Call]]:
    """What `dice` drew in each episode."""
    engine, calls = start(entries)
    result = {}
    for index in episodes:
        calls.clear()
        engine.reset(index, seed=3)
        engine.advance(3)
        result[index] = [call for call in calls if call.node == "dice"]
    return result


def test_chance_depends_on_seed_node_and_episode_alone() -> None:
    alone = drawn({"dice": node("Dice")}, [0, 1, 2])
    assert drawn({"before": node("Dice"), "dice": node("Dice"), "game": GAME}, [0, 1, 2]) == alone
    assert drawn({"dice": node("Dice")}, [2, 0, 1, 2]) == alone
    assert drawn({"dice": node("Dice")}, [1]) == {1: alone[1]}
    draws = set()
    for calls in alone.values():
        for call in calls:
            draws.add(call.arguments)
    assert len(draws) == 9
