"""Workers as processes on this machine: spawned, not forked, each at the other end of a pipe."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from minibrains.process.spawn import SIGNALS, start_shielded, take_no_orders
from minibrains.process.worker import Worker
from minibrains.process.workers import Events

_PATIENCE = 10.0
"""Seconds that a process may take to end: after everything in it was closed, or after its parent was lost."""


class ProcessLauncher:
    """Starts workers as processes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def launch(self, number: int, task: bytes, events: Events) -> ProcessLink:
        return ProcessLink(number, task, events)

    def close(self) -> None:
        pass


class ProcessLink:
    """The pool's end of a worker process."""

    def __init__(self, number: int, task: bytes, events: Events) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_live, args=(number, theirs, task), name=f"worker {number}")
        start_shielded(self._process)
        theirs.close()
        threading.Thread(target=self._read, args=(number, events), daemon=True).start()

    def send(self, data: bytes) -> None:
        with suppress(OSError):  # it has ended, and `_read` says so
            self._connection.send_bytes(data)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def end(self) -> str:
        status = self._process.exitcode
        return f"signal {signal.Signals(-status).name}" if status is not None and status < 0 else f"exit status {status}"

    def _read(self, number: int, events: Events) -> None:
        with suppress(EOFError, OSError):
            # the pipe alone will not do: a child that the worker left behind may still hold it open
            while self._connection.poll(1.0) or self._process.is_alive():
                if self._connection.poll():
                    events.put((number, self._connection.recv_bytes()))
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        events.put((number, None))


def _live(number: int, connection: Connection, task: bytes) -> None:
    """A worker process's life."""
    take_no_orders(*SIGNALS)
    sending = threading.Lock()

    def send(data: bytes) -> None:
        with suppress(OSError), sending:  # the parent is gone, and `listen` ends this process
            connection.send_bytes(data)

    worker = Worker(number, pickle.loads(task), send)

    def listen() -> None:
        try:
            while True:
                worker.deliver(connection.recv_bytes())
        except (EOFError, OSError):
            worker.orphan()
            time.sleep(_PATIENCE)
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    worker.run()
