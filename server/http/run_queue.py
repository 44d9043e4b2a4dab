"""The runs of this server: a queue, worker processes that take from it,
and the state of each run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from minibrains.errors import Fault, MinibrainsError, RunError, as_error
from minibrains.graph.breakpoint import Breakpoint
from minibrains.graph.workflow import RunSettings, Workflow, parse_workflow
from minibrains.run.folder import RunFolder
from minibrains.run.spec import RunSpec
from server.http.folders import DataFolders
from server.http.history import History
from server.http.pending import PendingRequests
from server.http.versioned_state import VersionedState
from server.http.worker_handle import WorkerHandle
from server.http.worker_protocol import (
    Outcome,
    RewindRequest,
    RunRequest,
    Tape,
    Watch,
    WorkerCommand,
    WorkerConfig,
    WorkerEvent,
)

Notify = Callable[["ServerRun", str, dict[str, Any]], None]
"""A function that is called for every event of a run, with the event's name and data."""
_MAX_FINISHED: Final = 50
"""Number of finished runs that are kept in memory, with their last pictures."""
_MAX_LINES: Final = 200
"""Number of a run's messages that are kept in memory."""


@dataclass(eq=False)
class ServerRun:
    """One run, from its request to its end."""

    prompt_id: str
    number: float
    workflow: Workflow
    settings: RunSettings
    client_id: str | None
    extra: Mapping[str, Any]
    data: Mapping[str, Any]
    """The workflow as it was requested, or after the last edit."""
    sequence: int
    """The position in the order of requests, regardless of its number."""
    requested: int = field(default_factory=lambda: int(time.time() * 1000))
    """When it was requested, or read again by this server, in ms."""
    replay_of: str | None = None
    """The id of the run that this one plays from its tape, to any of its ticks; such a run is not
    in the history, and ends with the server."""
    tape: Tape | None = None
    """That tape, until a worker has it: of a finished run, or of the last ticks of one that goes
    on."""
    rewound_nodes: frozenset[str] = frozenset()
    """The nodes of its workflow, without those of hooks."""
    fork: bytes | None = None
    """The ForkPoint from which it begins, as a worker encoded it; None: it begins anew."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it has a run folder, or is over."""
    live_state: VersionedState = field(default_factory=VersionedState)
    pictures: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Node -> the number of its newest picture, and the message with it."""
    requested_pictures: set[str] = field(default_factory=set)
    """Nodes whose next picture was requested from the worker."""
    watch: Watch = field(default_factory=Watch)
    lines: list[dict[str, Any]] = field(default_factory=list)
    worker: WorkerHandle | None = None
    folder: RunFolder | None = None
    outcome: Outcome | None = None
    pending_answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    """Number of a command -> the worker's answer, which is waited for."""

    @property
    def state(self) -> str:
        """The state of the run, as in the protocol."""
        return str(self.live_state.parts["run"]["state"])

    @state.setter
    def state(self, state: str) -> None:
        self.live_state.put("run", {"state": state})

    @property
    def over(self) -> bool:
        """True once the run has ended."""
        return self.state in ("done", "failed", "stopped")

    def send(self, command: Any, content: Any = None) -> None:
        """Send the worker a command, if the run has a worker yet."""
        if self.worker is not None and not self.over:
            self.worker.send(command, content)

    def request(self) -> dict[str, Any]:
        """Return the contents of request.json."""
        return {
            "prompt_id": self.prompt_id,
            "number": self.number,
            "client_id": self.client_id,
            "extra_data": dict(self.extra),
        }

    def details(self) -> dict[str, Any]:
        """Return its whole present state, which a client needs when it reconnects."""
        parts = self.live_state.parts
        summary, error = None, None
        if self.outcome:
            summary = self.outcome.summary
            error = summary.get("error")
        return {
            "prompt_id": self.prompt_id,
            **parts["run"],
            "workflow": self.data,
            "settings": self.workflow.raw.get("run", {}),
            "nodes": parts["nodes"],
            "values": parts["values"],
            "said": self.lines,
            "result": summary,
            "error": error,
        }


class RunQueue:
    """Takes requests, starts them on free workers, and handles the events of the workers."""

    def __init__(
        self,
        folders: DataFolders,
        history: History,
        config: WorkerConfig,
        parallel: int,
        notify: Notify,
    ) -> None:
        """Make a queue that plays up to `parallel` runs at once, each in a worker of its own."""
        self.queue: list[ServerRun] = []
        self.known: dict[str, ServerRun] = {}
        """Runs that wait or run, and the last ones that finished."""
        self._folders, self._history, self._config, self._parallel, self._notify = (
            folders,
            history,
            config,
            parallel,
            notify,
        )
        self._pending = PendingRequests(folders.queue)
        self._workers: dict[WorkerHandle, ServerRun | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._counter = 0
        self._requests = 0
        self._closing = False

    @property
    def running(self) -> list[ServerRun]:
        """The runs that are being played."""
        return [run for run in self._workers.values() if run is not None]

    @property
    def remaining(self) -> int:
        """The number of runs that wait or run."""
        return len(self.queue) + len(self.running)

    async def start(self) -> None:
        """Resume the queue of the last server, and start one worker in advance."""
        self._counter = max(self._pending.sequences(), default=0)
        for run in await asyncio.to_thread(self._read_pending):
            self._add(run)
        self._add_worker()
        self._fill()

    async def close(self) -> None:
        """End all runs and workers. Waiting runs are left to the next server."""
        self._closing = True
        for task in list(self._tasks):
            await asyncio.wait([task])
        await asyncio.gather(*(worker.close() for worker in list(self._workers)))

    def next_number(self) -> int:
        """Return the number for the next request."""
        self._counter += 1
        return self._counter

    async def submit(self, run: ServerRun) -> None:
        """Add a run to the queue after writing it to the disk; lower numbers run first.

        Raises OSError.
        """
        request = {**run.request(), "workflow": run.data}
        await asyncio.to_thread(self._pending.add, run.sequence, request)
        self._add(run)
        self._fill()

    def rewind(self, run: ServerRun) -> None:
        """Add a run that plays the tape of another, and keep a worker ready for its forks."""
        self._add(run)
        self._fill()
        self.keep_ready()

    def keep_ready(self) -> None:
        """Start a worker if none is free, so that what is asked for next begins at once."""
        idle = [worker for worker, played in self._workers.items() if played is None]
        if len(idle) <= len(self.queue) and len(self._workers) < self._most_workers:
            self._add_worker()

    @property
    def _most_workers(self) -> int:
        """Largest number of workers. A run whose last ticks are shown stands still, so the worker
        that shows them is one more.
        """
        held = 0
        for run in self.known.values():
            original = self.known.get(run.replay_of or "")
            if original is not None and not run.over and not original.over:
                held += 1
        return self._parallel + held

    async def recent(self, run: ServerRun) -> dict[str, Any]:
        """Pause a run; return `records`, a tape of its last ticks, and `nodes`, those that are no
        hook's; or `error` and `faults`.
        """
        return await self._request(run, "recent")

    async def begin_fork(self, run: ServerRun) -> None:
        """Add a run that begins in the middle of another, and wait until it has a run folder: it is
        not written to the disk before.
        """
        self._add(run)
        self._fill()
        await run.begun.wait()

    async def timeline(self, run: ServerRun) -> dict[str, Any]:
        """Return `first`, `last`, `marks` and `series` of a recorded run once it was read, or
        `error` and `faults`.
        """
        return await self._request(run, "timeline")

    async def fork_point(self, run: ServerRun, tick: int) -> dict[str, Any]:
        """Return `tick` and `point` for a fork of a recorded run, or `error` and `faults`."""
        return await self._request(run, "fork", tick)

    async def digests(self, run: ServerRun) -> dict[str, Any]:
        """Return `digests` of the ticks of a recorded run after the `first`, or `error` and
        `faults`.
        """
        return await self._request(run, "digests")

    async def happened(self, run: ServerRun, tick: int) -> dict[str, Any]:
        """Return what happened on a tick of a recorded run, by name, or `error` and `faults`."""
        return await self._request(run, "happened", tick)

    async def find(
        self, run: ServerRun, node: str, output: str, condition: Breakpoint | None
    ) -> dict[str, Any]:
        """Return `marks` where a condition begins to hold in a recorded run, or a number changes
        most; or `error` and `faults`.
        """
        return await self._request(run, "find", node, output, condition)

    async def cancel(self, prompt_ids: Collection[str]) -> None:
        """Remove runs from the queue. Raises OSError."""
        cancelled: list[int] = []
        for run in list(self.queue):
            if run.prompt_id in prompt_ids:
                self.queue.remove(run)
                run.state = "stopped"
                self._notify(run, "cancelled", {})
                cancelled.append(run.sequence)
        self._forget_old()
        await asyncio.to_thread(self._pending.remove, *cancelled)

    async def stop(self, run: ServerRun) -> None:
        """End a run after its current tick. A second call kills its worker."""
        if run in self.queue:
            await self.cancel([run.prompt_id])
        elif not run.over and run.worker is not None:
            if run.state == "stopping":
                run.worker.kill()
            run.state = "stopping"
            run.send("stop")
            self._notify(run, "changed", {})

    async def edit(self, run: ServerRun, workflow: Mapping[str, Any]) -> dict[str, Any]:
        """Change the graph of a running run; return `changed`, for people,
        or `error` and `faults`.
        """
        found = await self._request(run, "edit", workflow)
        if "error" not in found:
            run.data = workflow
            run.workflow = parse_workflow(workflow, run.workflow.path)
        return found

    async def break_when(
        self, run: ServerRun, breakpoints: tuple[Breakpoint, ...]
    ) -> dict[str, Any]:
        """Replace the breakpoints of a run; return `breakpoints`, or `error` and `faults`."""
        return await self._request(run, "breakpoints", breakpoints)

    async def save_state(self, run: ServerRun, node: str, name: str) -> dict[str, Any]:
        """Write the state of a running console's game; return `state`, `game` and `file`,
        or `error` and `faults`.
        """
        return await self._request(run, "save_state", node, name)

    async def keep_clip(self, run: ServerRun) -> dict[str, Any]:
        """Write a clip of what a run has just shown; return `folder`, `file` and `seconds`,
        or `error` and `faults`.
        """
        return await self._request(run, "clip")

    async def record(self, run: ServerRun, is_on: bool) -> dict[str, Any]:
        """Begin or end a tape of a run; return `recording`, or `error` and `faults`."""
        found = await self._request(run, "record", is_on)
        if "error" not in found:
            run.live_state.put("run", {"recorded": True, "recording": is_on})
            self._notify(run, "changed", {})
        return found

    async def _request(
        self, run: ServerRun, command: WorkerCommand, *content: Any
    ) -> dict[str, Any]:
        """Send the worker a command and wait for its answer."""
        if run.over or run.worker is None:
            raise MinibrainsError(f"the run is {run.state}; expected one that is running")
        self._requests += 1
        number = self._requests
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        run.pending_answers[number] = answer
        run.worker.send(command, (number, *content))
        return await answer

    async def free(self) -> None:
        """Free the memory of idle workers by ending them. The next run starts a new one."""
        idle = [worker for worker, run in self._workers.items() if run is None]
        await asyncio.gather(*[worker.close() for worker in idle])

    # -- the queue ---------------------------------------------------------------------------------

    def _add(self, run: ServerRun) -> None:
        run.state = "queued"
        recorded = bool(run.extra.get("record"))
        about = {"recorded": recorded, "recording": recorded, "replay_of": run.replay_of}
        run.live_state.put("run", about)
        self.known[run.prompt_id] = run
        self.queue.append(run)
        self.queue.sort(key=lambda run: (run.number, run.sequence))
        self._notify(run, "queued", {})

    def _read_pending(self) -> list[ServerRun]:
        """Return the runs that waited when the last server ended.

        A run with a folder had begun, and is not repeated.
        """
        waiting = []
        for sequence in self._pending.sequences():
            try:
                run = self._read_run(sequence)
                if run.prompt_id in self._history:
                    self._pending.remove(sequence)
                else:
                    waiting.append(run)
            except (OSError, ValueError, KeyError, TypeError, MinibrainsError) as error:
                logging.getLogger(__name__).error(
                    "request %d, which waited, cannot be read: %r", sequence, error
                )
        return waiting

    def _read_run(self, sequence: int) -> ServerRun:
        request = self._pending.read(sequence)
        extra, data = request["extra_data"], request["workflow"]
        workflow = parse_workflow(data, self._folders.workflow(extra.get("name")))
        return ServerRun(
            request["prompt_id"],
            request["number"],
            workflow,
            workflow.run,
            request["client_id"],
            extra,
            data,
            sequence,
        )

    # -- workers -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Assign waiting runs to free workers, and start workers for the rest."""
        if self._closing:
            return
        free = [
            worker
            for worker, run in self._workers.items()
            if run is None and worker.ready and not worker.closing
        ]
        for worker in free:
            if self.queue:
                self._begin(worker, self.queue.pop(0))
        idle = living = 0
        for worker, run in self._workers.items():
            if not worker.closing:
                living += 1
                if run is None:
                    idle += 1
        for _ in range(min(len(self.queue) - idle, self._most_workers - living)):
            self._add_worker()

    def _add_worker(self) -> None:
        if self._closing:
            return
        worker = WorkerHandle(self._config, self._on_event, self._ended)
        self._workers[worker] = None
        self._spawn(self._start(worker))

    async def _start(self, worker: WorkerHandle) -> None:
        try:
            await asyncio.to_thread(worker.start)
        except (OSError, RuntimeError) as error:
            del self._workers[worker]
            for run in list(self.queue):
                self.queue.remove(run)
                self._refuse(
                    run, f"no worker can be started: {getattr(error, 'strerror', None) or error}"
                )

    def _begin(self, worker: WorkerHandle, run: ServerRun) -> None:
        self._workers[worker], run.worker = run, worker
        run.state = "starting"
        self._spawn(self._send_request(worker, run))

    async def _send_request(self, worker: WorkerHandle, run: ServerRun) -> None:
        if run.tape is not None:
            nodes, settings, models = run.rewound_nodes, run.settings, self._config.models
            breakpoints = run.workflow.breakpoints
            rewound = RewindRequest(run.prompt_id, run.tape, nodes, settings, models, breakpoints)
            run.tape = None  # it may be large
            self._play(worker, run, rewound)
            return
        try:
            run.folder = await asyncio.to_thread(self._make_folder, run)
        except (MinibrainsError, OSError) as error:
            self._workers[worker] = None
            self._refuse(run, str(error))
            self._fill()
            return
        film = bool(run.extra.get("film"))
        spec = self._spec(run)
        request = RunRequest(run.prompt_id, spec, run.settings, run.folder, film, run.fork)
        run.begun.set()
        self._play(worker, run, request)

    def _play(
        self, worker: WorkerHandle, run: ServerRun, request: RunRequest | RewindRequest
    ) -> None:
        self._notify(run, "started", {})
        worker.send("play", request)
        worker.send("watch", run.watch)
        for node in run.requested_pictures:
            worker.send("request_picture", node)

    def _spec(self, run: ServerRun) -> RunSpec:
        return RunSpec(
            run.workflow.with_run(run.settings),
            packs=self._config.files,
            installed_packs=self._config.packs,
            record=bool(run.extra.get("record")),
            models=self._config.models,
        )

    def _make_folder(self, run: ServerRun) -> RunFolder:
        folder = RunFolder(self._folders.runs, run.workflow)
        self._history.add(
            run.prompt_id, folder.path, {**run.request(), "started": int(time.time() * 1000)}
        )
        self._pending.remove(run.sequence)
        return folder

    # -- events of workers -------------------------------------------------------------------------

    def _on_event(self, worker: WorkerHandle, event: WorkerEvent, content: Any) -> None:
        if event == "ready":
            worker.ready = True
            self._fill()
            return
        run = self._workers.get(worker)
        if run is None:
            return
        if event == "changes":
            if run.state == "stopping":
                content["run"].pop("state", None)
            for part, entries in content.items():
                run.live_state.put(part, entries)
            self._notify(run, "changed", {})
        elif event == "frame":
            node, number, message = content
            run.pictures[node] = number, message
            run.requested_pictures.discard(node)
            self._notify(run, "picture", {})
        elif event == "message":
            line = {"prompt_id": run.prompt_id, "node": content[0], "text": content[1]}
            run.lines = [*run.lines, line][-_MAX_LINES:]
            self._notify(run, "message", line)
        elif event == "closing":
            worker.closing = True
        elif event == "answer":
            number, answer = content
            if (
                waiting := run.pending_answers.pop(number, None)
            ) is not None and not waiting.done():
                waiting.set_result(answer)
        else:
            self._workers[worker] = None
            self._finish(run, content)
            if worker.closing:
                self._spawn(worker.close())
            self._fill()

    def _ended(self, worker: WorkerHandle) -> None:
        run = self._workers.pop(worker, None)
        if run is not None:
            sentence = f"the worker that played this run died: {worker.describe_exit()}"
            if run.state == "stopping":
                sentence = (
                    f"the run did not stop, so its worker was ended: {worker.describe_exit()}"
                )
            self._finish(run, self._failed(run, sentence))
        elif not worker.ready and not worker.closing and not self._closing and self.queue:
            first = self.queue.pop(0)
            self._refuse(first, f"a worker could not start: {worker.describe_exit()}")
        self._fill()

    def _refuse(self, run: ServerRun, sentence: str) -> None:
        """End a run that could not begin."""
        self._finish(run, self._failed(run, sentence))
        self._spawn(asyncio.to_thread(self._pending.remove, run.sequence))

    def _failed(self, run: ServerRun, sentence: str) -> Outcome:
        """Make the outcome of a run whose worker could not, and write it to the run folder."""
        summary: dict[str, Any] = {
            **as_error(RunError(sentence)),
            "state": "failed",
            "seed": run.settings.seed,
        }
        if run.folder is not None:
            summary |= {"episodes": _episodes(run.folder.path), "run_dir": str(run.folder.path)}
            try:
                run.folder.finish(summary)
            except RunError as error:
                summary["error"]["message"] += f"; {error}"
        return Outcome("failed", summary, exception="WorkerDied")

    def _finish(self, run: ServerRun, outcome: Outcome) -> None:
        run.outcome = outcome
        run.worker = None
        run.begun.set()
        run.requested_pictures.clear()
        for waiting in run.pending_answers.values():
            if not waiting.done():
                error = "the run ended before that could be done"
                waiting.set_result(
                    {"error": error, "faults": [Fault(error, code="request_failed").as_json()]}
                )
        if outcome.state == "failed" and outcome.node is not None:
            was = run.live_state.parts["nodes"].get(outcome.node, {"runs": 0, "us": None})
            message = outcome.summary["error"]["message"]
            run.live_state.put(
                "nodes", {outcome.node: {**was, "state": "failed", "error": message}}
            )
        run.state = outcome.state
        self._notify(run, "over", {})
        self._forget_old()

    def _forget_old(self) -> None:
        over = [known for known in self.known.values() if known.over]
        for known in over[:-_MAX_FINISHED]:
            del self.known[known.prompt_id]

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _episodes(folder: Path) -> list[Any]:
    """Return the episodes of a run that died: each is on the disk as soon as it is over."""
    try:
        lines = (folder / "episodes.jsonl").read_bytes().splitlines()
    except OSError:
        return []
    episodes = []
    for line in lines:
        try:
            episode = json.loads(line)
        except ValueError:  # the last line is incomplete
            break
        episodes.append(episode)
    return episodes
