"""Background nodes: each is called on a thread of its own.

The thread either computes itself or waits for the node's own process (`node_process.py`). Both
release the interpreter lock, so the tick goes on. When that process ends, the thread starts another
at once, beside the game.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Final

from minibrains.engine.node_process import Health, NodeProcess
from minibrains.engine.timing import OctaveHistogram
from minibrains.errors import RunError, describe_error
from minibrains.host import Episode
from minibrains.savings import tell_savings

SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds that a node gets to finish its current call when it is closed or asked for something
else."""
_HEALTH_CHECK: Final = 0.1
"""Seconds between two checks of an idle process."""
_LONGEST_WAIT: Final = 0.2
"""Seconds after which a wait is interrupted, so that signals are handled."""


class NodeCall:
    """A call of one of a node's methods, and its outcome."""

    __slots__ = ("arguments", "error", "finished", "method", "result", "started", "tick")

    def __init__(self, method: str, arguments: tuple[Any, ...], tick: int) -> None:
        self.method = method
        self.arguments = arguments
        self.tick = tick
        """The tick of the call; -1 if it was not made by a tick of the game."""
        self.started: float | None = None
        """The time at which the node began to work on it; None before that."""
        self.finished = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    @classmethod
    def completed(cls, tick: int, result: Any, error: BaseException | None) -> NodeCall:
        """Return a call that has finished already."""
        call = cls("tick", (), tick)
        call.result, call.error = result, error
        call.finished.set()
        return call

    def remaining(self, limit: float | None) -> float | None:
        """Return the seconds left of `limit`; all of it while the node has not begun.

        None means no limit.
        """
        if limit is None or self.started is None:
            return limit
        return max(0.0, self.started + limit - perf_counter())

    def wait(self, limit: float | None = None) -> bool:
        """Wait until the call has finished, or for `limit` seconds since it was started;
        return True if it has finished.
        """
        # In steps: Python handles a signal only between two of its instructions, so that a Ctrl-C
        # just before the wait would not be noticed before its end.
        while not self.finished.is_set():
            remaining = self.remaining(limit)
            if remaining == 0:
                return False
            if remaining is None or remaining > _LONGEST_WAIT:
                remaining = _LONGEST_WAIT
            self.finished.wait(remaining)
        return True

    def take(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


class BackgroundNode:
    """A background node and its thread.

    Once the node is open, only this thread calls it, so calls never overlap: all but `warm_up`,
    which a node on a thread must allow while it computes.
    """

    def __init__(self, node: Any, name: str) -> None:
        self.timeout: float | None = None
        """Time limit of one tick of the node in seconds; None: no limit."""
        self.seconds = 0.0
        """Seconds spent in all ticks of the node; in an abandoned one, up to the time limit."""
        self.times = OctaveHistogram()
        self.answered: NodeCall | None = None
        """The latest tick of the node that gave a result, with its arguments."""
        self._node = node
        self._process = node if isinstance(node, NodeProcess) else None
        self._last: NodeCall | None = None
        """The latest call of any method."""
        self._running: NodeCall | None = None
        self._abandoned: NodeCall | None = None
        self._changes: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._calls: SimpleQueue[NodeCall | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"thinks: {name}", daemon=True)
        self._thread.start()

    # -- thinking ----------------------------------------------------------------------------------

    def submit(self, arguments: tuple[Any, ...], tick: int, waits: bool = True) -> NodeCall:
        """Begin a tick of the node.

        Args:
            arguments: The arguments of the node's `tick`.
            tick: The number of the current tick.
            waits: If the node's process is still starting, begin the call when it is ready instead
                of failing.

        Raises:
            RunError: The node cannot begin: an abandoned call is still running, or its process is
                not running.
        """
        if self._process is not None and not waits:
            self._process.check_health()
        if self.timed_out:
            raise self._still_busy()
        self._running = self._begin("tick", arguments, tick)
        return self._running

    def tick(self, *arguments: Any) -> Any:
        """Call `tick` although the game does not tick, and wait for the result."""
        call = self.submit(arguments, -1)
        self.wait(call)
        return call.take()

    def wait(self, call: NodeCall) -> None:
        """Wait until a call has finished. After the time limit, abandon it and raise RunError.

        The time that a process takes to start does not count.
        """
        if not call.wait(self.timeout):
            self._abandon(call)
            raise RunError(f"it took longer than its time limit of {self.timeout:g} s")

    @property
    def is_ticking(self) -> bool:
        """True while the node computes a result."""
        return self._running is not None and not self._running.finished.is_set()

    @property
    def has_unfinished_call(self) -> bool:
        """True while the latest call is running, so that another one would have to wait."""
        return self._last is not None and not self._last.finished.is_set()

    @property
    def timed_out(self) -> bool:
        """True while an abandoned call is still running: a thread cannot be ended from outside."""
        return self._abandoned is not None and not self._abandoned.finished.is_set()

    @property
    def health(self) -> Health:
        """The health of the node's process; a node on a thread is always ready."""
        return "ready" if self._process is None else self._process.health

    @property
    def restarts(self) -> int:
        """Number of times that the node's process ended and was replaced."""
        return 0 if self._process is None else self._process.restarts

    def _abandon(self, call: NodeCall) -> None:
        """Give up on a call: kill the process, or let the thread run on and drop its result."""
        if self._process is not None:
            self._process.kill()
        else:
            self._abandoned = call
            assert self.timeout is not None
            self._count(self.timeout)  # now, since it may never end

    # -- the node's life cycle, on its thread ------------------------------------------------------

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        """Warm the node up: on the calling thread, or in the node's process between two calls.

        May be called while the game runs. A process that was warmed up with the same constants is
        not asked again.
        """
        if self._process is None:
            self._node.warm_up(constants)
        elif not self._process.is_warmed_up(constants):
            call = self._begin("warm_up", (constants,), -1)
            while not call.finished.wait(_HEALTH_CHECK):
                if not self._thread.is_alive():
                    raise RunError("it is closed")
            tell_savings(call.take())

    def reset(self, episode: Episode) -> None:
        """Start an episode of the node, and wait until it has."""
        self._call_and_wait("reset", episode)

    def report(self) -> Mapping[str, Any]:
        """Return the node's results of the episode."""
        report: Mapping[str, Any] = self._call_and_wait("report")
        return report

    def is_done(self, episode: Episode) -> bool:
        """Return whether the node has everything of an episode."""
        return bool(self._call_and_wait("is_done", episode))

    def finish(self, results: Mapping[str, Any]) -> None:
        """Finish an episode of the node, and wait until it has."""
        self._call_and_wait("finish", results)

    def state(self) -> dict[str, Any]:
        """Return a copy of the node's state."""
        state: dict[str, Any] = self._call_and_wait("state")
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned."""
        self._call_and_wait("load_state", state)

    def set(self, **widgets: Any) -> None:
        """Change widgets before the next call, because the node may be busy now."""
        self._changes.put(widgets)

    def close(self, timeout: float | None = None) -> None:
        """End the thread; the caller closes the node itself.

        Raises RunError if the thread does not end in time.
        """
        self._calls.put(None)
        if self._process is not None:
            self._process.dismiss()
        self._thread.join(SHUTDOWN_TIMEOUT if timeout is None else timeout)
        while self._thread.is_alive() and self._process is not None:
            self._process.kill()
            self._thread.join(0.02)
        if self._thread.is_alive():
            raise RunError("it is still thinking, and a thread cannot be ended from outside")

    # -- the thread --------------------------------------------------------------------------------

    def _call_and_wait(self, method: str, *arguments: Any) -> Any:
        """Call a method and wait for its result.

        Raises RunError if the node is still busy with an abandoned call after 5 s.
        """
        if self._abandoned is not None and not self._abandoned.finished.wait(SHUTDOWN_TIMEOUT):
            raise self._still_busy()
        call = self._begin(method, arguments, -1)
        call.wait()
        return call.take()

    def _still_busy(self) -> RunError:
        tick = None if self._abandoned is None else self._abandoned.tick
        return RunError(
            f"it is still busy with the call that it began on tick {tick}, "
            f"past its time limit of {self.timeout:g} s"
        )

    def _begin(self, method: str, arguments: tuple[Any, ...], tick: int) -> NodeCall:
        self._abandoned = None
        call = self._last = NodeCall(method, arguments, tick)
        self._calls.put(call)
        return call

    def _work(self) -> None:
        while (call := self._next_call()) is not None:
            self._do(call)
            if self._process is not None:
                self._process.restart_if_ended()

    def _next_call(self) -> NodeCall | None:
        """Wait for the next call; meanwhile restart the process if it has ended."""
        if self._process is None:
            return self._calls.get()
        while True:
            try:
                return self._calls.get(timeout=_HEALTH_CHECK)
            except Empty:
                self._process.restart_if_ended()

    def _do(self, call: NodeCall) -> None:
        try:
            while not self._changes.empty():
                self._node.set(**self._changes.get())
            call.started = perf_counter()
            call.result = getattr(self._node, call.method)(*call.arguments)
        except BaseException as error:  # `take` raises it again
            call.error = error
        if call.method == "tick" and call.started is not None and call is not self._abandoned:
            self._count(perf_counter() - call.started)
            if call.error is None:
                self.answered = call
        call.finished.set()

    def _count(self, seconds: float) -> None:
        """Count the duration of a tick."""
        self.seconds += seconds
        self.times.add(seconds)


class ReplayedCall:
    """Whether a non-blocking node is thinking, in a replay, which takes its result from the tape.

    Nothing in the replay depends on it, but a fork that begins here does.
    """

    __slots__ = ("resubmit", "submitted")

    def __init__(self) -> None:
        self.submitted: int | None = None
        """The tick on which it was begun; None while it is not thinking."""
        self.resubmit = False
        """The node became due again while it was thinking."""

    def clear(self) -> None:
        """Forget the call: the episode is over."""
        self.submitted, self.resubmit = None, False

    def state(self) -> tuple[int | None, bool]:
        """Return a copy of its state."""
        return self.submitted, self.resubmit

    def load_state(self, state: tuple[int | None, bool]) -> None:
        """Restore what `state` returned."""
        self.submitted, self.resubmit = state


class NonBlockingCalls:
    """The calls of a non-blocking node, one at a time: submitted on one tick, delivered `latency`
    ticks later.

    With the fast clock, a tick waits for a late result, so that the results of a run do not depend
    on the machine. In real time a late one is delivered on the first tick on which it is there.
    """

    def __init__(self, background: BackgroundNode) -> None:
        self.background = background
        self.latency = 1
        """Ticks from the beginning of the next call to the delivery of its result."""
        self.late = 0
        """Number of results that came later than that."""
        self.call: NodeCall | None = None
        self.resubmit = False
        """The node became due again while it was busy."""
        self._expected = 0
        """The tick on which the result is to be delivered."""

    def submit(self, arguments: tuple[Any, ...], tick: int, waits: bool) -> None:
        """Begin a call.

        With `waits`, a process that is still starting is waited for. Raises RunError if it cannot
        begin.
        """
        self.call = self.background.submit(arguments, tick, waits)
        self._expected = tick + self.latency

    def fail(self, error: Exception, tick: int) -> None:
        """Record an error in place of a result, because the call could not begin."""
        self.call, self._expected = NodeCall.completed(tick, None, error), tick + self.latency

    def is_ready(self, tick: int, waits: bool) -> bool:
        """Return True if the result is to be taken on this tick.

        With `waits`, this is so even if it is late: `take` then waits for it.
        """
        call = self.call
        if call is None or tick < self._expected:
            return False
        return waits or call.finished.is_set() or call.remaining(self.background.timeout) == 0

    def take(self, tick: int) -> Any:
        """Return the result, or raise what the node raised, or RunError after the time limit."""
        call, self.call = self.call, None
        if call is None:
            raise RuntimeError("nothing was submitted")
        self.late += tick > self._expected
        self.background.wait(call)
        return call.take()

    def finish(self) -> None:
        """Wait until the node is idle; its result can still be taken."""
        if self.call is not None:
            try:
                self.background.wait(self.call)
            except RunError as error:
                self.call = NodeCall.completed(self.call.tick, None, error)

    def cancel(self) -> None:
        """Wait until the node is idle, and drop its result: the episode is over."""
        self.finish()
        self.call, self.resubmit = None, False

    def inherit_from(self, other: NonBlockingCalls) -> None:
        """Take over the result of `other`, which has finished."""
        self.call = other.call
        self.resubmit = other.resubmit
        self.late = other.late
        self._expected = other._expected

    def state(self) -> dict[str, Any]:
        """Return the result and the tick of its delivery; the call has finished."""
        call, job = self.call, None
        if call is not None:
            error = None if call.error is None else describe_error(call.error)
            job = call.tick, self._expected, call.result, error
        return {"job": job, "wanted": self.resubmit}

    def as_replayed(self) -> tuple[int | None, bool]:
        """Return the state of the `ReplayedCall` that a replay has in its place."""
        submitted = None if self.call is None else self.call.tick
        return submitted, self.resubmit

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state()` returned."""
        self.cancel()
        self.resubmit = state["wanted"]
        if state["job"] is not None:
            tick, self._expected, result, error = state["job"]
            self.call = NodeCall.completed(tick, result, None if error is None else RunError(error))
