"""ComfyUI's /jobs: the queue and the history as one list, which its newer clients read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from aiohttp import web

from server.http.history import History
from server.http.http_errors import RequestError, whole_number
from server.http.run_queue import RunQueue, ServerRun

_STATUSES: Final = {
    "queued": "pending",
    "starting": "in_progress",
    "running": "in_progress",
    "paused": "in_progress",
    "stopping": "in_progress",
    "done": "completed",
    "failed": "failed",
    "stopped": "cancelled",
}
"""State of a run -> status of a job."""
_FINISHED: Final = 1000
"""Number of finished runs among which jobs are looked for, the latest first."""


class Jobs:
    """Runs in the form of ComfyUI's jobs."""

    def __init__(self, runs: RunQueue, history: History) -> None:
        self._runs, self._history = runs, history

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/jobs", self.jobs)
        yield web.get("/jobs/{id}", self.one)
        yield web.post("/jobs/{id}/cancel", self.cancel)

    async def jobs(self, request: web.Request) -> web.Response:
        """Answer GET /jobs: the runs that wait or run, then the finished ones, the latest first."""
        alive = {run.prompt_id: run for run in [*self._runs.queue, *self._runs.running]}
        over = [prompt_id for prompt_id in self._history.ids() if prompt_id not in alive]
        jobs = [_living(run) for run in reversed(alive.values())]
        jobs += await asyncio.to_thread(self._read, over[: -_FINISHED - 1 : -1])
        if wanted := request.query.get("status"):
            statuses = wanted.split(",")
            jobs = [job for job in jobs if job["status"] in statuses]
        if request.query.get("sort_order") == "asc":
            jobs.reverse()
        offset, limit = whole_number(request, "offset") or 0, whole_number(request, "limit")
        shown = jobs[max(0, offset) :]
        if limit is not None:
            shown = shown[: max(0, limit)]
        pagination = {
            "offset": offset,
            "limit": limit,
            "total": len(jobs),
            "has_more": offset + len(shown) < len(jobs),
        }
        return web.json_response({"jobs": shown, "pagination": pagination})

    async def one(self, request: web.Request) -> web.Response:
        """Answer GET /jobs/{id}: one run, with its outputs and its workflow."""
        prompt_id = request.match_info["id"]
        run = self._runs.known.get(prompt_id)
        if run is not None and not run.over:
            job = {**_living(run), "outputs": {}}
            return web.json_response({**job, "workflow": _prompt(run.data, run.extra)})
        if prompt_id not in self._history:
            raise RequestError(404, "not_found", f"there is no run {prompt_id[:200]!r}")
        item = await asyncio.to_thread(self._history.item, prompt_id)
        job = {**_finished(prompt_id, item), "outputs": item["outputs"]}
        _, _, workflow, extra, _ = item["prompt"]
        return web.json_response({**job, "workflow": _prompt(workflow, extra)})

    async def cancel(self, request: web.Request) -> web.Response:
        """Answer POST /jobs/{id}/cancel: take a run from the queue, or end it."""
        run = self._runs.known.get(request.match_info["id"])
        is_alive = run is not None and not run.over
        if run is not None and is_alive:
            await self._runs.stop(run)
        return web.json_response({"cancelled": is_alive})

    def _read(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        return [_finished(prompt_id, self._history.item(prompt_id)) for prompt_id in ids]


def _living(run: ServerRun) -> dict[str, Any]:
    return _job(run.prompt_id, _STATUSES[run.state], run.number, run.requested)


def _finished(prompt_id: str, item: dict[str, Any]) -> dict[str, Any]:
    pictures: list[dict[str, Any]] = []
    for node, output in item["outputs"].items():
        for image in output["images"]:
            pictures.append({**image, "nodeId": node, "mediaType": "images"})
    job = _job(prompt_id, _STATUSES[item["state"]], item["prompt"][0], item["started"])
    job["execution_start_time"] = item["started"]
    job["outputs_count"] = job["previewable_outputs_count"] = len(pictures)
    if pictures:
        job["preview_output"] = pictures[0]
    if item["state"] == "failed":
        error = (item["result"] or {}).get("error") or {}
        # ComfyUI's front end refuses the whole list if an error lacks one of these; of its node and
        # traceback, a finished run has kept only what the message says
        job["execution_error"] = {
            "node_id": "",
            "node_type": "",
            "exception_message": error.get("message", ""),
            "exception_type": "",
            "traceback": [],
        }
    return job


def _prompt(workflow: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job plays. ComfyUI's front end opens the graph that it sent in `extra_data`."""
    return {"prompt": dict(workflow), "extra_data": dict(extra)}


def _job(prompt_id: str, status: str, priority: float, created: int | None) -> dict[str, Any]:
    return {
        "id": prompt_id,
        "status": status,
        "priority": priority,
        "create_time": created,
        "execution_start_time": None,
        "execution_end_time": None,
        "execution_error": None,
        "outputs_count": 0,
        "previewable_outputs_count": 0,
        "preview_output": None,
        "workflow_id": None,
    }
