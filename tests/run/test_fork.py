"""A run that begins in the middle of a recorded one goes on exactly as that did, or as it would
have gone with another workflow.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import minibrains as mb
from minibrains.errors import RunError
from minibrains.graph.registry import Registry
from minibrains.run.digest import first_difference
from minibrains.run.fork import ForkPoint
from minibrains.run.rewind import Rewind
from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from tests.support.output_values import Watches
from tests.support.paths import DATA
from tests.support.thinking_workflow import thinking_workflow

THINKING, ASKING = DATA / "thinking_pack.py", DATA / "asking_pack.py"


class Recorded(NamedTuple):
    rows: list[Mapping[str, Any]]
    seen: dict[int, dict[str, Any]]
    events: list[Event]
    registry: Registry


def record(spec: mb.RunSpec, runs: Path, *hooks: mb.Hook) -> Recorded:
    """Record a run."""
    watches = Watches()
    rows = []
    with mb.Run(replace(spec, record=True, runs=runs), [*hooks, watches]) as run:
        for episode in run:
            rows.append(episode.row)
    return Recorded(rows, watches.seen, read_tape(runs), run.registry)


def read_tape(runs: Path) -> list[Event]:
    (tape,) = runs.glob(f"*/{FILE}")
    events, cut = read_events(tape)
    assert not cut
    return events


@contextmanager
def rewound(recorded: Recorded) -> Iterator[Rewind]:
    with Rewind(recorded.events, recorded.registry) as rewind:
        for _ in rewind.scan():
            pass
        assert rewind.difference is None
        yield rewind


def fork_points(recorded: Recorded, *ticks: int) -> list[ForkPoint]:
    """Return forks at these ticks, as another process would get them."""
    points = []
    with rewound(recorded) as rewind:
        for tick in ticks:
            rewind.go_to(tick)
            points.append(pickle.loads(pickle.dumps(rewind.fork_point())))
    return points


def play(recorded: Recorded, point: ForkPoint, runs: Path, **changes: Any) -> Recorded:
    """Play a fork to its end."""
    watches = Watches()
    spec = replace(point.spec(), runs=runs, **changes)
    with mb.Run(spec, [watches], registry=recorded.registry, fork=point) as run:
        rows = [episode.row for episode in run]
    return Recorded(rows, watches.seen, read_tape(runs), recorded.registry)


def digests(recorded: Recorded) -> list[bytes]:
    with rewound(recorded) as rewind:
        return rewind.digests


def later(seen: dict[int, dict[str, Any]], tick: int) -> dict[int, dict[str, Any]]:
    return {at: values for at, values in seen.items() if at >= tick}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workflow", "ticks", "tick"),
    [
        ("airstriker_pixels", 300, 137),
        ("duel_vector", 600, 331),
        pytest.param("meadow_walk", 600, 300, marks=pytest.mark.slow),
    ],
)
def test_without_a_change_it_is_the_same_game(
    workflow: str, ticks: int, tick: int, tmp_path: Path
) -> None:
    recorded = record(mb.RunSpec(workflow, episodes=1, ticks=ticks, seed=3), tmp_path / "played")
    (point,) = fork_points(recorded, tick)
    forked = play(recorded, point, tmp_path / "forked")
    assert forked.rows == recorded.rows
    assert forked.seen == later(recorded.seen, tick)
    assert digests(forked) == digests(recorded)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A run of two episodes in which nodes are asked now and then, also while they think."""
    asked = {"type": "asking_pack.Answers@1", "in": {"number": "sometimes.number"}}
    workflow = {
        "minibrains": 1,
        "nodes": {
            "sometimes": {"type": "asking_pack.Sometimes@1"},
            "at_once": {**asked, "busy": "continue", "latency": 4},
            "on_time": {**asked, "busy": "continue", "latency": 4, "every": 6},
            "waits": {**asked, "busy": "wait", "every": 3},
            "totals": {
                "type": "asking_pack.Totals@1",
                "in": {
                    "these": "at_once.number",
                    "those": "on_time.number",
                    "others": "waits.number",
                },
            },
            "reads": {"type": "asking_pack.Reads@1", "in": {"number": "totals.number"}},
        },
    }
    spec = mb.RunSpec(workflow, episodes=2, ticks=40, packs=(ASKING,))
    return record(spec, tmp_path_factory.mktemp("asking"))


def test_from_every_tick_thoughts_go_on(asking: Recorded, tmp_path: Path) -> None:
    for tick, point in enumerate(fork_points(asking, *range(80))):
        episode = tick // 40
        end = 40 * (episode + 1)
        if tick <= end - 4:
            # after that, it may begin at an earlier tick, because an answer never came
            assert point.tick == tick
        forked = play(asking, point, tmp_path / str(tick))
        wanted = {at: seen for at, seen in asking.seen.items() if point.tick <= at < end}
        assert {at: seen for at, seen in forked.seen.items() if at < end} == wanted, tick
        assert forked.rows == [asking.rows[episode]]


def test_the_tape_of_a_fork_has_the_ends_of_the_games_before(
    asking: Recorded, tmp_path: Path
) -> None:
    (point,) = fork_points(asking, 40)
    forked = play(asking, point, tmp_path)
    with rewound(forked) as rewind:
        ends = [mark.tick for mark in rewind.marks if mark.kind == "episode"]
    assert ends == [40, 80]


def test_it_begins_where_a_node_was_asked_whose_answer_never_came(
    asking: Recorded, tmp_path: Path
) -> None:
    (point,) = fork_points(asking, 39)
    assert point.tick < 39
    assert point.calls.keys() <= {"at_once", "on_time", "waits"}


def test_where_a_game_is_over_nothing_is_left_to_play(asking: Recorded) -> None:
    with rewound(asking) as rewind:
        rewind.go_to(80)
        with pytest.raises(RunError, match="the game is over at tick 80: limit; fork it"):
            rewind.fork_point()


def test_a_state_in_the_background_is_refused(tmp_path: Path) -> None:
    workflow = {
        "minibrains": 1,
        "nodes": {
            "sometimes": {"type": "asking_pack.Sometimes@1"},
            "remembers": {
                "type": "asking_pack.Remembers@1",
                "in": {"number": "sometimes.number"},
            },
        },
    }
    recorded = record(mb.RunSpec(workflow, ticks=10, packs=(ASKING,)), tmp_path)
    with pytest.raises(RunError, match="cannot be forked: remembers has a state"):
        fork_points(recorded, 5)


def test_with_another_widget_it_differs_from_then_on(tmp_path: Path) -> None:
    spec = mb.RunSpec(thinking_workflow(noop_max=0), ticks=150, seed=5, packs=(THINKING,))
    recorded = record(spec, tmp_path / "played")
    (point,) = fork_points(recorded, 63)  # while it thinks
    assert point.calls.keys() == {"ponder"}
    forked = play(recorded, point, tmp_path / "forked", widgets={"random.hold": 3})
    assert forked.rows[0]["actions_sha256"] != recorded.rows[0]["actions_sha256"]

    # its tape is that of a whole run, with the change in it
    with rewound(forked) as rewind:
        assert [mark.tick for mark in rewind.marks if mark.kind == "edit"] == [63]
        found = rewind.digests
        rewind.go_to(70)
        again = rewind.fork_point()
    tick = first_difference((0, digests(recorded)), (0, found))
    assert tick is not None
    assert tick > 63

    # and can be forked again
    same = play(forked, again, tmp_path / "again")
    assert same.seen == later(forked.seen, 70)
    assert same.rows == forked.rows


class Presses(mb.Hook):
    """Plays with a person's pad."""

    def __init__(self, pressed: dict[int, list[str]]) -> None:
        self.pressed = pressed

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        if run.engine.total_ticks in self.pressed:
            run.engine.nodes["pad"].receive(self.pressed[run.engine.total_ticks])
        return mb.Budget(ticks=1)


@pytest.mark.parametrize("takes_over", [False, True])
def test_what_a_person_pressed_is_pressed_again_until_somebody_plays(
    takes_over: bool, tmp_path: Path
) -> None:
    workflow = {
        "minibrains": 1,
        "nodes": {
            "pad": {"type": "PersonPad@1"},
            "console": {
                "type": "RetroEmulator@3",
                "set": {"game": "Pad-Genesis"},
                "in": {"pad1": "pad.pad"},
            },
        },
    }
    pressed = {5: ["KeyA"], 9: [], 15: ["ArrowLeft"], 30: ["KeyS"]}
    played = record(mb.RunSpec(workflow, ticks=40), tmp_path / "played", Presses(pressed))
    (point,) = fork_points(played, 20)
    watches = Watches()
    hooks = [Presses({25: ["ArrowUp"]} if takes_over else {}), watches]
    spec = replace(point.spec(), runs=tmp_path / "forked")
    with mb.Run(spec, hooks, registry=played.registry, fork=point) as run:
        for _ in run:
            pass
    pads = {at: seen["pad.pad"] for at, seen in watches.seen.items()}
    before = {at: seen["pad.pad"] for at, seen in played.seen.items()}
    if takes_over:
        assert pads[24] == before[24] == "('LEFT',)"
        assert set(map(pads.get, range(26, 40))) == {"('UP',)"}
    else:
        assert pads == {at: pad for at, pad in before.items() if at >= 20}
