"""A run's tape: written while it plays, or read so that it plays again."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

import minibrains
from minibrains.brain_file import hash_file
from minibrains.engine.engine import Engine
from minibrains.errors import MinibrainsError, RunError
from minibrains.graph.check import Graph
from minibrains.hooks import Hook
from minibrains.tape import snapshot
from minibrains.tape.tape import Event, Kind
from minibrains.tape.tape_file import TapeReader, TapeWriter

if TYPE_CHECKING:
    from minibrains.run.episode import EpisodeResult
    from minibrains.run.run import Run

FILE: Final = "run.tape"
"""Its name within the run folder."""
_CHECK_EVERY, _SNAPSHOT_EVERY = 1.0, 10.0
"""Seconds from one to the next, at least."""
_COMPARED: Final = ("score", "won", "start", "actions_sha256", "trajectory_sha256")
"""Of what the nodes report: what a replay must come to as well."""


class Recorder(Hook):
    """Writes down everything that comes to a run from outside, and now and then what it has come to.

    As a hook it follows the run, as the engine's tape it hears what comes from outside.

    Snapshots are written by a thread of its own: their order on the tape is not that of their ticks.
    """

    replays: Final = False

    def __init__(self) -> None:
        self._writer: TapeWriter | None = None
        self._lock = threading.Lock()
        self._snapshots: SimpleQueue[tuple[int, Any, frozenset[str]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_snapshots, name="writes snapshots", daemon=True)
        self._failure: MinibrainsError | None = None
        self.snapshot_error: str | None = None
        """Why there are no more snapshots; the tape can still be replayed from its beginning."""
        self._checked = self._last_snapshot = 0.0

    def after_open(self, run: Run) -> None:
        """Make the tape in the run folder; its header says all that is needed to open the run again. Raises RunError."""
        self._writer = TapeWriter(run.dir / FILE)
        self._engine = run.engine
        self._thread.start()
        path = ""
        if run.graph.workflow.path is not None:
            path = str(run.graph.workflow.path.absolute())
        header = {
            "minibrains": minibrains.__version__,
            "path": path,
            "packs": name_packs(map(Path, run.spec.packs)),
            **tape_record(run.graph),
            "facts": run.results.metadata,
        }
        self.add("", "header", header)

    def add(self, node: str, kind: str, value: Any) -> None:
        """Write down an event of the current tick. Raises RunError if that cannot be done: the disk is full, say."""
        self._append(Event(self._engine.ticks, node, cast(Kind, kind), value))

    def take(self, node: str) -> None:
        """Nothing comes from a tape that is being written."""

    def before_episode(self, run: Run, index: int) -> None:
        self.add("", "episode", {"index": index, "seed": run.settings.seed, "limit": run.settings.ticks})

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        about = {"index": episode.index, "seed": run.settings.seed, "ended": episode.ended}
        self.add("", "episode", {**about, "report": checkpoint_report(self._engine)})

    def between_ticks(self, run: Run) -> None:
        """Write down, now and then, what the run has come to, and keep a snapshot."""
        if self._failure is not None:
            raise self._failure
        if self._engine.tick:  # before the first tick there is nothing to be held to
            self._look()

    def _look(self) -> None:
        now = perf_counter()
        if now - self._checked >= _CHECK_EVERY:
            self._checked = now
            self.add("", "check", checkpoint_report(self._engine))
        if now - self._last_snapshot >= _SNAPSHOT_EVERY and self.snapshot_error is None:
            self._last_snapshot = now
            try:
                state = self._engine.state(background=False)
            except RunError as error:
                self.snapshot_error = str(error)
            else:
                self._snapshots.put((self._engine.ticks, state, modules(self._engine)))

    def after_close(self, run: Run) -> None:
        """Write what is left. Raises RunError."""
        if self.snapshot_error is not None:
            run.say(f"the tape replays from its beginning only, no more snapshots were kept: {self.snapshot_error}")
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
            raise RunError(f"the value of {event.node or 'the run'} cannot be put on a tape: {error}") from error
        with self._lock:
            if self._writer is not None:
                self._writer.append(record)

    def _write_snapshots(self) -> None:
        while (job := self._snapshots.get()) is not None:
            tick, state, known = job
            try:
                self._append(Event(tick, "", "snapshot", snapshot.dump(state, known)))
            except RunError as error:  # the run shall hear of it: see `look`
                self._failure = error
            except MinibrainsError as error:
                self.snapshot_error = str(error)


class TapePlayer:
    """Plays a tape: gives each node what came to it, on the tick on which it came."""

    replays: Final = True

    def __init__(self, events: Iterable[Event]) -> None:
        self._events: dict[str, deque[Event]] = defaultdict(deque)
        for event in events:
            if event.kind in ("result", "failed", "input"):
                self._events[event.node].append(event)

    def begin(self, engine: Engine) -> None:
        """Go on from where the engine stands. What is still held from before, like a pad, comes at once."""
        self._engine = engine
        for events in self._events.values():
            latest = None
            while events and events[0].tick < engine.ticks:
                latest = events.popleft()
            if latest is not None and latest.kind == "input" and not (events and events[0].tick == engine.ticks):
                events.appendleft(latest._replace(tick=engine.ticks))

    def add(self, node: str, kind: str, value: Any) -> None:
        """Nothing is written down in a replay."""

    def take(self, node: str) -> tuple[str, Any] | None:
        """What came for this node on this tick."""
        events = self._events.get(node)
        if not events or events[0].tick != self._engine.ticks:
            return None
        event = events.popleft()
        return event.kind, event.value


def read_events(path: Path) -> tuple[list[Event], str]:
    """The events of a tape in the order of their ticks, and a sentence if it is cut or damaged.

    Raises MinibrainsError if it is no tape, or has not even its header.
    """
    reader = TapeReader(path)
    events = [Event.decode(record) for record in reader]
    if not events or events[0].kind != "header":
        raise MinibrainsError(f"{path} holds no run: {reader.sentence or 'it has no header'}")
    order: dict[Kind, int] = {"snapshot": 1}
    events.sort(key=lambda event: (event.tick, order.get(event.kind, 0)))
    return events, reader.sentence


def name_packs(files: Iterable[Path]) -> list[dict[str, str]]:
    """The node packs of a run, as its tape names them: a replay runs no file that it was not given."""
    return [{"file": str(file.absolute()), "sha256": hash_file(file)} for file in files]


def checkpoint_report(engine: Engine) -> dict[str, Any]:
    """Return what a replay is compared with at a checkpoint: the episode's report so far."""
    report = engine.report()
    return {"tick": engine.tick, **{name: report[name] for name in _COMPARED if name in report}}


def tape_record(graph: Graph) -> dict[str, Any]:
    """Return a workflow as the header and an edit record it: with its brains."""
    return {"workflow": graph.workflow.to_json(), "brains": graph.brain_files()}


def modules(engine: Engine) -> frozenset[str]:
    """The modules of the plan's nodes: the only ones whose classes a snapshot may hold."""
    found: set[str] = set()
    for node in engine.plan.graph.nodes.values():
        found.update(cls.__module__ for cls in node.cls.__mro__[:-1])
    return frozenset(found & sys.modules.keys())
