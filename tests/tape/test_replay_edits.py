"""Whatever is edited while nodes think, and however late they are: a replay,
also from the middle, comes to the same.
"""

from __future__ import annotations

import pickle
import random
import time
from typing import Any, NamedTuple

from minibrains.engine.engine import Engine
from minibrains.tape.recording import TapePlayer
from tests.support.engine_fixtures import Entries, FakeHost, Written, make_plan
from tests.support.thinking_nodes import Clock, Even, InThread, Seen

TYPES = (Clock, Even, InThread, Seen)


class Stretch(NamedTuple):
    """So many ticks of one graph; each with the decimation of optional nodes."""

    graph: Entries
    decimation: list[int]


class Saved(NamedTuple):
    """What a snapshot holds, and where in the run it was taken."""

    stretch: int
    place: int
    tick: int
    state: bytes


def test_a_run_of_random_edits_replays_from_its_beginning_and_from_the_middle() -> None:
    for seed in range(40):
        dice = random.Random(seed)
        run = [
            Stretch(_graph(dice), dice.choices([1, 2, 4], k=dice.randint(3, 20))) for _ in range(5)
        ]
        written = Written()
        saved: list[Saved] = []
        played = _play(run, written, saved)
        for start in (saved[0], dice.choice(saved)):
            tape = TapePlayer(written.events)
            again = _play(run, tape, start=start)
            assert again == [[each for each in seen if each[0] >= start.tick] for seen in played], (
                seed,
                start.tick,
            )
            assert not any(tape._events.values()), "all of it was given out"


def _play(
    run: list[Stretch], tape: Any, saved: list[Saved] | None = None, start: Saved | None = None
) -> list[Any]:
    """Everything the Seen nodes saw.

    In real time if it is written down: nodes are late, on other ticks each time.
    """
    first, place = (0, 0) if start is None else (start.stretch, start.place)
    engine = Engine(make_plan(run[first].graph, TYPES), tape=tape)
    try:
        engine.open(FakeHost)
        engine.reset(0, 0)
        engine.context.realtime = not tape.replays
        if start is not None:
            engine.load_state(pickle.loads(start.state))
        tape.begin(engine)
        for number, (graph, decimation) in list(enumerate(run))[first:]:
            if number > first:
                edit = engine.prepare(make_plan(graph, TYPES), None, FakeHost)
                engine.edits.append(edit)
                engine.apply_edits()
                assert engine.finish_edit(edit) == []
            for tick in range(place, len(decimation)):
                if saved is not None:
                    saved.append(
                        Saved(
                            number,
                            tick,
                            engine.total_ticks,
                            pickle.dumps(engine.state(background=False)),
                        )
                    )
                    time.sleep(0.0005)
                engine.context.decimation = decimation[tick]
                engine.advance(1)
            place = 0
        return [engine.nodes[name].all for name in ("seen", "seen_after", "seen_clock")]
    finally:
        assert engine.close() == []


def _graph(dice: random.Random) -> Entries:
    """A clock, a node that thinks about its number now and then, and one that thinks about that."""
    slow: dict[str, Any] = {"busy": dice.choice(["wait", "continue"])}
    if slow["busy"] == "continue" and dice.random() < 0.7:
        slow["latency"] = dice.randint(1, 9)
    if dice.random() < 0.4:
        slow["every"] = dice.choice([2, 3, 7])
    if dice.random() < 0.3:
        slow["when"] = "even.flag"
    if dice.random() < 0.15:
        slow["mode"] = "mute"
    slow["optional"] = dice.random() < 0.3
    widgets = {"most": 4.0, "add": dice.randint(0, 3), "fails": dice.randint(0, 60)}
    return {
        "clock": {"type": "Clock@1"},
        "even": {"type": "Even@1", "in": {"number": "clock.number"}},
        "rare": {
            "type": "InThread@1",
            "in": {"number": "clock.number"},
            "every": dice.choice([1, 5, 20]),
        },
        "slow": {
            "type": "InThread@1",
            "in": {"number": "rare.number"},
            "set": widgets,
            "on_error": "hold",
            **slow,
        },
        "after": {
            "type": "InThread@1",
            "in": {"number": "slow.number"},
            "busy": dice.choice(["wait", "continue"]),
        },
        "seen": {"type": "Seen@1", "in": {"value": "slow.number"}},
        "seen_after": {"type": "Seen@1", "in": {"value": "after.number"}},
        "seen_clock": {"type": "Seen@1", "in": {"value": "clock.number"}},
    }
