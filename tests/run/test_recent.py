"""The last ticks of a run that goes on are kept in memory, and are shown again as they were."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import minibrains as mb
from minibrains.engine.compile import compile_graph
from minibrains.errors import RunError
from minibrains.graph.workflow import parse_workflow
from minibrains.run.rewind import Rewind
from minibrains.tape import recent, recording
from minibrains.tape.recent import RecentTape
from minibrains.tape.recording import FILE, decode_events, read_events, tapes_in
from minibrains.tape.tape import Event
from tests.support.output_values import Watches, output_values
from tests.support.paths import DATA
from tests.support.thinking_workflow import thinking_workflow

PACK = DATA / "thinking_pack.py"
TICKS = 500
EDITED_AT = 130


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a hundred ticks, with snapshots at least 50 ticks apart."""
    monkeypatch.setattr(recent, "TICKS", 100)
    monkeypatch.setattr(recording, "_RECENT_TICKS", 50)
    monkeypatch.setattr(recording, "_RECENT_SECONDS", 0.0)
    monkeypatch.setattr(recording, "_RECENT_SHARE", float("inf"))


def workflow(**more: Any) -> dict[str, Any]:
    """A workflow with a Preview of a number."""
    data = thinking_workflow(noop_max=0, **more)
    data["nodes"]["shown"] = {"type": "Preview@2", "in": {"value": "ponder.number"}}
    return data


def recent_events(run: mb.Run) -> list[Event]:
    """Return the last ticks, once the snapshots are written from which they begin."""
    assert run.recorder is not None
    while True:
        events = decode_events(run.recorder.recent_records())
        if events[0].value.get("first", 0) > run.engine.total_ticks - 200:
            return events
        threading.Event().wait(0.01)


class Keeps(Watches):
    """Notes what is on the wires, changes the graph once, and takes the last ticks at some."""

    def __init__(self, *at: int) -> None:
        super().__init__()
        self.taken: dict[int, list[Event]] = {}
        self._at = at
        self._editors: list[threading.Thread] = []

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        if run.engine.total_ticks == EDITED_AT and not self._editors:
            plan = compile_graph(run.check(parse_workflow(workflow(hold=3))))
            editor = threading.Thread(target=run.edit, args=(plan,))
            self._editors.append(editor)
            editor.start()
            while not run.engine.edits:
                threading.Event().wait(0.01)
            run.engine.apply_edits()
        if run.engine.total_ticks in self._at:
            self.taken[run.engine.total_ticks] = recent_events(run)
        return super().between_ticks(run)


def play(spec: mb.RunSpec, hook: Keeps, **more: Any) -> mb.Run:
    with mb.Run(spec, [hook], recent=RecentTape(), **more) as run:
        for _ in run:
            pass
    return run


SPEC = mb.RunSpec(workflow(), episodes=2, ticks=TICKS // 2, seed=5, packs=(PACK,))


def scan(rewind: Rewind) -> None:
    """Play all of it once, and check that it is the same."""
    for _ in rewind.scan():
        pass
    assert rewind.difference is None


def assert_shown_as_seen(rewind: Rewind, tick: int, keeps: Keeps) -> None:
    """Assert that a tick is shown as it was."""
    rewind.go_to(tick)
    assert output_values(rewind.run.engine) == keeps.seen[tick], (rewind.last, tick)


def test_every_one_of_the_last_ticks_is_shown_as_it_was() -> None:
    # all of a short run; over an edit; over the end of an episode; long after all that
    keeps = Keeps(40, 170, 260, 450)
    run = play(SPEC, keeps)
    assert not list(run.dir.glob("*.tape"))

    for present, events in keeps.taken.items():
        with Rewind(events, run.registry) as rewind:
            scan(rewind)

            # at least a hundred ticks are kept, and not all of a long run
            assert rewind.last == present
            assert rewind.first <= max(0, present - 100)
            assert rewind.first > 0 or present < 200
            assert len(rewind.digests) == present - rewind.first

            # backwards, and to a tick before the first one
            for tick in range(present, rewind.first - 1, -7):
                assert_shown_as_seen(rewind, tick, keeps)
            rewind.go_to(0)
            assert rewind.tick == rewind.first

            # the course of a value
            course = rewind.series["shown.value"]
            begins = [tick for tick, _ in course]
            ends = [*begins[1:], present + 1]
            for (begin, value), end in zip(course, ends, strict=True):
                on_wire = {keeps.seen[tick]["ponder.number"] for tick in range(begin, end)}
                on_wire.discard("None")  # an episode begins without a value
                assert on_wire == {repr(value)}

            # the edit, if it is one of the last ticks
            edits = [mark.tick for mark in rewind.marks if mark.kind == "edit"]
            if rewind.first <= EDITED_AT <= present:
                assert edits == [EDITED_AT]
            else:
                assert edits == []


class Records(Keeps):
    """Begins tapes in the middle of a run, and ends them."""

    def __init__(self, *switched_at: int) -> None:
        super().__init__(*switched_at[::2])
        self._switched_at = switched_at

    def between_ticks(self, run: mb.Run) -> mb.Budget:
        budget = super().between_ticks(run)  # waits until there is a snapshot to begin with
        recorder, tick = run.recorder, run.engine.total_ticks
        assert recorder is not None
        if tick not in self._switched_at:
            return budget
        if not recorder.is_recording:
            recorder.start_recording(run.dir)
            with pytest.raises(RunError, match="is being recorded already"):
                recorder.start_recording(run.dir)
            return budget
        recorder.stop_recording()
        with pytest.raises(RunError, match="is not being recorded"):
            recorder.stop_recording()
        return budget


def test_a_tape_begins_and_ends_in_the_middle_of_a_run(tmp_path: Path) -> None:
    # within a game; over the end of a game
    records = Records(200, 230, 240, 400)
    run = play(replace(SPEC, runs=tmp_path), records)
    assert run.engine.total_ticks == TICKS

    first, second = tapes_in(run.dir)
    assert [tape.name for tape in (first, second)] == ["run.tape", "run-2.tape"]
    for tape, begun, ended in ((first, 200, 230), (second, 240, 400)):
        events, sentence = read_events(tape)
        assert sentence == ""
        with Rewind(events, run.registry) as rewind:
            scan(rewind)
            assert rewind.first < begun
            assert rewind.last == ended
            for tick in range(rewind.first, ended, 7):
                assert_shown_as_seen(rewind, tick, records)


def test_a_fork_of_the_last_ticks_goes_on_as_the_run_did(tmp_path: Path) -> None:
    keeps = Keeps(450)
    run = play(SPEC, keeps)
    with Rewind(keeps.taken[450], run.registry) as rewind:
        scan(rewind)
        first = rewind.first
        assert first > 250
        rewind.go_to(420)
        point = rewind.fork_point()

    # it goes on as the run did
    forked = Keeps(430, 480)
    spec = mb.RunSpec(point.spec().workflow, packs=(PACK,), runs=tmp_path, record=True)
    play(spec, forked, registry=run.registry, fork=point)
    assert forked.seen == {tick: seen for tick, seen in keeps.seen.items() if tick >= 420}

    # its own last ticks and its tape can be played; both begin with the ticks before the fork
    (tape,) = tmp_path.glob(f"*/{FILE}")
    events_of_tape, _ = read_events(tape)
    taken = {**forked.taken, TICKS: events_of_tape}
    for present, events in taken.items():
        with Rewind(events, run.registry) as rewind:
            assert list(rewind.scan()) == list(range(first + 1, present + 1))
            assert rewind.difference is None
            for tick in (present, first, 425):
                assert_shown_as_seen(rewind, tick, keeps)


def test_less_is_kept_rather_than_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "LIMIT", 200)
    tape = RecentTape()
    tape.append(Event(0, "", "header", {"path": ""}), b"")
    present = Event(90, "", "check", {})

    # everything, as long as it is not too much
    for tick in range(10, 60, 10):
        event = Event(tick, "ponder", "result", "a" * 20)
        tape.append(event, event.encode())
    kinds = [event.kind for event in decode_events(tape.records(present))]
    assert kinds.count("result") == 5

    # too much, and no snapshot to begin with
    large = Event(60, "ponder", "result", "a" * 300)
    tape.append(large, large.encode())
    with pytest.raises(RunError, match="not kept yet"):
        tape.records(present)

    # a snapshot that is not finished
    place = tape.begin_snapshot(70)
    with pytest.raises(RunError, match="not kept yet"):
        tape.records(present)

    # only what came after the snapshot
    snapshot = Event(70, "", "snapshot", b"state")
    tape.end_snapshot(place, snapshot.encode())
    header, begin, end = decode_events(tape.records(present))
    assert header.value == {"path": "", "first": 70}
    assert (begin.kind, begin.tick) == ("snapshot", 70)
    assert end == present


def test_what_cannot_be_on_a_tape_ends_no_run_that_is_not_recorded() -> None:
    recorder = recording.Recorder(recent=RecentTape(), to_file=False)
    with mb.Run(mb.RunSpec("airstriker_random", episodes=1, ticks=20), [recorder]) as run:
        for _ in run:
            recorder.add("random", "result", object())
            with pytest.raises(RunError, match="are not kept: the value of random"):
                recorder.recent_records()
    assert run.state == "done"
