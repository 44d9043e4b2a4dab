"""Workers as processes on this machine."""

from __future__ import annotations

import pickle
import threading

from minibrains.process.child import ChildProcess
from minibrains.process.parent import ParentProcess
from minibrains.process.pool import Events
from minibrains.process.worker import Worker

_SHUTDOWN_TIMEOUT = 10.0
"""Seconds that a worker gets to end, after everything in it was closed or its parent was lost."""


class ProcessLauncher:
    """Starts workers as child processes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def launch(self, number: int, task: bytes, events: Events) -> ChildProcess:
        """Start the worker `number` on a pickled Task.

        Raises OSError if the system cannot start another process.
        """
        child = ChildProcess(
            _work, number, task, name=f"worker {number}", shutdown_timeout=_SHUTDOWN_TIMEOUT
        )
        child.listen(
            on_message=lambda data: events.put((number, data)),
            on_exit=lambda: events.put((number, None)),
        )
        return child

    def close(self) -> None:
        """Do nothing: child processes need nothing else."""


def _work(parent: ParentProcess, number: int, task: bytes) -> None:
    """Run a worker until the pool shuts it down or is gone."""
    worker = Worker(number, pickle.loads(task), parent.send)
    threading.Thread(
        target=_listen, args=(parent, worker), name="listens to the pool", daemon=True
    ).start()
    worker.run()


def _listen(parent: ParentProcess, worker: Worker) -> None:
    try:
        while True:
            worker.deliver(parent.receive())
    except EOFError:
        worker.parent_lost()
