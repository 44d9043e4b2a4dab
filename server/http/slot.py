"""A worker process as the server sees it: orders go in, reports come out, and when it dies it leaves its last words."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from minibrains.process.spawn import start_shielded
from server.http.orders import OrderWord, ReportWord, WorkerRecipe
from server.http.worker import live

Hear = Callable[["Slot", ReportWord, Any], None]
_PATIENCE: Final = 10.0
"""Seconds that a process may take to end in good order."""
_WORDS: Final = 4000
"""Bytes of what a dead worker wrote last."""


class Slot:
    """One worker process. `hear` and `ended` are called in the event loop."""

    def __init__(self, recipe: WorkerRecipe, hear: Hear, ended: Callable[[Slot], None]) -> None:
        handle, words = tempfile.mkstemp(prefix="minibrains-worker-", suffix=".txt")
        os.close(handle)
        self._recipe = replace(recipe, words=Path(words))
        self._hear, self._ended = hear, ended
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._orders: SimpleQueue[tuple[OrderWord, Any] | None] = SimpleQueue()
        self._process: BaseProcess | None = None
        self._closed = asyncio.Event()
        self.closing = False
        self.ready = False

    def start(self) -> None:
        """Start the process. Slow; for a thread."""
        context = multiprocessing.get_context("spawn")  # a fork would copy the event loop
        ours, theirs = context.Pipe()
        process = context.Process(target=live, args=(theirs, self._recipe), name="minibrains worker")
        start_shielded(process)
        theirs.close()
        self._connection, self._process = ours, process
        threading.Thread(target=self._read, args=(ours, process), name="reads a worker", daemon=True).start()
        threading.Thread(target=self._write, args=(ours,), name="orders a worker", daemon=True).start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def tell(self, word: OrderWord, content: Any = None) -> None:
        """Give an order, in turn and without waiting. One that has died hears nothing, and `ended` says so."""
        self._orders.put((word, content))

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        if self._process is not None:
            self._process.kill()

    async def close(self, patience: float = _PATIENCE) -> None:
        """Let it end its run and itself; kill it if it does not."""
        self.closing = True
        if self._process is None or self._connection is None:
            return
        self.tell("stop")
        self.tell("quit")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), patience)
            return
        self.kill()
        await self._closed.wait()

    def last_words(self) -> str:
        """How it ended, and what it wrote last."""
        code = self._process.exitcode if self._process else None
        how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit status {code}"
        with suppress(OSError), self._recipe.words.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _WORDS))
            text = file.read().decode(errors="replace").strip()
            return f"{how}; its last words: {text}" if text else f"{how}; it left no words"
        return how

    def _read(self, connection: Connection, process: BaseProcess) -> None:
        with suppress(EOFError, OSError):
            # not the pipe alone: a child that the worker left behind may still hold it open
            while connection in wait([connection, process.sentinel]):
                word, content = connection.recv()
                self._call(self._hear, self, word, content)
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        self._call(self._end)

    def _write(self, connection: Connection) -> None:
        """The one thread that writes: two would write into each other's orders, and a worker that does not read blocks it."""
        while (order := self._orders.get()) is not None:
            with suppress(OSError):
                connection.send(order)
        connection.close()

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _end(self) -> None:
        self._orders.put(None)
        self._ended(self)
        self._recipe.words.unlink(missing_ok=True)
        self._closed.set()
