"""The last ticks of a run that goes on, as a tape in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

from minibrains.errors import RunError
from minibrains.tape.tape import Event

TICKS: Final = 600
"""Least number of ticks that are kept, once the run has had as many."""
LIMIT: Final = 64 << 20
"""Largest size in bytes; if more would be needed for so many ticks, fewer are kept."""
_CARRIED: Final = frozenset({"episode", "pace", "input"})
"""Kinds of events of which the latest one of a node counts for all ticks after it."""


@dataclass(eq=False, slots=True)
class Entry:
    """An event, or the place of a snapshot among the events."""

    tick: int
    node: str
    kind: str
    record: bytes
    """The event as on a tape; empty until the snapshot is written."""


class RecentTape:
    """The events of the last ticks, and snapshots from which these can be played.

    `records` makes a tape of them. Unless it has everything since the beginning of the run, it
    begins with a snapshot, and `first` of its header is the tick of that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._header: dict[str, Any] = {}
        """The header of the tape that begins with the first entry."""
        self._entries: list[Entry] = []
        self._carried: dict[tuple[str, str], Entry] = {}
        """The latest event of each kind and node before the first entry."""
        self._is_whole = True
        """Nothing was left out since the beginning of the run."""
        self._size = 0

    def append(self, event: Event, record: bytes) -> None:
        """Add an event, and its record on a tape. May be called from any thread."""
        with self._lock:
            if event.kind == "header":
                self._header = dict(event.value)
                return
            if event.kind == "snapshot":
                # a fork of a run of which only the last ticks were known begins with one
                self._drop(len(self._entries))
                self._is_whole = False
            elif event.kind == "edit" and self._ends_with_snapshot(event.tick):
                # the tape would not say which of the two came first
                self._size -= len(self._entries.pop().record)
            self._add(Entry(event.tick, event.node, event.kind, record))

    def begin_snapshot(self, tick: int) -> Entry:
        """Return a place among the events for a snapshot of this tick."""
        place = Entry(tick, "", "snapshot", b"")
        with self._lock:
            self._add(place)
        return place

    def end_snapshot(self, place: Entry, record: bytes) -> None:
        """Put a snapshot, as an event on a tape, into its place. May be called from any thread."""
        with self._lock:
            if place not in self._entries:
                return
            place.record = record
            self._size += len(record)
            for index in reversed(self._snapshots()):
                if self._entries[index].tick <= place.tick - TICKS:
                    self._drop(index)
                    break
            self._shorten()

    def records(self, present: Event) -> list[bytes]:
        """Return a tape of the last ticks.

        Args:
            present: A check of the present tick, with which it ends.

        Raises:
            RunError: There is no snapshot yet.
        """
        with self._lock:
            if not self._is_whole:
                snapshots = self._snapshots()
                if not snapshots:
                    raise RunError(
                        "the last ticks are not kept yet; let the run go on for a few seconds"
                    )
                self._drop(snapshots[0])
                self._header["first"] = self._entries[0].tick
            tape = [entry.record for entry in self._carried.values()]
            for index, entry in enumerate(self._entries):
                begins = index == 0 and not self._is_whole
                if begins or entry.kind != "snapshot":
                    tape.append(entry.record)
            header = Event(0, "", "header", self._header)
        return [header.encode(), *tape, present.encode()]

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._size += len(entry.record)
        self._shorten()

    def _ends_with_snapshot(self, tick: int) -> bool:
        if not self._entries:
            return False
        last = self._entries[-1]
        return last.kind == "snapshot" and last.tick == tick

    def _snapshots(self) -> list[int]:
        """Return the indices of the snapshots that were written."""
        found: list[int] = []
        for index, entry in enumerate(self._entries):
            if entry.kind == "snapshot" and entry.record:
                found.append(index)
        return found

    def _shorten(self) -> None:
        """Begin with a later snapshot, or with none, until it is not too large."""
        while self._size > LIMIT:
            later = [index for index in self._snapshots() if index > 0]
            self._drop(later[0] if later else len(self._entries))

    def _drop(self, count: int) -> None:
        """Drop the first entries, except what the ticks after them depend on."""
        for entry in self._entries[:count]:
            self._size -= len(entry.record)
            if entry.kind == "edit":
                self._header.update(Event.decode(entry.record).value)
            elif entry.kind in _CARRIED:
                self._carried[entry.kind, entry.node] = entry
        if count:
            self._is_whole = False
        del self._entries[:count]
