"""A worker process as the server sees it: orders go in, reports come out, and when it dies it leaves its last words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from minibrains.process.child import ChildProcess
from minibrains.process.messages import decode, encode
from server.http.orders import OrderWord, ReportWord, WorkerRecipe
from server.http.worker import live

Hear = Callable[["Slot", ReportWord, Any], None]
_SHUTDOWN_TIMEOUT: Final = 10.0
"""Seconds that a worker gets to end its run and itself."""
_BACKLOG: Final = 100
"""Orders that may wait until a worker reads them."""


class Slot:
    """One worker process. `hear` and `ended` are called in the event loop."""

    def __init__(self, recipe: WorkerRecipe, hear: Hear, ended: Callable[[Slot], None]) -> None:
        self._recipe = recipe
        self._hear, self._ended = hear, ended
        self._loop = asyncio.get_running_loop()
        self._child: ChildProcess | None = None
        self._closed = asyncio.Event()
        self.closing = False
        self.ready = False

    def start(self) -> None:
        """Start the process. Slow; for a thread. Raises OSError, and RuntimeError if there is no memory for its threads."""
        self._child = child = ChildProcess(
            live,
            self._recipe,
            name="minibrains worker",
            shutdown_timeout=_SHUTDOWN_TIMEOUT,
            keep_output=True,
        )
        try:
            child.listen(self._take_report, lambda: self._call(self._end))
        except RuntimeError:
            child.kill()
            self._child = None
            raise

    def tell(self, word: OrderWord, content: Any = None) -> None:
        """Give an order, in turn and without waiting. One that has died hears nothing, and `ended` says so."""
        if self._child is not None:
            self._child.post(encode((word, content), "an order"))

    @property
    def is_behind(self) -> bool:
        """Whether so many orders wait that nobody should give another one."""
        return self._child is not None and self._child.backlog > _BACKLOG

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        if self._child is not None:
            self._child.kill()

    async def close(self) -> None:
        """Let it end its run and itself; kill it if it does not."""
        self.closing = True
        if self._child is None:
            return
        self.tell("stop")
        self.tell("quit")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), _SHUTDOWN_TIMEOUT)
            return
        self.kill()
        await self._closed.wait()

    def last_words(self) -> str:
        """How it ended, and what it wrote last."""
        if self._child is None:
            return "it was never started"
        reason = self._child.exit_reason()
        if not self._child.last_words:
            return f"{reason}; it left no words"
        return f"{reason}; its last words: {self._child.last_words}"

    def _take_report(self, data: bytes) -> None:
        word, content = decode(data, "a worker's report", "in the server")
        self._call(self._hear, self, word, content)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _end(self) -> None:
        self._ended(self)
        self._closed.set()
