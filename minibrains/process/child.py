"""A child process at the other end of a pipe: one way to start, reach, end and kill it."""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import IO, Any, Final

from minibrains.process.messages import encode
from minibrains.process.parent import run_child
from minibrains.process.signals import start_with_signals_blocked

_SPAWN: Final = multiprocessing.get_context("spawn")
_LIVENESS_INTERVAL: Final = 1.0
"""Seconds after which a silent process is checked: a process that it forked may hold its end of the
pipe open."""
_LAST_WORDS: Final = 4000
"""Number of bytes that are read from the end of a process's output."""

_running: Final[set[ChildProcess]] = set()


class ChildProcess:
    """A child process. It is spawned: a fork would copy the emulator and its threads.

    There are two ways to communicate with it. One thread may send and wait, with `send`, `receive`
    and finally `close`. Or, where neither side may wait for the other, `listen` starts a thread
    that reads, and one that writes the messages given to `post`. `kill` may be called from any
    thread at any time.

    Ctrl-C, SIGTERM and SIGHUP do not reach it. It ends when this process does, at the latest
    `shutdown_timeout` later.
    """

    def __init__(
        self,
        function: Callable[..., None],
        *arguments: Any,
        name: str,
        shutdown_timeout: float,
        keep_output: bool = False,
    ) -> None:
        """Start `function(parent, *arguments)` in a new process; `parent` is its ParentProcess.

        Args:
            function: A function at the top of a module.
            arguments: Anything that can be pickled.
            name: The name of the process in messages and in lists of processes.
            shutdown_timeout: Seconds that it gets to end by itself before it is killed.
            keep_output: Keep its standard output and standard error for `output_tail`.

        Raises:
            RunError: An argument cannot be pickled.
            OSError: The system cannot start another process.
        """
        self.killed = False
        """True once `kill` was called."""
        self.output_tail = ""
        """The end of its output, available once it has ended."""
        self._shutdown_timeout = shutdown_timeout
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        task = encode((function, arguments), f"what {name} needs")
        self._output = None
        output = None
        if keep_output:
            self._output = _make_file()
            output = Path(self._output.name)
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=run_child, args=(theirs, shutdown_timeout, output), name=name
        )
        try:
            start_with_signals_blocked(self._process)
        except BaseException:
            self._connection.close()
            self._read_output()
            raise
        finally:
            theirs.close()
        _running.add(self)
        # not as an argument of the process: multiprocessing waits for ever if a large one is not
        # read, because the process ended while it imported the script
        with suppress(OSError):  # it has ended, which `receive` reports
            self._connection.send_bytes(task)

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """True once the process has ended."""
        return not self._process.is_alive()

    # -- send and wait -----------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send a message, waiting while the process does not read.

        Raises:
            OSError: It has ended.
        """
        self._connection.send_bytes(data)

    def receive(self, timeout: float = math.inf) -> bytes:
        """Wait for its next message.

        Raises:
            EOFError: It has ended or closed the pipe, and all of its messages were received.
            TimeoutError: No message came for `timeout` seconds.
        """
        deadline = monotonic() + timeout
        while not self._connection.poll(_next_wait(deadline)):
            if not self._process.is_alive() and not self._connection.poll():
                raise EOFError("the process has ended")
            if monotonic() >= deadline:
                raise TimeoutError(f"nothing was heard for {timeout:g} s")
        try:
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise EOFError("the process has ended") from error

    def close(self) -> None:
        """Close the pipe, which makes the process end; kill it if it does not end in time."""
        self._connection.close()
        self._wait_or_kill()

    # -- read and write on threads -----------------------------------------------------------------

    def listen(self, on_message: Callable[[bytes], None], on_exit: Callable[[], None]) -> None:
        """Start reading and writing on threads.

        Args:
            on_message: Called with each message, on the reading thread.
            on_exit: Called on the same thread, once the process has ended.
        """
        name = self._process.name
        threading.Thread(
            target=self._read, args=(on_message, on_exit), name=f"reads from {name}", daemon=True
        ).start()
        threading.Thread(target=self._write, name=f"writes to {name}", daemon=True).start()

    def post(self, data: bytes) -> None:
        """Queue a message without waiting. Does nothing if the process has ended."""
        self._outbox.put(data)

    @property
    def backlog(self) -> int:
        """Number of posted messages that are not sent yet, because the process does not read."""
        return self._outbox.qsize()

    def _read(self, on_message: Callable[[bytes], None], on_exit: Callable[[], None]) -> None:
        try:
            while True:
                on_message(self.receive())
        except EOFError:
            pass
        finally:
            self._outbox.put(None)
            self._wait_or_kill()
            on_exit()

    def _write(self) -> None:
        while (data := self._outbox.get()) is not None:
            with suppress(OSError):  # it has ended, which `_read` reports
                self._connection.send_bytes(data)
        self._connection.close()

    # -- the end -----------------------------------------------------------------------------------

    def kill(self) -> None:
        """Kill the process, without waiting for its end."""
        self.killed = True
        self._process.kill()

    @property
    def exit_signal(self) -> str | None:
        """The name of the signal that ended it; None if it ended by itself."""
        code = self._process.exitcode
        if code is None or code >= 0:
            return None
        try:
            return signal.Signals(-code).name
        except ValueError:  # a real-time signal has no name
            return str(-code)

    @property
    def exit_status(self) -> int | None:
        """The exit status of a process that ended by itself; None if a signal ended it."""
        return None if self.exit_signal else self._process.exitcode

    def exit_reason(self) -> str:
        """Describe how it ended: "signal SIGKILL" or "exit status 3"."""
        if self.exit_signal:
            return f"signal {self.exit_signal}"
        return f"exit status {self.exit_status}"

    def _wait_or_kill(self) -> None:
        if not self._ends_within(self._shutdown_timeout):
            self._process.kill()
            self._ends_within(math.inf)
        _running.discard(self)
        self._read_output()

    def _ends_within(self, seconds: float) -> bool:
        deadline = monotonic() + seconds
        # A single `join` is not enough: like the pipe, what it waits for may be held open by a
        # process that this one forked.
        while self._process.is_alive():
            if monotonic() >= deadline:
                return False
            self._process.join(_next_wait(deadline))
        return True

    def _read_output(self) -> None:
        """Read the end of its output, and close the file."""
        if self._output is None:
            return
        with suppress(OSError), self._output as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _LAST_WORDS))
            self.output_tail = file.read().decode(errors="replace").strip()
        Path(self._output.name).unlink(missing_ok=True)
        self._output = None


def _next_wait(deadline: float) -> float:
    """Return the seconds until the next check of the process."""
    remaining = max(0.0, deadline - monotonic())
    return min(remaining, _LIVENESS_INTERVAL)


def _make_file() -> IO[bytes]:
    """Return a new temporary file.

    The child unlinks it, so that no file is left behind if both processes are killed.
    """
    return tempfile.NamedTemporaryFile(prefix="minibrains-worker-", suffix=".txt", delete=False)


@atexit.register
def _kill_all() -> None:
    """Kill all remaining processes: otherwise multiprocessing would wait for
    them at exit without limit.
    """
    for child in list(_running):
        child.kill()
