"""The child's end of the pipe: the first thing to run in every process
that `ChildProcess` starts.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from minibrains.process.messages import decode
from minibrains.process.signals import ignore_signals


class ParentProcess:
    """The process that started this one, at the other end of a pipe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, data: bytes) -> None:
        """Send a message, from any thread.

        Does nothing if the parent is gone: this process is about to end.
        """
        with suppress(OSError), self._sending:
            self._connection.send_bytes(data)

    def receive(self) -> bytes:
        """Wait for the next message.

        Raises:
            EOFError: The parent has closed the pipe, or is gone.
        """
        try:
            return self._connection.recv_bytes()
        except OSError as error:
            raise EOFError("the parent process is gone") from error


def run_child(connection: Connection, shutdown_timeout: float, output: Path | None) -> None:
    """Run the function that was given to `ChildProcess`, which is its first message;
    the main function of each child process.
    """
    if output is not None:
        _redirect_output(output)
    ignore_signals()
    threading.Thread(
        target=_exit_with_parent,
        args=(shutdown_timeout,),
        name="waits for the parent's end",
        daemon=True,
    ).start()
    parent = ParentProcess(connection)
    try:
        task = parent.receive()
    except EOFError:
        return
    function, arguments = decode(task, "what a child process was given", "in that process")
    function(parent, *arguments)


def _redirect_output(output: Path) -> None:
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    with suppress(OSError):  # Windows cannot unlink an open file
        output.unlink()
    faulthandler.enable()


def _exit_with_parent(shutdown_timeout: float) -> None:
    """End this process once its parent is gone,
    even if it is busy and does not see that the pipe was closed.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    time.sleep(shutdown_timeout)
    os._exit(1)
