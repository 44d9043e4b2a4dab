"""The option `--live`: changes of the workflow file are applied to the running graph."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from minibrains.engine.background import SHUTDOWN_TIMEOUT
from minibrains.engine.compile import compile_graph
from minibrains.errors import MinibrainsError
from minibrains.hooks import Hook
from minibrains.tape.recording import recorded_workflow

if TYPE_CHECKING:
    from minibrains.run.run import Run

_LOOK_EVERY: Final = 0.2
"""Seconds between two checks of the file."""


class WorkflowWatcher(Hook):
    """Watches the workflow file of a run on a thread of its own,
    and applies each change as a live edit.

    A file that is not a valid workflow changes nothing: its faults are reported, and the old graph
    goes on.
    """

    def __init__(self, file: Path) -> None:
        """Watch `file`, from which the run's spec reads its workflow."""
        self._file = file
        self._over = threading.Event()
        self._seen: tuple[int, int] | None = (
            None  # the file may change while the engine is opened, so it is always read once
        )
        self._thread: threading.Thread | None = None

    def after_open(self, run: Run) -> None:
        self._last = recorded_workflow(run.graph)
        self._settings = run.settings
        self._thread = threading.Thread(
            target=self._watch, args=(run,), name="watches the workflow", daemon=True
        )
        self._thread.start()

    def before_close(self, run: Run) -> None:
        """Stop watching.

        A change whose nodes are still being opened is given up after five seconds.
        """
        self._over.set()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_TIMEOUT)
            if self._thread.is_alive():
                run.say("the last change was not applied: its nodes are still being opened")

    def _watch(self, run: Run) -> None:
        while not self._over.wait(_LOOK_EVERY):
            version = self._file_version()
            if version is not None and version != self._seen:
                self._seen = version
                try:
                    self._hand_over(run)
                except MinibrainsError as error:
                    if not self._over.is_set():
                        run.say(f"the change was not applied: {error}")

    def _hand_over(self, run: Run) -> None:
        workflow = run.spec.load_workflow()
        graph = run.check(workflow.with_run(run.settings))
        if workflow.run != self._settings:
            self._settings = workflow.run
            run.say(
                'the change of "run" is for the next run: this one keeps its episodes, ticks, '
                "seed and clock"
            )
        recorded = recorded_workflow(graph)
        if recorded == self._last:
            return
        change = run.edit(compile_graph(graph))
        self._last = recorded
        run.say(f"changed on tick {run.engine.total_ticks}: {change}")

    def _file_version(self) -> tuple[int, int] | None:
        try:
            stat = self._file.stat()
        except OSError:
            return None  # an editor is about to replace the file
        return stat.st_mtime_ns, stat.st_size
