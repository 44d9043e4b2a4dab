"""A recorded run that is played to any of its ticks, forwards and backwards."""

from __future__ import annotations

import heapq
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from minibrains.console import Console
from minibrains.engine.peek import is_kept, peek, peek_item
from minibrains.errors import MinibrainsError, RunError, suggest
from minibrains.graph.breakpoint import Breakpoint
from minibrains.graph.catalog import node_types
from minibrains.graph.registry import Registry
from minibrains.run.digest import digest_of, happened
from minibrains.run.fork import ForkPoint
from minibrains.run.replay import (
    apply_recorded_edit,
    come_to,
    compare,
    decimation_at,
    find_tape,
    first_tick,
    recorded_spec,
    verify_brains,
)
from minibrains.run.run import Run
from minibrains.tape import snapshot
from minibrains.tape.recording import FILE, TapePlayer, modules, read_events
from minibrains.tape.tape import Event

MarkKind = Literal["episode", "reward", "edit", "exception", "decision", "found"]

KEYFRAMES_LIMIT: Final = 64 << 20
"""Largest size of all keyframes in bytes."""
_MOST_FOUND: Final = 20
"""Number of the largest changes of a value that are found."""
_SPACING: Final = 20
"""Ticks between two keyframes, as long as they fit."""


class Mark(NamedTuple):
    """A tick of a recorded run that people look for."""

    tick: int
    """The tick of the whole run at which it can be seen."""
    kind: MarkKind
    node: str
    """The node that it belongs to; empty for the run itself."""
    text: str


class _Keyframe(NamedTuple):
    """The state of a run from which its later ticks are played."""

    tick: int
    following: int
    """Index of the first event that has not been applied."""
    recorded: Any
    """The workflow that was played, with its brains, as on the tape."""
    state: bytes


class Rewind:
    """The recorded run. Tick k is the moment between the k-th tick and the next one.

    `scan` must play it once from beginning to end. That compares it with the tape, finds the marks,
    and keeps keyframes; then `go_to` plays from the last keyframe before a tick. Call it within a
    `with` block, on one thread.
    """

    def __init__(
        self,
        events: list[Event],
        registry: Registry,
        models: Path | None = None,
        mute: Collection[str] = (),
    ) -> None:
        """Prepare the run of a tape.

        Args:
            events: All events of the tape, in the order of their ticks.
            registry: Node types, including those of the run's packs.
            models: The user's own folder of brains; None: the default one.
            mute: Nodes that are not needed, because nothing depends on what they do: those that
                hooks added to film the run, for example.

        Raises:
            MinibrainsError: The workflow can no longer be opened, or a brain that is needed has
                changed.
        """
        self._events = [event for event in events if event.kind not in ("header", "snapshot")]
        self._header = events[0]
        self.first = first_tick(events)
        """The first tick; not 0 if the tape has only the last ticks of a run."""
        self._begin = _snapshot_at(events, self.first) if self.first else None
        self._recorded = events[0].value
        self._path = events[0].value["path"]
        self._added = frozenset(mute)
        self._player = TapePlayer(events)
        spec = recorded_spec(events[0].value, self._path, models, mute)
        self.run = Run(spec, registry=registry, tape=self._player)
        verify_brains(self.run.engine.plan, self._player, events[0].value)
        self.last = max(event.tick for event in events)
        """The last tick."""
        self.marks: list[Mark] = []
        """In the order of their ticks, once the run was scanned."""
        self.digests: list[bytes] = []
        """A digest of what happened on each tick after the first, once the run was scanned; see
        `digest_of`."""
        self.series: dict[str, list[tuple[int, float]]] = {}
        """The numbers that nodes without outputs, such as a Preview, are given: input -> the ticks
        at which it changed, with its values from then on, once the run was scanned."""
        self.difference: dict[str, Any] | None = None
        """The first difference to the tape, as in `Replayed.difference`; the last tick is then the
        one at which it was found."""
        self._following = 0
        self._compared_at = 0
        self._is_scanning = False
        self._keyframes: list[_Keyframe] = []
        self._size = 0
        self._spacing = _SPACING

    @classmethod
    def of(
        cls, run: str | os.PathLike[str], packs: Collection[str | os.PathLike[str]] = ()
    ) -> Rewind:
        """Prepare the run of a run folder, or of the tape in it.

        Args:
            run: The folder, or the tape.
            packs: Python files with nodes that the run used.

        Raises:
            MinibrainsError: There is no tape, or its workflow can no longer be opened.
        """
        registry, _ = node_types(True, map(Path, packs))
        events, _ = read_events(find_tape(Path(run), FILE))
        return cls(events, registry)

    def __enter__(self) -> Rewind:
        self.run.open()
        self._player.begin(self.run.engine)
        return self

    def __exit__(self, *error: Any) -> None:
        self.run.close()

    @property
    def tick(self) -> int:
        """The tick at which the run is."""
        return self.run.engine.total_ticks

    def scan(self) -> Iterator[int]:
        """Play from the first tick to the last one, and yield after each.

        Raises MinibrainsError if the state of a node cannot be kept.
        """
        marks = [_mark_of(event) for event in self._events]
        self._is_scanning = True
        if self._begin is None:
            self._apply_events(0)
        else:
            following = sum(event.tick <= self.first for event in self._events)
            state = self._begin.value
            self._restore(_Keyframe(self.first, following, self._recorded, state))
        while self.difference is None and self.tick < self.last:
            if (self.tick - self.first) % self._spacing == 0:
                self._keep()
            self._play(self.tick + 1)
            marks += self._rewards()
            self._follow_series()
            self.digests.append(digest_of(self.run.engine))
            yield self.tick
        self._is_scanning = False
        if self.difference is not None:
            self.last = self.tick
        shown = range(self.first, self.last + 1)
        found = [mark for mark in marks if mark is not None and mark.tick in shown]
        self.marks = sorted(found)

    def go_to(self, tick: int) -> None:
        """Play to a tick; one before the first, or after the last, is the first or the last.

        Raises RunError if it is not reached, unless the run is being stopped.
        """
        tick = min(max(tick, self.first), self.last)
        nearest = None
        for frame in self._keyframes:
            if frame.tick <= tick:
                nearest = frame
        if nearest is not None and (tick < self.tick or nearest.tick > self.tick):
            self._restore(nearest)
        self._play(tick)
        if self.tick != tick and not self.run.stopping:
            raise RunError(f"tick {tick} was not reached: it is tick {self.tick}")

    def find(self, node: str, output: str, condition: Breakpoint | None = None) -> list[Mark]:
        """Return the ticks at which a condition on an output begins to hold or, without one, at
        which a number changes most. Plays the whole run, and returns to the present tick.

        Args:
            node: The id of a node.
            output: One of its outputs, or an item of one: "variables.score".
            condition: A condition on it.

        Raises:
            RunError: There is no such output or item, its values are not kept or, without a
                condition, none of them is a number.
        """
        here = self.tick
        socket, _, item = output.partition(".")
        self._check_kept(node, socket, item)
        held = False
        before: float | None = None
        found: list[Mark] = []
        changes: list[tuple[float, Mark]] = []
        self.go_to(self.first)
        for tick in range(self.first, self.last + 1):
            self._play(tick)
            if self.run.stopping:
                return []
            value = peek_item(self.run.engine, node, socket, item)
            if condition is not None:
                holds = condition.holds(value)
                if holds and not held:
                    found.append(Mark(tick, "found", node, str(condition)))
                held = holds
            elif isinstance(value, (int, float)):
                change = 0.0 if before is None else value - before
                if change:
                    mark = Mark(tick, "found", node, f"{output} {before:g} → {value:g}")
                    changes.append((abs(change), mark))
                before = value
        self.go_to(here)
        if condition is not None:
            return found
        if before is None:
            raise RunError(f"nothing can be found: {node}.{output} is never a number")
        return sorted(mark for _, mark in heapq.nlargest(_MOST_FOUND, changes))

    def _check_kept(self, node: str, socket: str, item: str) -> None:
        engine = self.run.engine
        checked = engine.plan.graph.nodes.get(node)
        if checked is None or socket not in checked.cls.schema.outputs:
            raise RunError(
                f"nothing can be found: the graph has no output '{node}.{socket}'; "
                "expected NODE.OUTPUT, or NODE.variables.NAME"
            )
        if not is_kept(engine, node, socket):
            raise RunError(
                f"nothing can be found: the values of {node}.{socket} are not kept; link it to an "
                "input that reads the last value, such as that of a Preview, and record again"
            )
        items = peek(engine, node, socket)
        if item and isinstance(items, Mapping) and item not in items:
            hint = suggest(item, items) or f"It has: {', '.join(items)}"
            raise RunError(f"nothing can be found: {node}.{socket} has no {item!r}. {hint}")

    def happened(self, tick: int) -> dict[str, Any]:
        """Return what happened on a tick (see `minibrains.run.digest.happened`), and return to the
        present one. Raises RunError as `go_to` does.
        """
        here = self.tick
        self.go_to(tick)
        seen = happened(self.run.engine)
        self.go_to(here)
        return seen

    def fork_point(self) -> ForkPoint:
        """Return this moment, from which `Run` can play on with another workflow.

        A node that is thinking goes on with the answer that is on the tape. If there is none,
        because the game was over before it came, this goes back to the tick on which the node was
        asked.

        Raises:
            RunError: The game is over at this tick, or a node in the background has a state, which
                is not on the tape.
        """
        self._check_fork()
        while (asked_at := self._asked_without_answer()) is not None:
            self.go_to(asked_at)
            self._check_fork()

        calls: dict[str, Mapping[str, Any]] = {}
        engine = self.run.engine
        begun = self.tick - engine.tick
        for name, asked, resubmit in self._thinking():
            answer = self._next_result(name)
            assert answer is not None  # there is one, or this would be an earlier tick
            result, error = answer.value, None
            if answer.kind == "failed":
                result, error = None, answer.value
            calls[name] = {"job": (asked, answer.tick - begun, result, error), "wanted": resubmit}
        return ForkPoint(
            self.tick,
            engine.episode,
            self._recorded,
            self._path,
            self._added,
            self._before(),
            tuple(event for event in self._events if event.kind == "input"),
            self._dump(),
            calls,
        )

    def _thinking(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each node that is thinking now, the tick of the episode on which it was asked, and
        whether it is to be asked again.
        """
        for name, runtime in self.run.engine.runtimes.items():
            asked, resubmit = runtime.replayed_call.state()
            if asked is not None:
                yield name, asked, resubmit

    def _asked_without_answer(self) -> int | None:
        """Return the tick on which a node was asked whose answer is not on the tape; None if there
        is none.

        Raises RunError if that is before the first tick.
        """
        begun = self.tick - self.run.engine.tick
        for name, asked, _ in self._thinking():
            if self._next_result(name) is not None:
                continue
            if begun + asked < self.first:
                raise RunError(
                    f"this run cannot be forked here: {name} was asked before tick {self.first}"
                    ", with which the timeline begins, and has not answered"
                )
            return begun + asked
        return None

    def _check_fork(self) -> None:
        for name, runtime in self.run.engine.runtimes.items():
            if runtime.from_tape and runtime.has_state:
                raise RunError(
                    f"this run cannot be forked: {name} has a state and computes in the background,"
                    " so it is not on the tape; run it within the tick, without busy and background"
                )
        for event in reversed(self._events[: self._following]):
            if event.kind == "episode":
                ended = event.value.get("ended", "stopped")
                if ended != "stopped":
                    raise RunError(
                        f"the game is over at tick {self.tick}: {ended}; fork it at a tick before"
                    )
                return

    def _next_result(self, node: str) -> Event | None:
        """Return the next result of a node in this episode and graph; None if there is none."""
        for event in self._events:
            is_result = event.node == node and event.kind in ("result", "failed")
            if is_result and event.tick >= self.tick:
                return event
            if event.tick > self.tick and event.kind in ("episode", "edit"):
                return None
        return None

    def _before(self) -> tuple[Event, ...]:
        """Return the header, and everything that came from outside before this tick."""
        before = [self._header]
        if self._begin is not None:
            before.append(self._begin)
        for event in self._events[: self._following]:
            is_later = event.tick == self.tick and event.kind in ("result", "failed", "input")
            if not is_later:
                before.append(event)
        # the end of a game that was stopped, and now goes on
        last = max(index for index, event in enumerate(before) if event.kind == "episode")
        if "ended" in before[last].value:
            del before[last]
        return tuple(before)

    def _play(self, tick: int) -> None:
        """Play forwards to a tick, with the events that were recorded on the way."""
        self._apply_events(tick)
        self._come_to(Event(tick, "", "check", None))

    def _apply_events(self, tick: int) -> None:
        """Play to each event up to a tick, and apply it."""
        while self._following < len(self._events):
            event = self._events[self._following]
            if event.tick > tick or not self._come_to(event):
                return
            self._apply(event)
            self._following += 1

    def _come_to(self, event: Event) -> bool:
        """Play to the tick of an event. Returns False if it cannot be reached, as was recorded."""
        failure = come_to(self.run.engine, event)
        if failure is not None:
            self.difference = {
                "from": self._compared_at,
                "to": self.tick,
                "expected": f"to go on to tick {event.tick}",
                "found": failure,
            }
        return failure is None

    def _apply(self, event: Event) -> None:
        engine = self.run.engine
        if event.kind == "episode" and "ended" not in event.value:
            engine.reset(event.value["index"], event.value["seed"], event.value.get("limit"))
        elif event.kind in ("check", "episode"):
            if self._is_scanning:
                self.difference = compare(engine, event, self._compared_at)
                self._compared_at = event.tick
        elif event.kind == "edit":
            self._switch(event.value)
        elif event.kind == "pace":
            engine.context.decimation = event.value

    def _switch(self, recorded: Any) -> None:
        """Switch to another recorded workflow."""
        apply_recorded_edit(self.run, self._player, recorded, self._path)
        self._recorded = recorded

    def _follow_series(self) -> None:
        nodes = self.run.engine.plan.graph.nodes
        for edge in self.run.engine.plan.graph.edges:
            if nodes[edge.target].cls.schema.outputs or edge.output.lazy:
                continue
            value = peek(self.run.engine, edge.source, edge.output.name)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue
            points = self.series.setdefault(f"{edge.target}.{edge.input.name}", [])
            if not points or points[-1][1] != value:
                points.append((self.tick, value))

    def _rewards(self) -> list[Mark]:
        """Return the marks of the rewards that consoles deliver now."""
        marks: list[Mark] = []
        for name, node in self.run.engine.nodes.items():
            if isinstance(node, Console):
                reward = peek(self.run.engine, name, "reward")
                if reward:
                    marks.append(Mark(self.tick, "reward", name, f"{reward:+g}"))
        return marks

    # -- keyframes ---------------------------------------------------------------------------------

    def _dump(self) -> bytes:
        engine = self.run.engine
        try:
            return snapshot.dump(engine.state(background=False), modules(engine))
        except RunError as error:
            raise MinibrainsError(f"this run cannot be rewound: {error}") from error

    def _keep(self) -> None:
        state = self._dump()
        self._keyframes.append(_Keyframe(self.tick, self._following, self._recorded, state))
        self._size += len(state)
        if self._size > KEYFRAMES_LIMIT:
            self._spacing *= 2
            self._keyframes = self._keyframes[::2]
            self._size = sum(len(frame.state) for frame in self._keyframes)

    def _restore(self, frame: _Keyframe) -> None:
        """Bring the run to a keyframe, with the graph that was played then."""
        engine = self.run.engine
        if frame.recorded is not self._recorded:
            self._switch(frame.recorded)
        engine.load_state(snapshot.load(frame.state, modules(engine)))
        engine.context.decimation = decimation_at(self._events[: frame.following], frame.tick)
        self._following = frame.following
        self._player.begin(engine)


def _snapshot_at(events: list[Event], tick: int) -> Event:
    for event in events:
        if event.kind == "snapshot" and event.tick == tick:
            return event
    raise MinibrainsError(f"the tape begins at tick {tick}, and has no snapshot of it")


def _mark_of(event: Event) -> Mark | None:
    """Return the mark of an event of the tape; None if it has none."""
    if event.kind == "edit":
        return Mark(event.tick, "edit", "", "the graph was changed")
    if event.kind == "failed":
        return Mark(event.tick, "exception", event.node, str(event.value))
    if event.kind == "result":
        return Mark(event.tick, "decision", event.node, "a result arrived")
    if event.kind == "episode" and "ended" in event.value:
        return _end_of_episode(event)
    return None


def _end_of_episode(event: Event) -> Mark:
    about = event.value
    kind: MarkKind = "exception" if about["ended"] == "failed" else "episode"
    words = [f"game {about['index'] + 1} ended: {about['ended']}"]
    won = about["report"].get("won")
    if won is not None:
        words.append("won" if won else "lost")
    return Mark(event.tick, kind, "", ", ".join(words))
