"""A worker process: plays one run after another and keeps what they share: modules, models, kept outputs."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final

from minibrains import __version__
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.kept import KeptOutputs
from minibrains.engine.plan import Plan
from minibrains.errors import MinibrainsError, as_error, faults_of, sentence
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import Graph, check
from minibrains.graph.workflow import parse_workflow
from minibrains.node import Register
from minibrains.process.spawn import SIGNALS, take_no_orders
from minibrains.run.host import RunHost
from minibrains.run.play import play
from minibrains.run.summary import Results, summarise
from minibrains.tape.recording import Recorder, name_packs, recorded
from server.http.attendant import Attendant
from server.http.orders import Order, OrderWord, Outcome, ReportWord, WorkerRecipe
from server.http.teller import Teller

_SWITCH: Final = 0.0005
"""Seconds after which the tick gets the interpreter back from a thread that tells."""
_PATIENCE: Final = 10.0
"""Seconds that a run gets to come to an end when the server is gone: a node may hang."""


def live(connection: Connection, recipe: WorkerRecipe) -> None:
    """A worker process's life: until the server closes its end of the pipe, or is gone."""
    words = os.open(recipe.words, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(words, 1)
    os.dup2(words, 2)
    faulthandler.enable()
    take_no_orders(*SIGNALS)
    sys.setswitchinterval(_SWITCH)
    Worker(connection, recipe).live()


class Worker:
    """Listens on one thread, plays on the main one, tells on a third."""

    def __init__(self, connection: Connection, recipe: WorkerRecipe) -> None:
        self._connection = connection
        self._recipe = recipe
        self._sending = threading.Lock()
        self._orders: SimpleQueue[_Performance | None] = SimpleQueue()
        self._performance: _Performance | None = None

    def live(self) -> None:
        registry, _ = node_types(self._recipe.packs, self._recipe.files)
        self._registry = registry
        self._kept = KeptOutputs(folder=self._recipe.data / "kept")
        threading.Thread(target=self._listen, name="listens to the server", daemon=True).start()
        self._send("ready", None)
        while (performance := self._orders.get()) is not None:
            self._send("over", performance.play())

    def plan(self, order: Order, workflow: Any) -> Plan:
        """Check and compile a workflow. Raises MinibrainsError."""
        parsed = parse_workflow(workflow, order.path)
        return compile_graph(check(parsed, self._registry, brain_finder(order.path, models=self._recipe.models)))

    def make(self, order: Order, recorder: Recorder | None) -> Engine:
        """The engine of a run; not opened yet. Raises MinibrainsError."""
        return Engine(self.plan(order, order.workflow), self._kept, recorder)

    def header(self, order: Order, graph: Graph) -> dict[str, Any]:
        """What a replay needs to open this run again."""
        path, packs = str(order.path or ""), name_packs(self._recipe.files)
        return {"minibrains": __version__, "path": path, "packs": packs, **recorded(graph)}

    def _send(self, word: ReportWord, content: Any) -> None:
        try:
            with self._sending:
                self._connection.send((word, content))
        except OSError:
            pass  # the server is gone, and `_listen` ends the run

    def _listen(self) -> None:
        try:
            while True:
                word, content = self._connection.recv()
                self._obey(word, content)
        except (EOFError, OSError):
            if self._performance is not None:
                self._performance.attendant.stop()
            self._orders.put(None)
            time.sleep(_PATIENCE)  # on a daemon thread: a worker that ends in good order does not wait for it
            os._exit(1)

    def _obey(self, word: OrderWord, content: Any) -> None:
        if word == "quit":
            raise EOFError
        if word == "play":
            os.ftruncate(2, 0)
            self._performance = _Performance(self, content, self._send)
            self._orders.put(self._performance)
            return
        if self._performance is None:
            return
        attendant = self._performance.attendant
        if word == "stop":
            attendant.stop()
        elif word in ("pause", "resume"):
            attendant.pause(word == "pause")
        elif word == "step":
            attendant.step(content)
        elif word == "watch":
            attendant.watch = content
            attendant.look_again()
        elif word == "want":
            attendant.wanted.add(content)
            attendant.look_again()
        elif word == "input":
            self._performance.receive(*content)
        else:
            threading.Thread(target=self._performance.edit, args=content, name="edits", daemon=True).start()


class _Performance:
    """One run, from its order to its outcome."""

    def __init__(self, worker: Worker, order: Order, send: Any) -> None:
        wake = threading.Event()
        self.attendant = Attendant(wake)
        self._worker, self._order, self._send = worker, order, send
        self._results = Results()
        self._teller = Teller(order, self.attendant, wake, send)
        self._editing = threading.Lock()
        self._over = threading.Event()

    def play(self) -> Outcome:
        """Play it; whatever happens is in the outcome, and in the run folder."""
        order, errors = self._order, list[BaseException]()
        engine = graph = None
        recorder = Recorder() if order.record else None
        try:
            engine = self._worker.make(order, recorder)
            self.attendant.begin(engine)
            graph = engine.plan.graph
            tape = (recorder, self._worker.header(order, graph)) if recorder else None
            say, look = self._teller.say, self.attendant.attend
            play(engine, order.settings, order.folder, self._results, say, self._note, tape, attend=look)
        except Exception as error:
            errors.append(error)
        self._over.set()
        self._teller.close()
        state = "failed" if errors else "stopped" if engine is not None and engine.stopping else "done"
        summary = summarise(graph, self._results, order.settings, order.folder) if graph is not None else {}
        summary = {**(as_error(errors[0]) if errors else {}), "state": state, **summary}
        try:
            order.folder.finish(summary)
        except Exception as error:
            errors.append(error)
        if not errors:
            return Outcome("stopped" if state == "stopped" else "done", summary)
        order.folder.keep_traceback(errors[0])
        trace = tuple(traceback.format_exception(errors[0]))
        return Outcome("failed", {**as_error(errors[0]), **summary}, _blamed(errors[0]), trace, type(errors[0]).__name__)

    def receive(self, node: str, value: Any) -> None:
        """Hand on what came from outside the run."""
        found = self.attendant.engine.nodes.get(node) if self.attendant.engine is not None else None
        if isinstance(found, Register) and found.outside:
            try:
                found.receive(value)
            except Exception as error:
                self._teller.say(f"what a page sent cannot be taken: {sentence(error)}", node)

    def edit(self, number: int, workflow: Any) -> None:
        """Go on with another workflow, or say why not. Slow things happen here, beside the game."""
        with self._editing:
            try:
                answer: dict[str, Any] = {"changed": self._change(workflow)}
            except Exception as error:
                answer = {"error": sentence(error), "faults": faults_of(error)}
            self._send("edited", (number, answer))

    def _change(self, workflow: Any) -> str:
        engine, order = self.attendant.engine, self._order
        if engine is None or not engine.motion.values:
            raise MinibrainsError("the run has not begun yet; edit it once it ticks")
        plan = self._worker.plan(order, workflow)
        edit = engine.prepare(
            plan,
            recorded(plan.graph),
            lambda node, engine: RunHost(node, order.folder.path, engine, self._teller.say, self._results.facts),
        )
        engine.edits.append(edit)
        self.attendant.look_again()
        while not edit.done.wait(0.02):
            if self._over.is_set():
                raise MinibrainsError("the run ended before the change could be made")
        for trouble in engine.finish_edit(edit):
            self._teller.say(trouble)
        return edit.describe()

    def _note(self, index: int, tick: int, rate: float, score: float | None) -> None:
        self._teller.progress = index, score


def _blamed(error: BaseException) -> str | None:
    """The node a failure belongs to."""
    node = getattr(error, "node", None)
    if node is None:
        node = next((fault.node for fault in getattr(error, "faults", ()) if fault.node), None)
    return node if isinstance(node, str) else None
