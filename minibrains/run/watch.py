"""`--live`: what is changed in the workflow file is changed in the running graph."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from minibrains.engine.background import SHUTDOWN_TIMEOUT
from minibrains.engine.compile import compile_graph
from minibrains.errors import MinibrainsError
from minibrains.hooks import Hook
from minibrains.tape.recording import tape_record

if TYPE_CHECKING:
    from minibrains.run.run import Run

_LOOK_EVERY: Final = 0.2
"""Seconds from one look at the file to the next."""


class WorkflowWatcher(Hook):
    """Watches the workflow file of a run, and hands each change to the engine, on a thread of its own.

    A file that is no valid workflow for the moment changes nothing: what is wrong with it is said, and the old
    graph goes on.
    """

    def __init__(self, file: Path) -> None:
        """`file`: what the run's spec reads its workflow from."""
        self._file = file
        self._over = threading.Event()
        self._seen: tuple[int, int] | None = None  # it may change while the engine is opened, so it is read once in any case
        self._thread: threading.Thread | None = None

    def after_open(self, run: Run) -> None:
        self._last = tape_record(run.graph)
        self._settings = run.settings
        self._thread = threading.Thread(target=self._watch, args=(run,), name="watches the workflow", daemon=True)
        self._thread.start()

    def before_close(self, run: Run) -> None:
        """End. A change whose nodes are still being opened is given up after five seconds."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_TIMEOUT)
            if self._thread.is_alive():
                run.say("the last change was not taken over: its nodes are still being opened")

    def _watch(self, run: Run) -> None:
        while not self._over.wait(_LOOK_EVERY):
            version = self._file_version()
            if version is not None and version != self._seen:
                self._seen = version
                try:
                    self._hand_over(run)
                except MinibrainsError as error:
                    if not self._over.is_set():
                        run.say(f"the change was not taken over: {error}")

    def _hand_over(self, run: Run) -> None:
        workflow = run.spec.load_workflow()
        graph = run.check(workflow.with_run(run.settings))
        if workflow.run != self._settings:
            self._settings = workflow.run
            run.say('the change of "run" is for the next run: this one keeps its episodes, ticks, seed and clock')
        source = tape_record(graph)
        if source == self._last:
            return
        change = run.edit(compile_graph(graph))
        self._last = source
        run.say(f"changed on tick {run.engine.ticks}: {change}")

    def _file_version(self) -> tuple[int, int] | None:
        try:
            stat = self._file.stat()
        except OSError:
            return None  # an editor is about to put a new file in its place
        return stat.st_mtime_ns, stat.st_size
