"""The routes of runs: ComfyUI's prompt, queue and history, and our own control of a run."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from aiohttp import web

from minibrains.errors import Fault, MinibrainsError, WorkflowError, faults_of
from minibrains.graph.breakpoint import Breakpoint, read_breakpoints
from minibrains.graph.workflow import Workflow
from minibrains.run.digest import differences, first_difference
from server.http.api_prompt import workflow_of
from server.http.described_values import describe_value
from server.http.folders import DataFolders
from server.http.history import History
from server.http.http_errors import RequestError, read_object, text, texts, whole_number
from server.http.node_types import NodeTypes
from server.http.run_queue import RunQueue, ServerRun
from server.http.worker_protocol import Tape

_SHOWN: Final = 200
"""Default number of runs in GET /history."""
_STEPS: Final = 100_000
_SLOWEST: Final = 0.05
"""The slowest speed of the realtime clock. A run can be stopped only between two ticks."""


class RunRoutes:
    """The requests about runs."""

    def __init__(
        self, runs: RunQueue, history: History, types: NodeTypes, folders: DataFolders
    ) -> None:
        self._runs, self._history, self._types, self._folders = runs, history, types, folders
        self._reserved: set[str] = set()
        """Ids of runs whose request is being read."""

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.post("/prompt", self.submit)
        yield web.get("/prompt", self.remaining)
        yield web.get("/queue", self.queue)
        yield web.post("/queue", self.change_queue)
        yield web.get("/history", self.history)
        yield web.get("/history/{id}", self.history_of)
        yield web.post("/history", self.change_history)
        yield web.post("/interrupt", self.interrupt)
        yield web.post("/free", self.free)
        yield web.get("/runs", self.list)
        yield web.get("/runs/{id}", self.details)
        yield web.post("/runs/{id}/{what:stop|pause|resume|step|step_node}", self.control)
        yield web.get("/runs/{id}/files", self.files)
        yield web.post("/runs/{id}/breakpoints", self.break_when)
        yield web.post("/runs/{id}/speed", self.set_speed)
        yield web.post("/runs/{id}/rewind", self.rewind)
        yield web.post("/runs/{id}/seek", self.seek)
        yield web.get("/runs/{id}/timeline", self.timeline)
        yield web.post("/runs/{id}/find", self.find)
        yield web.get("/runs/{id}/difference", self.difference)
        yield web.post("/runs/{id}/fork", self.fork)
        yield web.post("/runs/{id}/edit", self.edit)
        yield web.post("/runs/{id}/save_state", self.save_state)
        yield web.post("/runs/{id}/clip", self.clip)
        yield web.post("/runs/{id}/record", self.record)

    # -- ComfyUI's ---------------------------------------------------------------------------------

    async def submit(self, request: web.Request) -> web.Response:
        """Answer POST /prompt: check a workflow and queue a run of it."""
        body = await read_object(request)
        data = body.get("prompt")
        if data is None:
            details = 'expected {"prompt": a workflow}'
            raise RequestError(
                400, "no_prompt", "No prompt provided", details, node_errors={}, faults=[]
            )
        extra = body.get("extra_data") or {}
        if not isinstance(extra, dict):
            raise RequestError(400, "bad_request", "'extra_data' is not an object")
        prompt_id = text(body, "prompt_id") or str(uuid.uuid4())
        client_id = text(body, "client_id")
        with self._reserving(prompt_id):
            workflow = await self._read(data, extra)
            sequence = self._runs.next_number()
            number = body.get("number")
            if number is None or isinstance(number, bool) or not isinstance(number, (int, float)):
                number = -sequence if body.get("front") else sequence
            run = ServerRun(
                prompt_id,
                number,
                workflow,
                workflow.run,
                client_id,
                extra,
                workflow.to_json(),
                sequence,
            )
            await self._runs.submit(run)
        return web.json_response({"prompt_id": prompt_id, "number": number, "node_errors": {}})

    @contextmanager
    def _reserving(self, prompt_id: str) -> Iterator[None]:
        """Reserve an id while its request is read.

        Raises RequestError if there is such a run, or another request for one.
        """
        if (
            prompt_id in self._runs.known
            or prompt_id in self._history
            or prompt_id in self._reserved
        ):
            raise RequestError(400, "invalid_prompt_id", f"there is a run {prompt_id!r} already")
        self._reserved.add(prompt_id)
        try:
            yield
        finally:
            self._reserved.remove(prompt_id)

    async def _read(self, data: Any, extra: Mapping[str, Any]) -> Workflow:
        """Return the workflow with the settings of this run.

        Raises RequestError with all faults.
        """
        path = self._folders.workflow(text(dict(extra), "name"))
        given = extra.get("settings", {})
        if not isinstance(given, dict):
            raise RequestError(400, "bad_request", "'settings' is not an object")
        try:
            data = await asyncio.to_thread(workflow_of, data, self._types.registry)
        except WorkflowError as error:
            raise _invalid(error, data) from None
        if isinstance(data, dict) and isinstance(data.get("run", {}), dict):
            settings = {**data.get("run", {}), **given}
            settings = {key: value for key, value in settings.items() if value is not None}
            data = {**data, "run": settings}
        try:
            workflow = await self._types.parse(data, path)
            await self._types.check_fully(workflow)
        except MinibrainsError as error:
            raise _invalid(error, data) from None
        return workflow.with_run(workflow.run)

    async def remaining(self, request: web.Request) -> web.Response:
        """Answer GET /prompt: the number of runs that wait or run."""
        return web.json_response({"exec_info": {"queue_remaining": self._runs.remaining}})

    async def queue(self, request: web.Request) -> web.Response:
        """Answer GET /queue: the runs that run, and those that wait."""
        running = [_item(run) for run in self._runs.running]
        pending = [_item(run) for run in self._runs.queue]
        return web.json_response({"queue_running": running, "queue_pending": pending})

    async def change_queue(self, request: web.Request) -> web.Response:
        """Answer POST /queue: cancel waiting runs."""
        body = await read_object(request)
        if body.get("clear"):
            ids = [run.prompt_id for run in self._runs.queue]
        else:
            ids = texts(body, "delete")
        await self._runs.cancel(ids)
        return web.Response()

    async def history(self, request: web.Request) -> web.Response:
        """Answer GET /history: finished runs, by default the last ones."""
        limit, offset = whole_number(request, "max_items"), whole_number(request, "offset")
        ids = [prompt_id for prompt_id in self._history.ids() if not self._is_alive(prompt_id)]
        if limit is None:
            limit = _SHOWN
        if offset is not None and offset >= 0:
            chosen = ids[offset:][:limit]
        else:
            chosen = ids[max(0, len(ids) - limit) :]
        items = await asyncio.to_thread(self._items, chosen)
        return web.json_response(items)

    def _items(self, ids: Iterable[str]) -> dict[str, Any]:
        return {prompt_id: self._history.item(prompt_id) for prompt_id in ids}

    async def history_of(self, request: web.Request) -> web.Response:
        """Answer GET /history/{id}: one finished run, or {} if there is none."""
        prompt_id = request.match_info["id"]
        if prompt_id not in self._history or self._is_alive(prompt_id):
            return web.json_response({})
        return web.json_response(
            {prompt_id: await asyncio.to_thread(self._history.item, prompt_id)}
        )

    async def change_history(self, request: web.Request) -> web.Response:
        """Answer POST /history: move the folders of finished runs to the trash."""
        body = await read_object(request)
        if body.get("clear"):
            ids = self._history.ids()
        else:
            ids = texts(body, "delete")
        over = [prompt_id for prompt_id in ids if not self._is_alive(prompt_id)]
        for prompt_id in over:
            self._runs.known.pop(prompt_id, None)
        await asyncio.to_thread(self._history.forget, over)
        return web.Response()

    async def interrupt(self, request: web.Request) -> web.Response:
        """Answer POST /interrupt: stop one running run, or all."""
        prompt_id = text(await read_object(request), "prompt_id")
        for run in self._runs.running:
            if prompt_id in (None, run.prompt_id):
                await self._runs.stop(run)
        return web.Response()

    async def free(self, request: web.Request) -> web.Response:
        """Answer POST /free: end idle workers."""
        body = await read_object(request)
        if body.get("unload_models") or body.get("free_memory"):
            await self._runs.free()
        return web.Response()

    # -- our own -----------------------------------------------------------------------------------

    async def list(self, request: web.Request) -> web.Response:
        """Answer GET /runs: the runs that wait, run, or have finished recently."""
        shown = []
        for run in self._runs.known.values():
            about = run.live_state.parts["run"]
            shown.append({"prompt_id": run.prompt_id, "title": run.workflow.title, **about})
        return web.json_response(shown)

    async def details(self, request: web.Request) -> web.Response:
        """Answer GET /runs/{id}: the whole state of a run."""
        prompt_id = request.match_info["id"]
        run = self._runs.known.get(prompt_id)
        if run is not None:
            return web.json_response(run.details(), dumps=_dump)
        if prompt_id not in self._history:
            raise _unknown(prompt_id)
        return web.json_response(await asyncio.to_thread(self._history.details, prompt_id))

    async def files(self, request: web.Request) -> web.Response:
        """Answer GET /runs/{id}/files: what is in the folder of a run."""
        prompt_id = request.match_info["id"]
        if prompt_id not in self._history:
            raise _unknown(prompt_id)
        return web.json_response(await asyncio.to_thread(self._history.files, prompt_id))

    async def control(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/stop, /pause, /resume, /step and /step_node."""
        run, what = self._alive(request), request.match_info["what"]
        if what == "stop":
            await self._runs.stop(run)
        elif run.state in ("queued", "starting"):
            raise RequestError(
                409,
                "not_yet",
                f"the run is {run.state}; it can be paused and stepped once it ticks",
            )
        elif what == "step":
            ticks = (await read_object(request)).get("ticks", 1)
            if type(ticks) is not int or not 1 <= ticks <= _STEPS:
                raise RequestError(
                    400,
                    "bad_request",
                    f"'ticks' is {ticks!r}; expected a whole number from 1 to {_STEPS}",
                )
            run.send("step", ticks)
        else:
            run.send(what)
            if what == "pause":
                self._runs.keep_ready()  # its last ticks may be asked for
        return web.json_response({"prompt_id": run.prompt_id, "state": run.state})

    async def break_when(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/breakpoints: replace what pauses a run."""
        run, body = self._alive(request), await read_object(request)
        faults: list[Fault] = []
        breakpoints = read_breakpoints(body.get("breakpoints"), faults)
        if faults:
            raise RequestError(400, "bad_request", "; ".join(map(str, faults)))
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; set its breakpoints once it ticks"
            )
        found = _answer(await self._runs.break_when(run, breakpoints), "no_breakpoint")
        return web.json_response(found)

    async def set_speed(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/speed: play in slow motion."""
        run, speed = self._alive(request), (await read_object(request)).get("speed")
        if not isinstance(speed, (int, float)) or not _SLOWEST <= speed <= 1:
            message = f"'speed' is {speed!r}; expected a number from {_SLOWEST} to 1"
            raise RequestError(400, "bad_request", message)
        if run.replay_of is None and run.settings.clock != "realtime":
            message = "this run has no frame rate to slow down; run it in real time"
            raise RequestError(409, "not_realtime", message)
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; slow it down once it ticks"
            )
        run.send("speed", float(speed))
        return web.json_response({"prompt_id": run.prompt_id, "speed": speed})

    async def rewind(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/rewind: open the tape of a finished run, or pause one that goes on
        and open its last ticks.
        """
        replay_of, body = request.match_info["id"], await read_object(request)
        known = self._runs.known.get(replay_of)
        tape: Tape | None
        if known is not None and not known.over:
            data, tape, nodes = await self._recent(known)
        elif replay_of not in self._history:
            raise _unknown(replay_of)
        else:
            tape, nodes = self._history.tape(replay_of), None
            if tape is None:
                message = "the run was not recorded; record one to rewind it"
                raise RequestError(400, "no_tape", message)
            data = (await asyncio.to_thread(self._history.details, replay_of))["workflow"]
        workflow = await self._types.parse(data, None)
        run = ServerRun(
            str(uuid.uuid4()),
            sequence := self._runs.next_number(),
            workflow,
            workflow.run,
            text(body, "client_id"),
            {"replay_of": replay_of},
            data,
            sequence,
            replay_of=replay_of,
            tape=tape,
            rewound_nodes=frozenset(workflow.nodes) if nodes is None else nodes,
        )
        self._runs.rewind(run)
        return web.json_response({"prompt_id": run.prompt_id})

    async def _recent(self, run: ServerRun) -> tuple[Any, Tape, frozenset[str]]:
        """Pause a run that goes on; return its workflow, its last ticks, and the nodes that are no
        hook's.
        """
        if run.replay_of is not None:
            raise RequestError(409, "recorded", "this is a recorded run already; go to its ticks")
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; it can be rewound once it ticks"
            )
        found = _answer(await self._runs.recent(run), "no_tape")
        return run.data, found["records"], found["nodes"]

    async def seek(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/seek: show another tick of a recorded run."""
        run, tick = self._rewound(request), _tick(await read_object(request))
        run.send("seek", tick)
        return web.json_response({"prompt_id": run.prompt_id, "state": run.state})

    async def timeline(self, request: web.Request) -> web.Response:
        """Answer GET /runs/{id}/timeline: first and last tick and the marks of a recorded run."""
        found = _answer(await self._runs.timeline(self._rewound(request)), "not_read")
        return web.json_response(found)

    async def find(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/find: the ticks of a recorded run at which a value is special."""
        run, body = self._rewound(request), await read_object(request)
        output, condition = text(body, "output") or "", text(body, "condition")
        node, _, output_or_item = output.partition(".")
        faults: list[Fault] = []
        conditions: tuple[Breakpoint | None, ...] = (None,)
        if condition is not None:
            conditions = read_breakpoints({output: condition}, faults)
        if faults:
            raise RequestError(400, "bad_request", "; ".join(map(str, faults)))
        marks = await self._runs.find(run, node, output_or_item, conditions[0])
        found = _answer(marks, "not_found")
        return web.json_response(found)

    async def difference(self, request: web.Request) -> web.Response:
        """Answer GET /runs/{id}/difference?from=ID: the first tick at which two recorded runs
        differ, and in what.
        """
        ids = (request.match_info["id"], request.query.get("from", ""))
        runs = [self._rewound_run(prompt_id) for prompt_id in ids]
        digests = [_answer(await self._runs.digests(run), "not_read") for run in runs]
        tick = first_difference(*((found["first"], found["digests"]) for found in digests))
        if tick is None:
            return web.json_response({"tick": None, "values": {}})
        happened = [_answer(await self._runs.happened(run, tick), "not_read") for run in runs]
        values: dict[str, list[Any]] = {}
        for name, pair in differences(*happened).items():
            values[name] = list(map(describe_value, pair))
        return web.json_response({"tick": tick, "values": values})

    async def fork(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/fork: play a recorded run on from one of its ticks, with a
        workflow.
        """
        rewound, body = self._rewound(request), await read_object(request)
        tick, extra = _tick(body), {"name": body.get("name"), "settings": body.get("settings", {})}
        workflow = await self._read(body.get("workflow", rewound.data), extra)
        found = _answer(await self._runs.fork_point(rewound, tick), "no_fork")
        workflow = workflow.with_run(replace(workflow.run, episodes=1))
        origin = {"of": rewound.replay_of, "tick": found["tick"]}
        run = ServerRun(
            str(uuid.uuid4()),
            sequence := self._runs.next_number(),
            workflow,
            workflow.run,
            text(body, "client_id"),
            {**extra, "record": True, "fork": origin},
            workflow.to_json(),
            sequence,
            fork=found["point"],
        )
        await self._runs.begin_fork(run)
        return web.json_response({"prompt_id": run.prompt_id, "tick": found["tick"]})

    def _rewound(self, request: web.Request) -> ServerRun:
        """Return the recorded run of a request.

        Raises RequestError unless it is open in a worker.
        """
        return self._rewound_run(request.match_info["id"])

    def _rewound_run(self, prompt_id: str) -> ServerRun:
        run = self._alive_run(prompt_id)
        if run.replay_of is None:
            message = "this run is being played; rewind it, and ask the run that shows its ticks"
            raise RequestError(409, "not_recorded", message)
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the tape is {run.state}; ask again once it is read"
            )
        return run

    async def edit(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/edit: change the graph of a running run."""
        run, data = self._alive(request), (await read_object(request)).get("workflow")
        if not isinstance(data, dict):
            raise RequestError(400, "bad_request", "'workflow' is not an object")
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; its graph can be changed once it ticks"
            )
        try:
            await self._types.check_fully(await self._types.parse(data, run.workflow.path))
        except MinibrainsError as error:
            raise _invalid(error, data) from None
        found = _answer(await self._runs.edit(run, data), "edit_failed")
        return web.json_response(found)

    async def save_state(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/save_state: write a save state of a console."""
        run, body = self._alive(request), await read_object(request)
        node, name = text(body, "node"), text(body, "name")
        if node is None or name is None:
            message = (
                "'node' or 'name' is missing; expected the console's id, and a name for its state"
            )
            raise RequestError(400, "bad_request", message)
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; its state can be saved once it ticks"
            )
        found = _answer(await self._runs.save_state(run, node, name), "not_saved")
        return web.json_response(found)

    async def clip(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/clip: keep what was just shown of the game."""
        run = self._alive(request)
        if run.state in ("queued", "starting"):
            raise RequestError(
                409, "not_yet", f"the run is {run.state}; it shows nothing before it ticks"
            )
        found = _answer(await self._runs.keep_clip(run), "no_clip")
        return web.json_response(found)

    async def record(self, request: web.Request) -> web.Response:
        """Answer POST /runs/{id}/record: begin or end a tape in the middle of a run."""
        run, is_on = self._alive(request), (await read_object(request)).get("on")
        if not isinstance(is_on, bool):
            message = f"'on' is {is_on!r}; expected true to begin a tape, or false to end it"
            raise RequestError(400, "bad_request", message)
        if run.replay_of is not None or run.state in ("queued", "starting"):
            what = "rewound" if run.replay_of is not None else run.state
            raise RequestError(409, "not_yet", f"the run is {what}; record one that ticks")
        found = _answer(await self._runs.record(run, is_on), "not_recorded")
        return web.json_response(found)

    def _alive(self, request: web.Request) -> ServerRun:
        """Return the run of a request. Raises RequestError unless it waits or runs."""
        return self._alive_run(request.match_info["id"])

    def _alive_run(self, prompt_id: str) -> ServerRun:
        run = self._runs.known.get(prompt_id)
        if run is None and prompt_id not in self._history:
            raise _unknown(prompt_id)
        if run is None or run.over:
            raise RequestError(409, "over", f"the run {prompt_id!r} is over")
        return run

    def _is_alive(self, prompt_id: str) -> bool:
        run = self._runs.known.get(prompt_id)
        return run is not None and not run.over


def _answer(found: dict[str, Any], error: str) -> dict[str, Any]:
    """Return what a run's worker has answered.

    Raises RequestError, of the type `error`, if it could not do what it was asked.
    """
    if "error" in found:
        raise RequestError(400, error, found["error"], faults=found.get("faults", []))
    return found


def _tick(body: Mapping[str, Any]) -> int:
    """Return the tick in a request. Raises RequestError."""
    tick = body.get("tick")
    if type(tick) is not int or tick < 0:
        message = f"'tick' is {tick!r}; expected a whole number from 0"
        raise RequestError(400, "bad_request", message)
    return tick


def _dump(value: Any) -> str:
    return json.dumps(value, default=repr)


def _unknown(prompt_id: str) -> RequestError:
    return RequestError(404, "not_found", f"there is no run {prompt_id[:200]!r}")


def _item(run: ServerRun) -> list[Any]:
    return [run.number, run.prompt_id, run.data, dict(run.extra), list(run.data["nodes"])]


def _invalid(error: MinibrainsError, data: Any) -> RequestError:
    """Return the error for a faulty workflow: the faults by node in ComfyUI's form,
    and in our own.
    """
    faults = faults_of(error)
    node_errors: dict[str, Any] = {}
    for fault in faults:
        node = fault["node"]
        if node is None:
            continue
        if node not in node_errors:
            node_errors[node] = {
                "errors": [],
                "class_type": _type_of(node, data),
                "dependent_outputs": [node],
            }
        extra = {
            "input_name": fault["socket"],
            "received_value": fault["found"],
            "expected": fault["expected"],
        }
        about = {
            "type": fault["code"],
            "message": fault["message"],
            "details": " ".join(filter(None, [fault["socket"], fault["hint"]])),
            "extra_info": extra,
        }
        node_errors[node]["errors"].append(about)
    type_ = "invalid_prompt"
    if isinstance(error, WorkflowError) and node_errors:
        type_ = "prompt_outputs_failed_validation"
    return RequestError(
        400, type_, "the workflow has faults", str(error), node_errors=node_errors, faults=faults
    )


def _type_of(node: str, workflow: Any) -> Any:
    """Return the type of a node in a workflow that may have any form; None if it has none."""
    for key in ("nodes", node, "type"):
        if not isinstance(workflow, dict):
            return None
        workflow = workflow.get(key)
    return workflow
