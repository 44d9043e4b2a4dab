"""Record the tape of a run, and play it back."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import minibrains
from minibrains.brain_file import hash_file
from minibrains.engine.engine import Engine
from minibrains.errors import MinibrainsError, RunError
from minibrains.graph.check import Graph
from minibrains.hooks import Hook
from minibrains.tape import snapshot
from minibrains.tape.recent import Entry, RecentTape
from minibrains.tape.tape import Event, Kind
from minibrains.tape.tape_file import TapeReader, TapeWriter

if TYPE_CHECKING:
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run

FILE: Final = "run.tape"
"""The name of the first tape in the run folder; the next one is `run-2.tape`, and so on."""
_CHECK_EVERY, _SNAPSHOT_EVERY = 1.0, 10.0
"""The least number of seconds between two checks, and between two snapshots."""
_RECENT_TICKS, _RECENT_SECONDS = 300, 1.0
"""The least number of ticks, and of seconds, between two snapshots of the last ticks."""
_RECENT_SHARE = 0.005
"""The largest share of the time that snapshots of the last ticks may take: a node with a large
state is copied less often."""
_COMPARED: Final = ("score", "won", "start", "actions_sha256", "trajectory_sha256")
"""The entries of the nodes' reports that a replay must reproduce."""


class Recorder(Hook):
    """Records everything that reaches a run from outside,
    and at intervals checks and snapshots.

    As a hook it follows the run; as the engine's tape it receives the values from outside. They are
    written to a file, and the last ones may be kept in memory.

    Snapshots are written by a thread of its own: their order on the tape is not that of their
    ticks.
    """

    replays: Final = False

    def __init__(
        self,
        before: Sequence[Event] = (),
        inputs: TapePlayer | None = None,
        recent: RecentTape | None = None,
        to_file: bool = True,
    ) -> None:
        """Record a run; by default one from its beginning.

        Args:
            before: What a fork has in common with the run that it comes from; its tape begins with
                that.
            inputs: The inputs of that run.
            recent: Gets the last ticks; None: they are not kept in memory.
            to_file: Write a tape into the run folder.
        """
        self.inherits = inputs is not None
        self._before, self._inputs, self._recent = before, inputs, recent
        self._to_file = to_file
        self._writer: TapeWriter | None = None
        self._lock = threading.Lock()
        self._snapshots: SimpleQueue[_Snapshot | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._write_snapshots, name="writes snapshots", daemon=True
        )
        self._failure: MinibrainsError | None = None
        self.snapshot_error: str | None = None
        """The reason why there are no more snapshots, if so; the tape can still be replayed from
        its beginning, but the last ticks cannot."""
        self._cost = 0.0
        """Seconds that the last snapshot took."""
        self._checked = self._last_snapshot = self._last_recent = 0.0
        self._recent_tick = 0
        """The tick of the last snapshot that was kept in memory."""

    def after_open(self, run: Run) -> None:
        """Create the tape in the run folder, with a header that says how to open the run again.

        Raises RunError.
        """
        if self._to_file:
            self._writer = TapeWriter(run.dir / FILE)
        self._engine = run.engine
        self._thread.start()
        if self._before:
            for event in self._before:
                self._append(event)
            return
        path = ""
        if run.graph.workflow.path is not None:
            path = str(run.graph.workflow.path.absolute())
        header = {
            "minibrains": minibrains.__version__,
            "path": path,
            "packs": name_packs(map(Path, run.spec.packs)),
            **recorded_workflow(run.graph),
            "facts": run.results.metadata,
        }
        self.add("", "header", header)

    def add(self, node: str, kind: str, value: Any) -> None:
        """Record an event of the current tick.

        Raises RunError if that fails, for example on a full disk.
        """
        self._append(Event(self._engine.total_ticks, node, cast(Kind, kind), value))

    def take(self, node: str) -> tuple[str, Any] | None:
        """Return the input that came for this node on this tick in the run that this one comes
        from; None if there is none.
        """
        return None if self._inputs is None else self._inputs.take(node)

    def before_episode(self, run: Run, index: int) -> None:
        if self._inputs is not None:
            self._inputs.begin(run.engine)
        if self._before:
            return  # it is on the tape already
        self.add(
            "", "episode", {"index": index, "seed": run.settings.seed, "limit": run.settings.ticks}
        )

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        about = {"index": episode.index, "seed": run.settings.seed, "ended": episode.ended}
        self.add("", "episode", {**about, "report": check_report(self._engine)})

    def between_ticks(self, run: Run) -> None:
        """Record a check and a snapshot, if the last ones are old enough."""
        if self._failure is not None:
            raise self._failure
        if self._engine.tick:  # before the first tick there is nothing to compare
            self._look()

    @property
    def is_recording(self) -> bool:
        """True while a tape is written."""
        return self._writer is not None

    def start_recording(self, folder: Path) -> None:
        """Write another tape into a run folder from now on. It begins with the last ticks, of which
        there is a snapshot. Call it between two ticks.

        Raises RunError if a tape is written already, if the last ticks are not known, or if the
        file cannot be written.
        """
        if self.is_recording:
            raise RunError("this run is being recorded already")
        records = self.recent_records()
        writer = TapeWriter(_tape_path(folder, len(tapes_in(folder)) + 1))
        try:
            for record in records:
                writer.append(record)
        except RunError:
            writer.close()
            writer.path.unlink()
            raise
        with self._lock:
            self._writer, self._to_file = writer, True

    def stop_recording(self) -> None:
        """End the tape, while the run goes on. Call it between two ticks.

        Raises RunError if none is written, or if it cannot be written.
        """
        writer = self._writer
        if writer is None:
            raise RunError("this run is not being recorded")
        self.add("", "check", check_report(self._engine))
        with self._lock:
            self._writer, self._to_file = None, False
        writer.close()

    def recent_records(self) -> list[bytes]:
        """Return a tape of the last ticks, up to the present one. Call it between two ticks.

        Raises RunError if they are not known.
        """
        if self._recent is None or self.snapshot_error is not None:
            why = self.snapshot_error or "this run does not keep them"
            raise RunError(f"the last ticks are not kept: {why}")
        engine = self._engine
        return self._recent.records(Event(engine.total_ticks, "", "check", check_report(engine)))

    def _look(self) -> None:
        now = perf_counter()
        if self._to_file and now - self._checked >= _CHECK_EVERY:
            self._checked = now
            self.add("", "check", check_report(self._engine))
        if self.snapshot_error is None:
            self._take_snapshot(now)

    def _take_snapshot(self, now: float) -> None:
        """Take one if the last is old enough; it is written later."""
        engine = self._engine
        to_file = self._to_file and now - self._last_snapshot >= _SNAPSHOT_EVERY
        in_memory = (
            self._recent is not None
            and engine.total_ticks - self._recent_tick >= _RECENT_TICKS
            and now - self._last_recent >= max(_RECENT_SECONDS, self._cost / _RECENT_SHARE)
        )
        if not to_file and not in_memory:
            return
        try:
            state = engine.state(background=False)
        except RunError as error:
            self.snapshot_error = str(error)
            return
        self._cost = perf_counter() - now
        if to_file:
            self._last_snapshot = now
        place = None
        if self._recent is not None:
            self._last_recent, self._recent_tick = now, engine.total_ticks
            place = self._recent.begin_snapshot(engine.total_ticks)
        self._snapshots.put(_Snapshot(engine.total_ticks, state, modules(engine), to_file, place))

    def after_close(self, run: Run) -> None:
        """Write the remaining snapshots, and close the tape. Raises RunError."""
        if self.snapshot_error is not None and self._to_file:
            run.say(
                "the tape replays from its beginning only, no more snapshots were kept: "
                f"{self.snapshot_error}"
            )
        if self._thread.is_alive():
            self._snapshots.put(None)
            self._thread.join()
        if self._writer is not None:
            self._writer.close()
        if self._failure is not None:
            raise self._failure

    def _append(self, event: Event) -> None:
        try:
            record = event.encode()
        except TypeError as error:
            reason = f"the value of {event.node or 'the run'} cannot be put on a tape: {error}"
            if not self._to_file:
                self.snapshot_error = reason
                return
            raise RunError(reason) from error
        if self._recent is not None:
            self._recent.append(event, record)
        self._write(record)

    def _write(self, record: bytes) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.append(record)

    def _write_snapshots(self) -> None:
        while (taken := self._snapshots.get()) is not None:
            began = perf_counter()
            try:
                state = snapshot.dump(taken.state, taken.modules)
                self._cost += perf_counter() - began
                record = Event(taken.tick, "", "snapshot", state).encode()
                if self._recent is not None and taken.place is not None:
                    self._recent.end_snapshot(taken.place, record)
                if taken.to_file:
                    self._write(record)
            except RunError as error:  # `_look` raises it in the run
                self._failure = error
            except MinibrainsError as error:
                self.snapshot_error = str(error)


class _Snapshot(NamedTuple):
    """A snapshot that is to be written."""

    tick: int
    state: Any
    modules: frozenset[str]
    to_file: bool
    place: Entry | None
    """Its place among the last ticks; None: they are not kept."""


class TapePlayer:
    """Plays a tape: gives each node its recorded values, on the ticks on which they came."""

    replays: Final = True
    inherits: Final = False

    def __init__(self, events: Iterable[Event]) -> None:
        self._recorded = [event for event in events if event.kind in ("result", "failed", "input")]
        self._events: dict[str, deque[Event]] = defaultdict(deque)

    def begin(self, engine: Engine) -> None:
        """Start at the engine's current tick, which may be an earlier one than before.

        Values that are still held, such as a pad, come at once.
        """
        self._engine = engine
        self._events.clear()
        for event in self._recorded:
            self._events[event.node].append(event)
        for events in self._events.values():
            latest = None
            while events and events[0].tick < engine.total_ticks:
                latest = events.popleft()
            if (
                latest is not None
                and latest.kind == "input"
                and not (events and events[0].tick == engine.total_ticks)
            ):
                events.appendleft(latest._replace(tick=engine.total_ticks))

    def add(self, node: str, kind: str, value: Any) -> None:
        """Do nothing: a replay records nothing."""

    def take(self, node: str) -> tuple[str, Any] | None:
        """Return the value that came for this node on this tick; None if there is none."""
        events = self._events.get(node)
        if not events or events[0].tick != self._engine.total_ticks:
            return None
        event = events.popleft()
        return event.kind, event.value


def tapes_in(folder: Path) -> list[Path]:
    """Return the tapes in a run folder, in the order in which they were recorded."""
    found: list[Path] = []
    while (tape := _tape_path(folder, len(found) + 1)).is_file():
        found.append(tape)
    return found


def _tape_path(folder: Path, number: int) -> Path:
    """Return the path of a tape in a run folder; `number` counts from 1."""
    if number == 1:
        return folder / FILE
    return folder / f"run-{number}.tape"


def read_events(path: Path) -> tuple[list[Event], str]:
    """Return the events of a tape in the order of their ticks,
    and a sentence if it is cut off or damaged.

    Raises MinibrainsError if it is not a tape, or its header is missing.
    """
    reader = TapeReader(path)
    events = decode_events(reader)
    if not events or events[0].kind != "header":
        raise MinibrainsError(f"{path} holds no run: {reader.sentence or 'it has no header'}")
    return events, reader.sentence


def decode_events(records: Iterable[bytes]) -> list[Event]:
    """Return the events of records, in the order of their ticks.

    Raises MinibrainsError if this version does not know one.
    """
    events = [Event.decode(record) for record in records]
    order: dict[Kind, int] = {"snapshot": 1}
    events.sort(key=lambda event: (event.tick, order.get(event.kind, 0)))
    return events


def name_packs(files: Iterable[Path]) -> list[dict[str, str]]:
    """Return the entries for a run's node packs on its tape, by name only:
    a replay runs no file that it was not given.
    """
    return [{"file": str(file.absolute()), "sha256": hash_file(file)} for file in files]


def check_report(engine: Engine) -> dict[str, Any]:
    """Return the contents of a check: the compared entries of the episode's report so far."""
    report = engine.report()
    return {"tick": engine.tick, **{name: report[name] for name in _COMPARED if name in report}}


def recorded_workflow(graph: Graph) -> dict[str, Any]:
    """Return a workflow and its brains in the form in which the header and the
    edits of a tape have them.
    """
    return {"workflow": graph.workflow.to_json(), "brains": graph.brain_files()}


def modules(engine: Engine) -> frozenset[str]:
    """Return the modules of the plan's nodes,
    the only ones whose classes a snapshot may contain.
    """
    found: set[str] = set()
    for node in engine.plan.graph.nodes.values():
        found.update(cls.__module__ for cls in node.cls.__mro__[:-1])
    return frozenset(found & sys.modules.keys())
