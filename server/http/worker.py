"""A worker process: plays one run after another, and keeps what they share: modules, models,
cached outputs.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any, Final

from minibrains.disk_cache import disk_cache
from minibrains.engine.compile import compile_graph
from minibrains.engine.output_cache import OutputCache
from minibrains.errors import MinibrainsError, RunError, as_error, sentence
from minibrains.graph.catalog import node_types
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.hooks import Hook, NodeProgress, Progress
from minibrains.node import Register
from minibrains.process.messages import decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.run.breakpoints import Breakpoints
from minibrains.run.film import Film
from minibrains.run.run import Run
from minibrains.tape.recent import RecentTape
from minibrains.tape.tape import Event
from server.http.request_handler import RequestHandler, failed
from server.http.rewind_handler import RewindHandler
from server.http.run_reporter import Send
from server.http.worker_protocol import (
    CLIP,
    SERVER_GONE,
    Outcome,
    RewindRequest,
    RunRequest,
    WorkerCommand,
    WorkerConfig,
    WorkerEvent,
)

_SWITCH: Final = 0.0005
"""The interpreter's switch interval in seconds, after which the reporting thread yields to the
tick."""
_FILES: Final = 256
"""Number of files that a worker must be able to open, or that it could open before its first run,
if that is less."""


def worker_main(server: ParentProcess, config: WorkerConfig) -> None:
    """Play runs until the server closes its end of the pipe or is gone."""
    sys.setswitchinterval(_SWITCH)
    WorkerProcess(server, config).run()


class WorkerProcess:
    """Listens on one thread, plays on the main one, reports on a third; each slow command, such as
    an edit, has one of its own.
    """

    def __init__(self, server: ParentProcess, config: WorkerConfig) -> None:
        self._server = server
        self._config = config
        self._handlers: SimpleQueue[RequestHandler | None] = SimpleQueue()
        self._handler: RequestHandler | None = None

    def run(self) -> None:
        """Play runs on this thread until the server ends the worker."""
        registry, _ = node_types(self._config.packs, self._config.files)
        self._registry = registry
        self._cache = OutputCache(disk=disk_cache())
        threading.Thread(target=self._listen, name="listens to the server", daemon=True).start()
        files = _count_openable()
        self._send("ready", None)
        while (handler := self._handlers.get()) is not None:
            outcome = handler.play()
            if _count_openable() < files // 2:
                self._send("closing", None)
            self._send("over", outcome)

    def _send(self, event: WorkerEvent, content: Any) -> None:
        self._server.send(encode((event, content), "an event of a run"))

    def _listen(self) -> None:
        command: WorkerCommand | None = None
        while command != "quit":
            try:
                command, content = decode(
                    self._server.receive(), "a command of the server", "in a worker"
                )
            except EOFError:
                break
            if command != "quit":
                self._handle_command(command, content)
        if self._handler is not None:
            self._handler.server_is_gone = command != "quit"
            self._handler.controller.stop()
        self._handlers.put(None)

    def _handle_command(self, command: WorkerCommand, content: Any) -> None:
        if command == "play":
            os.ftruncate(2, 0)
            if isinstance(content, RewindRequest):
                self._handler = RewindHandler(content, self._registry, self._send)
            else:
                self._handler = RunHandler(content, self._registry, self._cache, self._send)
            self._handlers.put(self._handler)
            return
        if self._handler is None:
            return
        controller = self._handler.controller
        if command == "stop":
            controller.stop()
        elif command in ("pause", "resume"):
            controller.pause(command == "pause")
        elif command == "step":
            controller.run_ticks(content)
        elif command == "step_node":
            controller.step_node()
        elif command == "seek":
            controller.seek(content)
        elif command == "speed":
            controller.speed = content
            controller.wake()
        elif command == "watch":
            controller.watch = content
            controller.wake()
        elif command == "request_picture":
            controller.requested_pictures.add(content)
            controller.wake()
        elif command == "input":
            self._handler.receive(*content)
        else:
            threading.Thread(
                target=self._handler.handle, args=(command, *content), name="answers", daemon=True
            ).start()


def _count_openable() -> int:
    """Return how many more files this process can open, at most `_FILES`.

    Files that nodes leave open stay open.
    """
    opened: list[int] = []
    try:
        while len(opened) < _FILES:
            opened.append(os.dup(2))
    except OSError:
        pass
    for file in opened:
        os.close(file)
    return len(opened)


class RunHandler(RequestHandler, Hook):
    """One run in this worker, from its request to its outcome."""

    def __init__(
        self, request: RunRequest, registry: Registry, cache: OutputCache, send: Send
    ) -> None:
        super().__init__(request, registry, send)
        self._request = request
        self._cache = cache
        self._run: Run | None = None
        self._played: Mapping[str, Any] | None = None
        """The workflow that is played, with live edits, but without the nodes of hooks."""

    def play(self) -> Outcome:
        """Play the run. The outcome and the run folder describe any error."""
        request = self._request
        hooks: list[Hook] = [self, self.controller]
        try:
            if request.film:
                hooks.append(Film(request.folder.path / CLIP))
            fork = None
            if request.fork is not None:
                fork = decode(request.fork, "a fork", "in a worker")
            self._run = Run(
                request.spec,
                hooks,
                registry=self._registry,
                cache=self._cache,
                folder=request.folder,
                fork=fork,
                recent=RecentTape(),
            )
            self._played = self._run.workflow.to_json()
            self.controller.breakpoints = Breakpoints(self._run.workflow.breakpoints)
            with self._run as run:
                for _ in run:
                    pass
                if self.server_is_gone and run.state == "stopped":
                    raise RunError(SERVER_GONE)
        except Exception as error:
            self._reporter.close()
            if self._run is None:
                return self._refused(error)
        if self._run.error is None:
            return Outcome(self._run.state, self._run.summary)
        return failed(self._run.error, self._run.summary)

    def receive(self, node: str, value: Any) -> None:
        engine = self.controller.engine
        if engine is None:
            return
        found = engine.nodes.get(node)
        if isinstance(found, Register) and found.external:
            try:
                found.receive(value)
            except Exception as error:
                self._reporter.say(
                    f"the input that a page sent cannot be used: {sentence(error)}", node
                )

    def _carry_out(self, command: WorkerCommand, *content: Any) -> dict[str, Any]:
        """Edit the workflow or its breakpoints, write a save state, a clip or a tape, or return the
        last ticks.
        """
        if command == "edit":
            return self._change(*content)
        if command == "clip":
            return self._keep_clip()
        if command == "record":
            return self._record(*content)
        if command == "breakpoints":
            return self.controller.break_when(*content)
        if command == "recent":
            return self._take_recent()
        return self._save_state(*content)

    def on_message(self, run: Run, text: str) -> None:
        self._reporter.say(text)

    def on_progress(self, run: Run, progress: Progress) -> None:
        self._reporter.progress = progress.episode, progress.score

    def on_node_progress(self, run: Run, progress: NodeProgress) -> None:
        self._reporter.node_progress[progress.node] = progress

    def after_close(self, run: Run) -> None:
        self._reporter.close()

    def _change(self, workflow: Any) -> dict[str, Any]:
        if self._run is None:
            raise MinibrainsError("the run has not begun yet; edit it once it ticks")
        edited = parse_workflow(workflow, self._run.workflow.path)
        changed = self._run.edit(compile_graph(self._run.check(edited)))
        self._played = workflow
        self.controller.breakpoints = Breakpoints(edited.breakpoints)
        for error in self.controller.breakpoints.errors(self._run.engine):
            self._run.say(error)
        return {"changed": changed}

    def _save_state(self, node: str, name: str) -> dict[str, Any]:
        if self._run is None:
            raise MinibrainsError("the run has not begun yet; save its state once it ticks")
        saved = self.controller.save_state(node).result()
        file = saved.keep(name)
        return {"state": name, "game": saved.game.name, "file": str(file)}

    def _take_recent(self) -> dict[str, Any]:
        """Pause the run, and return a tape of its last ticks, without nodes that hooks added."""
        run = self._run
        if run is None or run.recorder is None or self._played is None:
            raise MinibrainsError("the run has not begun yet; it has no ticks to show again")
        self.controller.pause(True)
        records = self.controller.call(run.recorder.recent_records).result()
        header = Event.decode(records[0]).value
        added = run.graph.nodes.keys() - self._played["nodes"].keys()
        nodes = frozenset(header["workflow"]["nodes"].keys() - added)
        return {"records": tuple(records), "nodes": nodes}

    def _record(self, is_on: bool) -> dict[str, Any]:
        """Begin a tape in the run folder, or end the one that is written."""
        run = self._run
        if run is None or run.recorder is None:
            raise MinibrainsError("the run has not begun yet; record it once it ticks")
        recorder, folder = run.recorder, self._request.folder.path
        if is_on:
            self.controller.call(lambda: recorder.start_recording(folder)).result()
        else:
            self.controller.call(recorder.stop_recording).result()
        return {"recording": is_on}

    def _keep_clip(self) -> dict[str, Any]:
        """Write what was shown of the game in the last seconds to the run folder."""
        run = self._run
        if run is None or self._played is None:
            raise MinibrainsError("the run has not begun yet; it shows nothing before it ticks")
        folder = self._request.folder.path
        rate = run.engine.frame_rate or 60
        path, seconds = self._reporter.recent_pictures.keep_clip(folder, rate, self._played)
        return {"folder": folder.name, "file": path.name, "seconds": round(seconds, 2)}

    def _refused(self, error: Exception) -> Outcome:
        """Make the outcome of a run that could not even be made, and write it to the run folder."""
        summary = {**as_error(error), "state": "failed"}
        self._request.folder.keep_traceback(error)
        try:
            self._request.folder.finish(summary)
        except RunError as failure:
            self._reporter.say(str(failure))
        return failed(error, summary)
