"""Controls a run between its ticks: pauses it, steps it, and samples what pages watch.

Several threads share this object. The one that ticks stores the latest values in attributes, from
which the one that reports takes them; it waits only while the run is paused. The one that listens,
and those of slow commands, change what is watched, paused and edited.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from minibrains.console import Console
from minibrains.engine.engine import Engine
from minibrains.engine.live_edit import Edit
from minibrains.engine.peek import peek, peek_in_full
from minibrains.engine.single_steps import StepDone
from minibrains.engine.stats import NodeStats
from minibrains.errors import MinibrainsError, RunError
from minibrains.games.save_states import SaveState
from minibrains.graph.breakpoint import Breakpoint
from minibrains.hooks import Budget, Hook
from minibrains.run.breakpoints import Breakpoints
from minibrains.run.deadlines import Deadlines
from minibrains.run.episode import EpisodeResult
from minibrains.run.realtime import RealtimeClock
from minibrains.run.run import Run
from server.http.previews import is_picture
from server.http.tick_times import TickSampler
from server.http.worker_protocol import Watch

Result = TypeVar("Result")

_STOP_CHECK = 0.1
"""How often a paused run checks whether it is to stop, in seconds."""
_WATCHED, _UNWATCHED = 0.008, 0.05
"""Seconds between two samples, while pictures or values are watched, and while they are not."""
_STATS_EVERY, _VALUES_EVERY = 0.1, 0.05


@dataclass(frozen=True, slots=True)
class StatsSample:
    """The statistics of the run at one moment."""

    when: float
    tick: int
    ticks: int
    misses: int
    missed: Mapping[str, Any] | None
    """`Deadlines.missed` in real time."""
    nodes: Mapping[str, NodeStats]


class RunController(Hook):
    """The controller of one run.

    Each public attribute is assigned as a whole, so other threads may read it at any time; to
    `requested_pictures` and `pictures` one thread adds, and another takes from them.

    | state | begins with | ends with | the thread that ticks |
    |---|---|---|---|
    | running | `pause(False)` | `pause(True)`, a breakpoint | ticks |
    | paused | `pause(True)`, a breakpoint | `pause(False)`, or one of those below | waits |
    | single ticks | `run_ticks(n)` | n ticks: then it is paused | ticks |
    | within a tick | `step_node()` | the next `step_node()`, the end of the tick | waits |
    | seeking | `seek(tick)` | that tick: then it is paused | goes to it |
    | stopping | `stop()` | the end of the run | ends its tick |
    """

    def __init__(self, wake: threading.Event) -> None:
        """Control a run; `wake` is set when there is something new to report."""
        self.engine: Engine | None = None
        self.watch = Watch()
        self.requested_pictures: set[str] = set()
        """Nodes whose next picture may be sent."""
        self.paused = False
        self.waiting = False
        """True while the run stands still because it is paused."""
        self.stats: StatsSample | None = None
        self.values: dict[str, Any] = {}
        self.full: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        """Node -> its latest inputs and outputs, by name."""
        self.pictures: dict[str, tuple[np.ndarray, int, float]] = {}
        """Node -> its newest picture, its tick, and the time at which it was shown, in seconds."""
        self.tick_times = TickSampler()
        self._wake = wake
        self.breakpoints = Breakpoints()
        self.speed = 1.0
        """The speed of the realtime clock, as a share of the console's own frame rate."""
        self.hit_breakpoints: tuple[str, ...] = ()
        """The breakpoints that paused the run, in words."""
        self.target: int | None = None
        """The tick to which a recorded run is to be played next."""
        self.stopped_after: StepDone | None = None
        """The step after which the run stands within a tick; None: it is between two ticks."""
        # one entry for each: unlike a number, a deque can be added to, taken from and cleared by
        # several threads without a lock
        self._ticks_to_run: deque[None] = deque()
        """The ticks that are to be run although the run is paused."""
        self._nodes_to_run: deque[None] = deque()
        """The nodes of a tick that are to be run, one by one."""
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        """Functions that are to be called between two ticks, and the futures that wait for what
        they return."""
        self._over = False
        self._go = threading.Event()
        self._stopping = False
        self._deadlines: Deadlines | None = None
        """Those of the realtime clock, if the run has one."""
        self._shown: dict[str, tuple[Any, int]] = {}
        self._stats_due = self._values_due = 0.0

    # -- commands, from threads that do not tick ---------------------------------------------------

    def stop(self) -> None:
        """End the run after the current tick."""
        self._stopping = True
        if self.engine is not None:
            self.engine.stopping = True
        self._go.set()

    def pause(self, paused: bool) -> None:
        """Pause the run, or let it go on."""
        self.paused = paused
        self.hit_breakpoints = ()
        self._ticks_to_run.clear()
        self._nodes_to_run.clear()
        self._go.set()

    def run_ticks(self, ticks: int) -> None:
        """Run `ticks` ticks and pause again; a run that is not paused is paused after them."""
        self.paused = True
        self.hit_breakpoints = ()
        self._ticks_to_run.extend([None] * ticks)
        self._go.set()

    def step_node(self) -> None:
        """Run until the next node of a tick has computed something, and pause there."""
        self.paused = True
        self.hit_breakpoints = ()
        self._nodes_to_run.append(None)
        self._go.set()

    def seek(self, tick: int) -> None:
        """Ask for a tick of a recorded run, at which it is then paused."""
        self.pause(True)
        self.target = tick
        self._go.set()

    def break_when(self, breakpoints: tuple[Breakpoint, ...]) -> dict[str, Any]:
        """Replace the breakpoints; return them in words. Raises RunError if one can never hold."""
        if self.engine is None:
            raise RunError("the run has not begun yet; set breakpoints once it ticks")
        wanted = Breakpoints(breakpoints)
        errors = wanted.errors(self.engine)
        if errors:
            raise RunError("; ".join(errors))
        self.breakpoints = wanted
        return {"breakpoints": list(map(str, breakpoints))}

    def save_state(self, node: str) -> Future[SaveState]:
        """Take a console's state between two ticks; the future gets it, or the error."""

        def save() -> SaveState:
            console = self.engine and self.engine.nodes.get(node)
            if not isinstance(console, Console):
                raise MinibrainsError(
                    f"{node!r} is not a console of this run; only a console has a state to save"
                )
            return console.save_state()

        return self.call(save)

    def call(self, function: Callable[[], Result]) -> Future[Result]:
        """Call a function between two ticks, on the thread that ticks."""
        future: Future[Result] = Future()
        self._calls.append((function, future))
        self._go.set()
        if self._over:
            self.refuse_calls()
        return future

    def wake(self) -> None:
        """Wake a paused run, so that it samples again or applies an edit."""
        self._go.set()

    # -- from the thread that ticks ----------------------------------------------------------------

    def before_open(self, run: Run) -> None:
        self.engine = run.engine
        run.stopping = self._stopping

    def after_open(self, run: Run) -> None:
        """Say which breakpoints can never hold."""
        for error in self.breakpoints.errors(run.engine):
            run.say(error)

    def between_ticks(self, run: Run) -> Budget:
        """Sample what pages watch, and wait while the run is paused."""
        engine = run.engine
        realtime = None
        if isinstance(run.ticker, RealtimeClock):
            realtime = run.ticker
            self._deadlines = realtime.deadlines
        if self.watch.budgets:
            self.tick_times.sample(engine)
        self._break(engine)
        self._sample(engine)
        self._answer_calls()
        if self._wait(engine) and realtime is not None:
            realtime.resume()
        if realtime is not None and realtime.speed != self.speed:
            realtime.speed = self.speed
        ticks = 1 if self.paused or self.breakpoints else sys.maxsize
        seconds = _WATCHED if self.watch.is_live else _UNWATCHED
        return Budget(ticks, seconds)

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        """Pause at a breakpoint that began to hold on the tick that ended the episode."""
        if episode.ended != "failed":
            self._break(run.engine)
            if self.hit_breakpoints:
                self._wait(run.engine)

    def _break(self, engine: Engine) -> None:
        """Pause the run if a breakpoint begins to hold."""
        if self.breakpoints and (hit := self.breakpoints.hit(engine)):
            self.pause(True)
            self.hit_breakpoints = hit

    def _wait(self, engine: Engine) -> bool:
        """Wait while the run is paused; return whether it was.

        The thread that listens ends the wait: with `pause(False)`, `stop`, a tick to go to
        (`target`), or a tick or a node to run (`_ticks_to_run`, `_nodes_to_run`). Calls are
        answered and edits applied while it waits.
        """
        waited = False
        self.stopped_after = engine.after_step = None
        while self.paused and not engine.stopping and self.target is None:
            if self._nodes_to_run:
                engine.after_step = self._after_step
                break
            if self._ticks_to_run:
                self._ticks_to_run.popleft()
                break
            waited = True
            self._await_news(engine)
            self._answer_calls()
            if engine.edits:
                engine.apply_edits()
        self.waiting = False
        return waited

    def _after_step(self, done: StepDone) -> None:
        """Wait within a tick until the next step is wanted. Whatever has to be done between two
        ticks ends the tick first.
        """
        engine = self.engine
        if engine is None or not self._nodes_to_run:
            return  # the rest of the tick
        self._nodes_to_run.popleft()
        self.stopped_after = done
        began = perf_counter()
        while self.paused and not self._nodes_to_run:
            if self._ticks_to_run:
                self._ticks_to_run.popleft()
                break
            if engine.stopping or engine.edits or self._calls or self.target is not None:
                break
            self._await_news(engine)
        self.waiting = False
        engine.context.blocked_seconds += perf_counter() - began

    def _await_news(self, engine: Engine) -> None:
        """Show how the run stands, and wait for a command or for the end of the run."""
        self._sample(engine, everything=True)
        # only now, so that whoever sees it sees the sample too
        self.waiting = True
        self._wake.set()
        # a signal handler, as that of Ctrl-C, only says that the run is to stop
        while not self._go.wait(_STOP_CHECK) and not engine.stopping:
            pass
        self._go.clear()

    def on_edit(self, run: Run, edit: Edit) -> None:  # from the thread that edits
        self.wake()

    def before_close(self, run: Run) -> None:
        self.refuse_calls()

    def _answer_calls(self) -> None:
        while self._calls:
            function, future = self._calls.popleft()
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)

    def refuse_calls(self) -> None:
        """Call nothing more: the run is over."""
        self._over = True
        with suppress(IndexError):  # another thread may take the last one
            while True:
                _, future = self._calls.popleft()
                future.set_exception(RunError("the run ended before that could be done"))

    def _sample(self, engine: Engine, everything: bool = False) -> None:
        """Take what is due of pictures, values and statistics; `everything`: due or not."""
        now, watch, news = perf_counter(), self.watch, False
        peeked: dict[tuple[str, str], Any] = {}
        for node in watch.previews:
            if node in self.requested_pictures and self._sample_picture(engine, node, peeked):
                self.requested_pictures.discard(node)
                news = True
        if now >= self._values_due or everything:
            self._values_due = now + _VALUES_EVERY
            self.values = dict(_values(engine, watch.values))
            self.full = {node: peek_in_full(engine, node) for node in watch.full}
            news = True
        if now >= self._stats_due or everything:
            self._stats_due = now + _STATS_EVERY
            misses, missed = 0, None
            if self._deadlines is not None:
                misses, missed = self._deadlines.misses, self._deadlines.missed
            self.stats = StatsSample(
                now, engine.tick, engine.total_ticks, misses, missed, engine.node_stats()
            )
            news = True
        if news:
            self._wake.set()

    def _sample_picture(
        self, engine: Engine, node: str, peeked: dict[tuple[str, str], Any]
    ) -> bool:
        """Put a node's picture into `pictures` if it is new.

        `peeked`: values that were sampled just now.
        """
        last, ticks = self._shown.get(node, (None, -1))
        if ticks == engine.total_ticks:
            return False
        picture = _picture(engine, node, peeked)
        self._shown[node] = picture, engine.total_ticks
        if picture is None or picture is last:
            return False
        self.pictures[node] = picture, engine.tick, self._time_shown(engine)
        return True

    def _time_shown(self, engine: Engine) -> float:
        """Return the time of a picture: by the game's own clock, if that is what pages see."""
        if self._deadlines is None or not engine.frame_rate:
            return perf_counter()
        return engine.total_ticks / engine.frame_rate


def _picture(engine: Engine, node: str, peeked: dict[tuple[str, str], Any]) -> np.ndarray | None:
    """Return the picture that a node shows: the first among its outputs, else the first among its
    inputs; of a background node, that of its latest call.
    """
    checked = engine.plan.graph.nodes.get(node)
    if checked is None:
        return None
    background = engine.runtimes[node].background
    if background is not None and background.answered is not None:
        inputs, outputs = peek_in_full(engine, node)
        for value in (*outputs.values(), *inputs.values()):
            if is_picture(value):
                shown: np.ndarray = value
                return shown
        return None
    candidates = [(node, name) for name in checked.cls.schema.outputs]
    candidates += [
        (edge.source, edge.output.name) for edge in engine.plan.graph.edges if edge.target == node
    ]
    for output in candidates:
        if output not in peeked:
            peeked[output] = peek(engine, *output)
        if is_picture(peeked[output]):
            picture: np.ndarray = peeked[output]
            return picture
    return None


def _values(engine: Engine, nodes: tuple[str, ...]) -> list[tuple[str, Any]]:
    graph = engine.plan.graph.nodes
    values: list[tuple[str, Any]] = []
    for node in nodes:
        if node not in graph:
            continue
        for name, output in graph[node].cls.schema.outputs.items():
            if output.lazy:
                continue
            value = peek(engine, node, name)
            if value is not None:
                values.append((f"{node}.{name}", value))
    return values
