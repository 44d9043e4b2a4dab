"""The server's end of a worker process: it sends commands, receives events,
and keeps the output that explains a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from minibrains.process.child import ChildProcess
from minibrains.process.messages import decode, encode
from server.http.worker import worker_main
from server.http.worker_protocol import WorkerCommand, WorkerConfig, WorkerEvent

OnEvent = Callable[["WorkerHandle", WorkerEvent, Any], None]
_SHUTDOWN_TIMEOUT: Final = 10.0
"""Seconds that a worker gets to finish its run and exit."""
_BACKLOG: Final = 100
"""Largest number of commands that a worker has not read."""


class WorkerHandle:
    """One worker process. `on_event` and `ended` are called in the event loop."""

    def __init__(
        self, config: WorkerConfig, on_event: OnEvent, ended: Callable[[WorkerHandle], None]
    ) -> None:
        self._config = config
        self._on_event, self._ended = on_event, ended
        self._loop = asyncio.get_running_loop()
        self._child: ChildProcess | None = None
        self._closed = asyncio.Event()
        self.closing = False
        self.ready = False

    def start(self) -> None:
        """Start the process.

        Slow, so call it on a thread. Raises OSError, or RuntimeError if there is no memory for
        threads.
        """
        self._child = child = ChildProcess(
            worker_main,
            self._config,
            name="minibrains worker",
            shutdown_timeout=_SHUTDOWN_TIMEOUT,
            keep_output=True,
        )
        try:
            child.listen(self._take_event, lambda: self._call(self._end))
        except RuntimeError:
            child.kill()
            self._child = None
            raise

    def send(self, command: WorkerCommand, content: Any = None) -> None:
        """Queue a command without waiting.

        If the worker has died, nothing is sent, and `ended` is called.
        """
        if self._child is not None:
            self._child.post(encode((command, content), "a command"))

    @property
    def is_behind(self) -> bool:
        """Return True if so many commands are unread that no more should be sent."""
        return self._child is not None and self._child.backlog > _BACKLOG

    def kill(self) -> None:
        """Kill the process."""
        if self._child is not None:
            self._child.kill()

    async def close(self) -> None:
        """Let it finish its run and exit; kill it if it does not."""
        self.closing = True
        if self._child is None:
            return
        self.send("stop")
        self.send("quit")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), _SHUTDOWN_TIMEOUT)
            return
        self.kill()
        await self._closed.wait()

    def describe_exit(self) -> str:
        """Describe how it ended, with the end of its output."""
        if self._child is None:
            return "it was never started"
        reason = self._child.exit_reason()
        if not self._child.output_tail:
            return f"{reason}; it wrote no output"
        return f"{reason}; its last words: {self._child.output_tail}"

    def _take_event(self, data: bytes) -> None:
        event, content = decode(data, "an event of a worker", "in the server")
        self._call(self._on_event, self, event, content)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _end(self) -> None:
        self._ended(self)
        self._closed.set()
