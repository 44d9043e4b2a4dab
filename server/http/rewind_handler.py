"""A recorded run in a worker: played from its tape, to whatever tick a page asks for."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from minibrains.errors import MinibrainsError, as_error, faults_of, sentence
from minibrains.graph.breakpoint import Breakpoint
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.process.messages import encode
from minibrains.run.breakpoints import Breakpoints
from minibrains.run.rewind import Rewind
from minibrains.tape.recording import decode_events, read_events
from minibrains.tape.tape import Event
from server.http.request_handler import RequestHandler, failed
from server.http.run_reporter import Send
from server.http.worker_protocol import Outcome, RewindRequest, Tape, WorkerCommand


class RewindHandler(RequestHandler):
    """One recorded run in this worker, from its request to its outcome. Pages watch it like any
    other run that is paused.
    """

    def __init__(self, request: RewindRequest, registry: Registry, send: Send) -> None:
        super().__init__(request, registry, send)
        self._request = request
        self._read = threading.Event()
        """Set once the whole tape was played, or cannot be."""
        self._timeline: dict[str, Any] = {}
        self._rewind: Rewind | None = None
        """The run, once the whole tape was played."""

    def play(self) -> Outcome:
        """Play the whole tape once, then to every tick that is asked for, until it is stopped."""
        request = self._request
        try:
            events = self._events_of(request.tape)
            added = parse_workflow(events[0].value["workflow"]).nodes.keys() - request.nodes
            with Rewind(events, self._registry, request.models, added) as rewind:
                self._play(rewind)
        except Exception as error:
            summary = {**as_error(error), "state": "failed"}
            self._timeline = {"error": sentence(error), "faults": faults_of(error)}
            return failed(error, summary)
        finally:
            self._read.set()
            self.controller.refuse_calls()
            self._reporter.close()
        return Outcome("stopped", {"state": "stopped"})

    def _events_of(self, tape: Tape) -> list[Event]:
        if isinstance(tape, tuple):
            return decode_events(tape)
        events, cut = read_events(tape)
        if cut:
            self._reporter.say(cut)
        return events

    def _play(self, rewind: Rewind) -> None:
        run, controller = rewind.run, self.controller
        controller.before_open(run)
        for _ in rewind.scan():
            controller.between_ticks(run)
        self._timeline = {
            "first": rewind.first,
            "last": rewind.last,
            "difference": rewind.difference,
            "marks": [mark._asdict() for mark in rewind.marks],
            "series": rewind.series,
        }
        # collecting garbage among all that was imported would delay the tick that a page asks for;
        # the run unfreezes it when it is closed
        gc.freeze()
        self._rewind = rewind
        self._read.set()
        controller.pause(True)
        controller.breakpoints = Breakpoints(self._request.breakpoints)
        due = 0.0
        while True:
            controller.between_ticks(run)
            if run.stopping:
                return
            target, controller.target = controller.target, None
            if target is not None:
                rewind.go_to(target)
            elif rewind.tick == rewind.last:
                controller.pause(True)
            else:
                rewind.go_to(rewind.tick + 1)
                rate = (run.engine.frame_rate or 60) * controller.speed
                due = max(due + 1 / rate, time.perf_counter())
                time.sleep(max(0.0, due - time.perf_counter()))

    def receive(self, node: str, value: Any) -> None:
        """Ignore what pages send to a node: the inputs come from the tape."""

    def _carry_out(self, command: WorkerCommand, *content: Any) -> dict[str, Any]:
        """Answer what is asked about the recorded run, once it was played; refuse to change it."""
        self._read.wait()
        rewind = self._rewind
        if command == "timeline" or rewind is None:
            return self._timeline
        if command == "digests":
            return {"first": rewind.first, "digests": rewind.digests}
        if command == "breakpoints":
            return self.controller.break_when(*content)
        if command == "fork":
            return self.controller.call(lambda: _fork(rewind, *content)).result()
        if command == "happened":
            return self.controller.call(lambda: rewind.happened(*content)).result()
        if command == "find":
            return self.controller.call(lambda: _find(rewind, *content)).result()
        raise MinibrainsError("a recorded run cannot be changed; fork it, or run its workflow")


def _fork(rewind: Rewind, tick: int) -> dict[str, Any]:
    """Return the fork of a recorded run at a tick, or at an earlier one."""
    rewind.go_to(tick)
    point = rewind.fork_point()
    return {"tick": point.tick, "point": encode(point, "a fork")}


def _find(rewind: Rewind, node: str, output: str, condition: Breakpoint | None) -> dict[str, Any]:
    return {"marks": [mark._asdict() for mark in rewind.find(node, output, condition)]}
