"""A recorded run shows at each tick, forwards and backwards, exactly what was on its wires then."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import minibrains as mb
from minibrains.engine.compile import compile_graph
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.run.rewind import Mark, Rewind
from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from tests.support.output_values import Watches, output_values
from tests.support.paths import DATA
from tests.support.thinking_workflow import thinking_workflow

PACK = DATA / "thinking_pack.py"
TICKS = 150
EDITED_AT = 70


class Edits(Watches):
    """Notes what is on the wires between all ticks, and changes the graph once."""

    def __init__(self) -> None:
        super().__init__()
        self.editor: threading.Thread | None = None

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        if run.engine.total_ticks == EDITED_AT and self.editor is None:
            plan = compile_graph(run.check(parse_workflow(thinking_workflow(noop_max=0, hold=3))))
            self.editor = threading.Thread(target=run.edit, args=(plan,))
            self.editor.start()
            while not run.engine.edits:
                threading.Event().wait(0.01)
            run.engine.apply_edits()
        return super().between_ticks(run)


class Recorded(NamedTuple):
    seen: dict[int, dict[str, Any]]
    events: list[Event]
    registry: Registry


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    runs = tmp_path_factory.mktemp("runs")
    watches = Edits()
    spec = mb.RunSpec(
        thinking_workflow(noop_max=0),
        episodes=2,
        ticks=TICKS,
        seed=5,
        packs=(PACK,),
        record=True,
        runs=runs,
    )
    with mb.Run(spec, [watches]) as run:
        for _ in run:
            pass
    assert watches.editor is not None
    watches.editor.join()
    (tape,) = runs.glob(f"*/{FILE}")
    events, cut = read_events(tape)
    assert not cut
    return Recorded(watches.seen, events, run.registry)


@pytest.fixture(scope="module")
def rewind(recorded: Recorded) -> Iterator[Rewind]:
    with Rewind(recorded.events, recorded.registry) as rewind:
        assert list(rewind.scan()) == list(range(1, 2 * TICKS + 1))
        yield rewind


def test_at_every_tick_the_wires_carry_what_they_carried(
    recorded: Recorded, rewind: Rewind
) -> None:
    assert rewind.difference is None
    dice = random.Random(1)
    # before and after the edit, across episodes, one by one backwards, and anywhere
    ticks = [
        EDITED_AT + 5,
        EDITED_AT - 1,
        TICKS + 3,
        62,
        61,
        60,
        59,
        *dice.sample(range(1, 300), 12),
    ]
    for tick in ticks:
        rewind.go_to(tick)
        assert rewind.tick == tick
        assert output_values(rewind.run.engine) == recorded.seen[tick], tick


def test_a_tick_that_is_not_there_is_the_first_or_the_last(rewind: Rewind) -> None:
    rewind.go_to(10**9)
    assert rewind.tick == 2 * TICKS
    rewind.go_to(-5)
    assert rewind.tick == 0


def test_marks_are_where_it_happened(recorded: Recorded, rewind: Rewind) -> None:
    of: dict[str, list[Mark]] = {}
    for mark in rewind.marks:
        of.setdefault(mark.kind, []).append(mark)
    rewards = [
        tick
        for tick, seen in recorded.seen.items()
        if seen["console.reward"] not in ("0.0", "None")
    ]
    assert [mark.tick for mark in of.get("reward", [])] == rewards
    assert [mark.tick for mark in of["edit"]] == [EDITED_AT]
    assert [mark.tick for mark in of["episode"]] == [TICKS, 2 * TICKS]
    arrived = [event.tick for event in recorded.events if event.kind == "result"]
    assert [mark.tick for mark in of["decision"]] == arrived
    assert arrived
