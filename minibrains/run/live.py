"""`--live`: what is changed in the workflow file is changed in the running graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minibrains.engine.background import PATIENCE
from minibrains.engine.engine import Engine, MakeHost
from minibrains.engine.plan import Plan
from minibrains.errors import MinibrainsError
from minibrains.tape.recording import recorded

_LOOK_EVERY = 0.2
"""Seconds from one look at the file to the next."""


class LiveFile:
    """Watches the file and hands edits to the engine, on a thread of its own. Use it as a context around the run.

    A file that is no valid workflow for the moment changes nothing: what is wrong with it is said, and the old
    graph goes on.
    """

    def __init__(self, file: Path, read: Callable[[], tuple[Plan, Any]], say: Callable[[str], None]) -> None:
        """`read`: the plan as the file is now, and its JSON for the tape; raises MinibrainsError."""
        self._file = file
        self._read = read
        self._say = say
        self._over = threading.Event()
        self._seen: tuple[int, int] | None = None  # it may change while the engine is opened, so it is read once in any case
        self._thread: threading.Thread | None = None

    def start(self, engine: Engine, make_host: MakeHost) -> None:
        """Begin; the engine is open."""
        self._last = recorded(engine.plan.graph)
        self._thread = threading.Thread(target=self._watch, args=(engine, make_host), name="watches the workflow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; the engine does no more ticks. A change whose nodes are still being opened is given up after five seconds."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
            if self._thread.is_alive():
                self._say("the last change was not taken over: its nodes are still being opened")

    def _watch(self, engine: Engine, make_host: MakeHost) -> None:
        while not self._over.wait(_LOOK_EVERY):
            stamp = self._stamp()
            if stamp is not None and stamp != self._seen:
                self._seen = stamp
                try:
                    self._hand_over(engine, make_host)
                except MinibrainsError as error:
                    self._say(f"the change was not taken over: {error}")

    def _hand_over(self, engine: Engine, make_host: MakeHost) -> None:
        plan, source = self._read()
        if source == self._last:
            return
        edit = engine.prepare(plan, source, make_host)
        engine.edits.append(edit)
        while not edit.done.wait(_LOOK_EVERY):
            if self._over.is_set():
                return
        for trouble in engine.finish_edit(edit):
            self._say(trouble)
        self._last = source
        self._say(f"changed on tick {engine.ticks}: {edit.describe()}")

    def _stamp(self) -> tuple[int, int] | None:
        try:
            stat = self._file.stat()
        except OSError:
            return None  # an editor is about to put a new file in its place
        return stat.st_mtime_ns, stat.st_size
