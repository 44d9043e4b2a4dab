"""Play the episodes of a run: the loop around the engine, and what is written down of it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from minibrains.engine.counts import NodeTimes
from minibrains.engine.engine import Engine, MakeHost
from minibrains.errors import Fault, RunError, WorkflowError
from minibrains.graph.workflow import RunSettings
from minibrains.run.folder import RunFolder
from minibrains.run.host import RunHost
from minibrains.run.live import LiveFile
from minibrains.run.memory import settle
from minibrains.run.monitor import Monitor
from minibrains.run.realtime import RealtimeClock
from minibrains.run.summary import Counts, Results
from minibrains.tape.recording import Recorder

Say = Callable[[str], None]
Progress = Callable[[int, int, float, float | None], None]
"""Called now and then: the episode's number, its ticks, ticks a second, its score so far."""

_LOOK_UP_EVERY = 0.1
"""Seconds from one look at the progress to the next."""


class Clock(Protocol):
    """What ticks a run: the engine itself, as fast as it goes, or a RealtimeClock around it."""

    def advance(self, ticks: int) -> bool: ...


class Leave(NamedTuple):
    """How far a run may go before it is attended to again."""

    ticks: int
    """At most so many."""
    seconds: float
    """About so long, at most."""


Attend = Callable[[Clock], Leave]
"""Called between two ticks by who looks after the run: it may look at the engine, change it, and keep it waiting.
The clock is a RealtimeClock in real time; after waiting it has to be resumed."""


def unattended(clock: Clock) -> Leave:
    """Nobody looks after the run."""
    return _FREE


_FREE = Leave(sys.maxsize, _LOOK_UP_EVERY)


def play(
    engine: Engine,
    settings: RunSettings,
    folder: RunFolder,
    results: Results,
    say: Say,
    progress: Progress,
    tape: tuple[Recorder, Mapping[str, Any]] | None = None,
    live: LiveFile | None = None,
    attend: Attend = unattended,
) -> None:
    """Open the engine, play the episodes into `results` and `folder`, close it.

    Ends early, in good order, once `engine.stopping` is set. Raises what the engine raises; what was played before
    stays in `results`, an episode that failed included. `tape`: what records the run, and the tape's header.
    """

    def make_host(node: str, engine: Engine) -> RunHost:
        return RunHost(node, folder.path, engine, say, results.facts)

    results.brains = engine.plan.graph.brain_files()
    session = Session(engine, settings, say, tape[0] if tape else None, attend)
    try:
        session.open(make_host)
        if tape is not None:
            tape[0].begin(engine, folder.path, {**tape[1], "facts": results.facts})
        if live is not None:
            live.start(engine, make_host)
        for index in range(settings.episodes):
            if engine.stopping:
                break
            try:
                session.play_episode(index, results, progress)
            except BaseException:
                with suppress(RunError):  # what went wrong first is what people shall hear of
                    _append(folder, results, index)
                raise
            _append(folder, results, index)
    finally:
        try:
            if live is not None:
                live.stop()
        finally:  # Ctrl-C may come while that waits
            results.counts[0] = session.counts()
            results.brains |= engine.plan.graph.brain_files()  # a live edit may have given it others
            troubles = session.close()
            for trouble in troubles:
                say(trouble)
    if troubles:
        raise RunError("; ".join(troubles))


def _append(folder: RunFolder, results: Results, index: int) -> None:
    for episode in results.episodes[index:]:
        folder.append_episode(episode)


class Session:
    """An engine with its clock, and what looks at it between two ticks: the tape, the performance monitor."""

    def __init__(
        self, engine: Engine, settings: RunSettings, say: Say, recorder: Recorder | None = None, attend: Attend = unattended
    ) -> None:
        self.engine = engine
        self._settings = settings
        self._say = say
        self._recorder = recorder
        self._attend = attend
        self._clock: Clock = engine
        self._monitor: Monitor | None = None
        self._failed: set[str] = set()
        """Nodes of which it was said that they failed."""

    def open(self, make_host: MakeHost) -> None:
        """Open the nodes for a number of episodes. Raises what the engine raises."""
        self.engine.open(make_host)
        if self._settings.clock == "realtime":
            self._clock = self._realtime()
        settle()

    def play_episode(self, index: int, results: Results, progress: Progress) -> None:
        """Play one episode and add it to `results`, also when it fails. Raises what the engine raises."""
        engine, recorder, seed = self.engine, self._recorder, self._settings.seed
        before = engine.node_times()
        engine.reset(index, seed)
        if recorder is not None:
            recorder.episode(index, seed)
        ended = "failed"
        try:
            ended = self._play(index, results, progress)
        finally:
            row = {**_EMPTY, **engine.report(), "ticks": engine.tick, "ended": ended}
            results.episodes.append({**row, **_borne(before, engine.node_times())})
            if recorder is not None:
                recorder.episode(index, seed, ended)

    def counts(self) -> Counts:
        """What was counted so far."""
        monitor = self._monitor
        return Counts.of(self.engine, monitor.deadlines if monitor else None, monitor.changes if monitor else [])

    def close(self) -> list[str]:
        """Close what was opened, as far as it came; returns a sentence for each thing that failed."""
        gc.unfreeze()
        at_once = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        troubles = self.engine.close(0.0) if at_once else self.engine.close()
        if self._recorder is not None:
            try:
                self._recorder.close()
            except RunError as error:
                troubles.append(str(error))
            if self._recorder.unkept is not None:
                self._say(f"the tape replays from its beginning only, no more snapshots were kept: {self._recorder.unkept}")
        return troubles

    def _realtime(self) -> RealtimeClock:
        engine = self.engine
        if engine.frame_rate is None:
            fault = Fault("the realtime clock needs a running console, which says what a frame is")
            raise WorkflowError([fault], engine.plan.graph.workflow.where)
        engine.world.realtime = True
        clock = RealtimeClock(engine, engine.frame_rate)
        self._monitor = Monitor(engine, clock.deadlines, self._say)
        return clock

    def _play(self, index: int, results: Results, progress: Progress) -> str:
        """Play to the end of the episode: "done", "limit" or "stopped"."""
        engine, clock, limit = self.engine, self._clock, self._settings.ticks
        chunk, shown = 1, 0.0
        while not engine.stopping:
            leave = self._attend(clock)
            left = min(chunk, leave.ticks, sys.maxsize if limit is None else limit - engine.tick)
            if engine.stopping or not left:
                return "stopped" if engine.stopping else "limit"
            started = perf_counter()
            try:
                ended = clock.advance(left)
            finally:
                now = perf_counter()
                results.seconds += now - started
            # no more than double: ticks that were quick may have been catching up with a realtime clock
            chunk = max(1, min(2 * left, int(left * leave.seconds / max(now - started, 1e-6))))
            self._tell_failures()
            if self._monitor is not None:
                self._monitor.look()
            if self._recorder is not None:
                self._recorder.look()
            if ended or engine.tick == limit or now - shown >= _LOOK_UP_EVERY:
                shown = now
                progress(index, engine.tick, engine.ticks / results.seconds, engine.report().get("score"))
            if ended:
                return "done"
        return "stopped"

    def _tell_failures(self) -> None:
        """Say it when a node fails for the first time and the run bears it: the summary comes too late."""
        motion = self.engine.motion
        if any(motion.reasons):
            for name, reason in zip(motion.owners, motion.reasons, strict=True):
                if reason and name not in self._failed:
                    self._failed.add(name)
                    self._say(f"{name} failed, and the run goes on: {reason}")


_EMPTY = {"score": None, "won": None, "drawn": None, "start": None}


def _borne(before: Mapping[str, NodeTimes], now: Mapping[str, NodeTimes]) -> dict[str, Any]:
    """Which nodes failed meanwhile, how often, and what the run first bore of each; nothing if none did."""
    times = {name: node.errors - (before[name].errors if name in before else 0) for name, node in now.items()}
    errors = {name: {"errors": count, "first_error": now[name].reason} for name, count in times.items() if count > 0}
    return {"nodes": errors} if errors else {}


def lost_episode(reason: str) -> dict[str, Any]:
    """What stands in the results for an episode of which nothing came back."""
    return {**_EMPTY, "ticks": 0, "ended": "failed", "error": reason}
