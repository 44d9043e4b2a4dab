"""Nodes that think beside the clock: each has a thread of its own, and whatever it is asked, it is asked there.

The thread either computes itself or waits for the node's own process (`node_process.py`); both let go of
the interpreter, so the tick goes on. When that process ends the thread starts another at once, beside the game.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Final

from minibrains.engine.node_process import Health, NodeProcess
from minibrains.engine.timing import ThinkTimes
from minibrains.errors import RunError, in_words
from minibrains.host import Episode
from minibrains.savings import tell_savings

PATIENCE: Final = 5.0
"""Seconds that a node gets to come to an end when something else is wanted of it."""
_HEALTH_CHECK: Final = 0.1
"""Seconds after which a process that is asked nothing is looked at."""


class Job:
    """Something a node was asked, and what came of it."""

    __slots__ = ("arguments", "began", "error", "over", "result", "tick", "what")

    def __init__(self, what: str, arguments: tuple[Any, ...], tick: int) -> None:
        self.what = what
        """The method."""
        self.arguments = arguments
        self.tick = tick
        """On which it was asked."""
        self.began: float | None = None
        """When the node began with it."""
        self.over = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    @classmethod
    def done(cls, tick: int, result: Any, error: BaseException | None) -> Job:
        """A thought that is over already."""
        job = cls("tick", (), tick)
        job.result, job.error = result, error
        job.over.set()
        return job

    def left(self, limit: float | None) -> float | None:
        """Seconds until the node has been at it for `limit`; all of them while it has not begun. None: there is no limit."""
        return limit if limit is None or self.began is None else max(0.0, self.began + limit - perf_counter())

    def take(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class BackgroundNode:
    """A background node's own thread. Once it is open the node is asked nothing from any other, so never two things at once."""

    def __init__(self, node: Any, name: str) -> None:
        self.timeout: float | None = None
        """Seconds that a thought may take."""
        self.seconds = 0.0
        """Spent thinking in all finished thoughts."""
        self.times = ThinkTimes()
        self._node = node
        self._process = node if isinstance(node, NodeProcess) else None
        self._last: Job | None = None
        """What it was asked last, whatever that was."""
        self._thought: Job | None = None
        self._given_up: Job | None = None
        self._changes: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"thinks: {name}", daemon=True)
        self._thread.start()

    # -- thinking -----------------------------------------------------------------------------------

    def launch(self, arguments: tuple[Any, ...], tick: int, waits: bool = True) -> Job:
        """Begin a thought.

        Args:
            arguments: What the node's `tick` is given.
            tick: The tick on which it is asked.
            waits: If its process is only being started, the thought begins when it is there; else that is an error.

        Raises:
            RunError: The node cannot begin: a thought that was given up is still running, or its process is not there.
        """
        if self._process is not None and not waits:
            self._process.check_health()
        if self.stuck:
            raise self._still_busy()
        self._thought = self._begin("tick", arguments, tick)
        return self._thought

    def tick(self, *arguments: Any) -> Any:
        """Think outside of the clock, and wait for the result."""
        job = self.launch(arguments, -1)
        self.wait(job)
        return job.take()

    def wait(self, job: Job) -> None:
        """Wait until a thought is over. Raises RunError after the time limit, and gives it up.

        A process that is only being started takes the time that takes: the limit is for thinking.
        """
        while not job.over.wait(job.left(self.timeout)):
            if job.left(self.timeout) == 0:
                self._give_up(job)
                raise RunError(f"it took longer than its time limit of {self.timeout:g} s")

    @property
    def busy(self) -> bool:
        """Whether it is thinking at this moment."""
        return self._thought is not None and not self._thought.over.is_set()

    @property
    def occupied(self) -> bool:
        """Whether it is still at what it was asked last: what else it is asked would have to wait for that."""
        return self._last is not None and not self._last.over.is_set()

    @property
    def stuck(self) -> bool:
        """Whether it is still busy with a thought that was given up: a thread cannot be ended from outside."""
        return self._given_up is not None and not self._given_up.over.is_set()

    @property
    def health(self) -> Health:
        """Whether the node's process is there; a thread always is."""
        return "ready" if self._process is None else self._process.health

    @property
    def restarts(self) -> int:
        """How often the node's process ended and another took its place."""
        return 0 if self._process is None else self._process.restarts

    def _give_up(self, job: Job) -> None:
        """Wait no longer: a process is ended, a thread runs on and its result is dropped."""
        if self._process is not None:
            self._process.kill()
        else:
            self._given_up = job

    # -- a node's life, asked on its thread ---------------------------------------------------------

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        """Warm the node up, whatever it is doing: on this thread, or in its process between two thoughts.

        May be called beside the game. A process that was warmed up with just this is not asked again, nor waited for.
        """
        if self._process is None:
            self._node.warm_up(constants)
        elif not self._process.is_warmed_up(constants):
            job = self._begin("warm_up", (constants,), -1)
            while not job.over.wait(_HEALTH_CHECK):
                if not self._thread.is_alive():
                    raise RunError("it is closed")
            tell_savings(job.take())

    def reset(self, episode: Episode) -> None:
        self._ask("reset", episode)

    def report(self) -> Mapping[str, Any]:
        report: Mapping[str, Any] = self._ask("report")
        return report

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._ask("state")
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._ask("load_state", state)

    def set(self, **widgets: Any) -> None:
        """Change widgets before the node is next asked anything: now it may be thinking."""
        self._changes.put(widgets)

    def close(self, patience: float | None = None) -> None:
        """End the thread; the node itself is closed by whoever opened it. Raises RunError if it does not end in time."""
        self._jobs.put(None)
        if self._process is not None:
            self._process.dismiss()
        self._thread.join(PATIENCE if patience is None else patience)
        while self._thread.is_alive() and self._process is not None:
            self._process.kill()
            self._thread.join(0.02)
        if self._thread.is_alive():
            raise RunError("it is still thinking, and a thread cannot be ended from outside")

    # -- the thread ---------------------------------------------------------------------------------

    def _ask(self, what: str, *arguments: Any) -> Any:
        """Wait for the answer. Raises RunError if the node is still stuck after five seconds."""
        if self._given_up is not None and not self._given_up.over.wait(PATIENCE):
            raise self._still_busy()
        job = self._begin(what, arguments, -1)
        job.over.wait()
        return job.take()

    def _still_busy(self) -> RunError:
        tick = None if self._given_up is None else self._given_up.tick
        return RunError(f"it is still busy with what it began on tick {tick}, past its time limit of {self.timeout:g} s")

    def _begin(self, what: str, arguments: tuple[Any, ...], tick: int) -> Job:
        self._given_up = None
        job = self._last = Job(what, arguments, tick)
        self._jobs.put(job)
        return job

    def _work(self) -> None:
        while (job := self._next_job()) is not None:
            self._do(job)
            if self._process is not None:
                self._process.restart_if_ended()

    def _next_job(self) -> Job | None:
        """Wait for what the node is asked next; meanwhile see to it that its process is there."""
        if self._process is None:
            return self._jobs.get()
        while True:
            try:
                return self._jobs.get(timeout=_HEALTH_CHECK)
            except Empty:
                self._process.restart_if_ended()

    def _do(self, job: Job) -> None:
        try:
            while not self._changes.empty():
                self._node.set(**self._changes.get())
            job.began = perf_counter()
            job.result = getattr(self._node, job.what)(*job.arguments)
        except BaseException as error:  # it is raised again where the result is taken
            job.error = error
        if job.what == "tick" and job.began is not None:
            seconds = perf_counter() - job.began
            self.seconds += seconds
            self.times.add(seconds)
        job.over.set()


class PendingResult:
    """A continuing node's way to its outputs: launched on one tick, given out `latency` ticks later.

    In the fast clock the clock waits for a late thought, so that what a run comes to does not depend on
    the machine. In real time a late one is given out on the first tick on which it is there.
    """

    def __init__(self, background: BackgroundNode) -> None:
        self.background = background
        self.latency = 1
        """Ticks from the next launch to its result."""
        self.late = 0
        """Results that came later than that."""
        self.job: Job | None = None
        self.wanted = False
        """It was due again while it was busy."""
        self._expected = 0
        """The tick on which the result is to be given out."""

    def launch(self, arguments: tuple[Any, ...], tick: int, waits: bool) -> None:
        """Begin a thought; the clock `waits` for a process that is being started, or not. Raises RunError if it cannot begin."""
        self.job = self.background.launch(arguments, tick, waits)
        self._expected = tick + self.latency

    def fail(self, error: Exception, tick: int) -> None:
        """It could not begin: that is given out in the place of a result."""
        self.job, self._expected = Job.done(tick, None, error), tick + self.latency

    def arrives(self, tick: int, waits: bool) -> bool:
        """Whether the result is given out on this tick; if it is late, the clock `waits` for it or not."""
        job = self.job
        if job is None or tick < self._expected:
            return False
        return waits or job.over.is_set() or job.left(self.background.timeout) == 0

    def take(self, tick: int) -> Any:
        """The result; raises what the node raised, or RunError after the time limit."""
        job, self.job = self.job, None
        if job is None:
            raise RuntimeError("nothing was launched")
        self.late += tick > self._expected
        self.background.wait(job)
        return job.take()

    def finish(self) -> None:
        """Wait until the node is idle; what it thought stays to be taken."""
        if self.job is not None:
            try:
                self.background.wait(self.job)
            except RunError as error:
                self.job = Job.done(self.job.tick, None, error)

    def forget(self) -> None:
        """Wait until the node is idle, and drop what it thought: the episode is over."""
        self.finish()
        self.job, self.wanted = None, False

    def inherit(self, other: PendingResult) -> None:
        """Give out what `other`, which has finished, came to."""
        self.job, self.wanted, self.late, self._expected = other.job, other.wanted, other.late, other._expected

    def state(self) -> dict[str, Any]:
        """What it came to and on which tick that is given out; when it has finished."""
        job = self.job
        found = job and (job.tick, self._expected, job.result, job.error and in_words(job.error))
        return {"job": found, "wanted": self.wanted}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Become what `state()` described."""
        self.forget()
        self.wanted = state["wanted"]
        if state["job"] is not None:
            tick, self._expected, result, error = state["job"]
            self.job = Job.done(tick, result, None if error is None else RunError(error))
