"""One request of the server in a worker: it plays a run, or replays a recorded one."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from minibrains.errors import faults_of, sentence, shorten
from minibrains.graph.registry import Registry
from server.http.run_controller import RunController
from server.http.run_reporter import RunReporter, Send
from server.http.worker_protocol import Outcome, RewindRequest, RunRequest, WorkerCommand


class RequestHandler:
    """A run in this worker, from its request to its outcome."""

    def __init__(self, request: RunRequest | RewindRequest, registry: Registry, send: Send) -> None:
        wake = threading.Event()
        self.controller = RunController(wake)
        self.server_is_gone = False
        """True if the run was ended because the server was gone, without a command to quit."""
        self._registry = registry
        self._reporter = RunReporter(request, self.controller, wake, send)
        self._send = send

    def play(self) -> Outcome:
        """Play to the end, or until the controller is stopped. The outcome describes any error."""
        raise NotImplementedError

    def receive(self, node: str, value: Any) -> None:
        """Pass on a value from outside the run to a node."""
        raise NotImplementedError

    def handle(self, command: WorkerCommand, number: int, *content: Any) -> None:
        """Carry out a command, which may be slow, while the game goes on, and send the answer."""
        try:
            answer = self._carry_out(command, *content)
        except Exception as error:
            answer = {"error": sentence(error), "faults": faults_of(error)}
        self._send("answer", (number, answer))

    def _carry_out(self, command: WorkerCommand, *content: Any) -> dict[str, Any]:
        """Return the answer to a command. Raises MinibrainsError if it cannot be carried out."""
        raise NotImplementedError


def failed(error: BaseException, summary: dict[str, Any]) -> Outcome:
    """Return the outcome of a run that an error has ended."""
    trace = tuple(map(shorten, traceback.format_exception(error)))
    return Outcome("failed", summary, _blamed(error), trace, type(error).__name__)


def _blamed(error: BaseException) -> str | None:
    """Return the node that caused an error; None if none did."""
    node = getattr(error, "node", None)
    if node is None:
        nodes = [fault.node for fault in getattr(error, "faults", ()) if fault.node]
        if nodes:
            node = nodes[0]
    return node if isinstance(node, str) else None
