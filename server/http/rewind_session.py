"""A recorded run in a worker: played from its tape, to whatever tick a page asks for."""

from __future__ import annotations

import threading
import time
from typing import Any

from minibrains.errors import MinibrainsError, as_error, faults_of, sentence
from minibrains.graph.registry import Registry
from minibrains.run.breakpoints import Breakpoints
from minibrains.run.rewind import Rewind
from minibrains.tape.recording import read_events
from server.http.run_reporter import Send
from server.http.session import Session, failed
from server.http.worker_protocol import Outcome, RewindRequest, WorkerCommand


class RewindSession(Session):
    """One recorded run in this worker, from its request to its outcome. Pages watch it like any
    other run that is paused.
    """

    def __init__(self, request: RewindRequest, registry: Registry, send: Send) -> None:
        super().__init__(request, registry, send)
        self._request = request
        self._read = threading.Event()
        """Set once the whole tape was played, or cannot be."""
        self._timeline: dict[str, Any] = {}

    def play(self) -> Outcome:
        """Play the whole tape once, then to every tick that is asked for, until it is stopped."""
        request = self._request
        try:
            events, cut = read_events(request.tape)
            if cut:
                self._reporter.say(cut)
            added = events[0].value["workflow"]["nodes"].keys() - request.nodes
            with Rewind(events, self._registry, request.models, added) as rewind:
                self._play(rewind)
        except Exception as error:
            summary = {**as_error(error), "state": "failed"}
            self._timeline = {"error": sentence(error), "faults": faults_of(error)}
            return failed(error, summary)
        finally:
            self._read.set()
            self._reporter.close()
        return Outcome("stopped", {"state": "stopped"})

    def _play(self, rewind: Rewind) -> None:
        run, controller = rewind.run, self.controller
        controller.before_open(run)
        for _ in rewind.scan():
            controller.between_ticks(run)
        self._timeline = {
            "last": rewind.last,
            "difference": rewind.difference,
            "marks": [mark._asdict() for mark in rewind.marks],
        }
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
        """Return the timeline once it is known, or change the breakpoints; refuse everything else
        that is asked for.
        """
        if command == "timeline":
            self._read.wait()
            return self._timeline
        if command == "breakpoints":
            # while the tape is read for the first time, nothing pauses
            self._read.wait()
            return self.controller.break_when(*content)
        raise MinibrainsError("a recorded run cannot be changed; run its workflow instead")
