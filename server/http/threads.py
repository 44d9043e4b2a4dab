"""Daemon threads for the slow parts of requests, for which a process that ends does not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonPool(ThreadPoolExecutor):
    """A pool for `asyncio.to_thread` whose threads end with the process, whatever they are doing.

    The threads of ThreadPoolExecutor are joined when the event loop closes, and again when the
    interpreter exits, so one that hangs in a read would keep the process alive. An event loop
    accepts no other class, so this one overrides it all.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._max_threads = threads
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._running: list[threading.Thread] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function on one of the threads.

        Must only be called from the event loop, because it is not thread-safe.

        Raises RuntimeError if there is no thread yet, and no memory for one.
        """
        if len(self._running) < self._max_threads:
            self._add_thread()
        future: Future[T] = Future()
        self._jobs.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the threads end with the process."""

    def _add_thread(self) -> None:
        thread = threading.Thread(
            target=self._work, name=f"works {len(self._running)}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            if not self._running:
                raise
            return  # the existing threads take the work
        self._running.append(thread)

    def _work(self) -> None:
        while True:
            _do(*self._jobs.get())


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # the future raises it again
        future.set_exception(error)
    else:
        future.set_result(result)
