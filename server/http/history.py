"""Finished runs, read from their folders, so that they survive the server."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from minibrains.errors import MinibrainsError
from minibrains.files import write_atomic
from minibrains.graph.workflow import parse_workflow
from minibrains.host import file_stem
from minibrains.tape.recording import tapes_in
from server.http.folders import DataFolders, files_below
from server.http.worker_protocol import SERVER_GONE

MAX_FILES: Final = 1000
"""Largest number of a run's files that are listed."""
_REQUEST: Final = "request.json"
"""The file about the request of a run: prompt_id, number, client_id, extra_data, time (in ms),
place in the history."""


class History:
    """The run folders by prompt id, oldest first.

    The id of a run from the command line is the name of its folder; it counts once it has an
    episode or a summary.
    """

    def __init__(self, folders: DataFolders) -> None:
        self._folders = folders
        newest = 0
        found: list[tuple[int, Path, str]] = []
        for path in sorted(folders.runs.iterdir()):
            if not path.is_dir():
                continue
            request = _read(path / _REQUEST)
            # a server that was killed here had not begun the run, which still waits in the queue
            if not request and not _has_results(path):
                continue
            # by name alone, runs would change places when the clock is set back; runs of the
            # command line have no place
            position = request.get("place")
            if not isinstance(position, int):
                position = newest
            newest = max(newest, position)
            found.append((position, path, str(request.get("prompt_id") or path.name)))
        self._paths = {prompt_id: path for _, path, prompt_id in sorted(found)}
        self._positions = count(newest + 1)

    def add(self, prompt_id: str, folder: Path, request: dict[str, Any]) -> None:
        """Add a run that begins."""
        write_atomic(folder / _REQUEST, json.dumps({**request, "place": next(self._positions)}))
        self._paths[prompt_id] = folder

    def forget(self, prompt_ids: list[str]) -> None:
        """Move run folders to the trash."""
        found = {
            prompt_id: self._paths[prompt_id]
            for prompt_id in prompt_ids
            if prompt_id in self._paths
        }
        folders = [path for path in found.values() if path.exists()]
        self._folders.throw_away(*folders)
        for prompt_id in found:
            del self._paths[prompt_id]

    def __contains__(self, prompt_id: str) -> bool:
        return prompt_id in self._paths

    def tape(self, prompt_id: str) -> Path | None:
        """Return the last tape of a run; None if it was not recorded. Raises KeyError."""
        tapes = tapes_in(self._paths[prompt_id])
        return tapes[-1] if tapes else None

    def ids(self) -> list[str]:
        """Return the ids of all runs, oldest first."""
        return list(self._paths)

    def details(self, prompt_id: str) -> dict[str, Any]:
        """Return a finished run in the form of `GET /runs/{id}`. Raises KeyError."""
        path = self._paths[prompt_id]
        workflow, summary = _read(path / "workflow.json"), _read(path / "summary.json")
        error = summary.get("error") or None
        if not summary:
            error = {"message": SERVER_GONE}
        return {
            "prompt_id": prompt_id,
            **_run(summary),
            "workflow": workflow,
            "settings": workflow.get("run", {}),
            "nodes": {name: _node(node) for name, node in summary.get("nodes", {}).items()},
            "values": {},
            "said": [],
            "result": summary or None,
            "error": error,
        }

    def item(self, prompt_id: str) -> dict[str, Any]:
        """Return a finished run in ComfyUI's form. Raises KeyError."""
        path = self._paths[prompt_id]
        request, summary, workflow = (
            _read(path / _REQUEST),
            _read(path / "summary.json"),
            _read(path / "workflow.json"),
        )
        nodes = _nodes_of(workflow)
        meta: dict[str, Any] = {}
        for node in nodes:
            meta[node] = {
                "node_id": node,
                "display_node": node,
                "parent_node": None,
                "real_node_id": node,
            }
        return {
            "prompt": [
                request.get("number", 0),
                prompt_id,
                workflow,
                request.get("extra_data", {}),
                nodes,
            ],
            "outputs": picture_outputs(path, nodes),
            "status": _status(prompt_id, request, summary),
            "meta": meta,
            "state": _state(summary),
            "started": request.get("started") or _made_at(path / "workflow.json"),
            "result": summary or None,
            "recorded": self.tape(prompt_id) is not None,
        }

    def files(self, prompt_id: str) -> dict[str, Any]:
        """Return the folder of a run, and its files with their sizes. Raises KeyError."""
        path = self._paths[prompt_id]
        files: list[dict[str, Any]] = []
        for file in islice(files_below(path, ""), MAX_FILES):
            with suppress(OSError):
                size = file.stat().st_size
                files.append({"path": file.relative_to(path).as_posix(), "size": size})
        return {"folder": path.name, "files": files}


def _nodes_of(workflow: dict[str, Any]) -> list[str]:
    """Return the nodes of a run's workflow, with those inside of boxes; none if it is lost."""
    try:
        return list(parse_workflow(workflow).nodes)
    except MinibrainsError:
        return []


def picture_outputs(path: Path, nodes: Collection[str]) -> dict[str, Any]:
    """Return the nodes that left a picture in the run folder, and the entries of these pictures in
    ComfyUI's form.
    """
    outputs: dict[str, Any] = {}
    by_stem = {file_stem(node): node for node in nodes}
    for file in sorted(path.glob("*.png")):
        if file.stem in by_stem:
            image = {"filename": file.name, "subfolder": path.name, "type": "output"}
            outputs[by_stem[file.stem]] = {"images": [image]}
    return outputs


def _made_at(path: Path) -> int | None:
    """Return the time at which a file was written, in ms; None if there is none."""
    try:
        return int(path.stat().st_mtime * 1000)
    except OSError:
        return None


def _has_results(path: Path) -> bool:
    """Return whether a run folder has a summary, or an episode that ended."""
    rows = path / "episodes.jsonl"
    return (path / "summary.json").exists() or (rows.exists() and rows.stat().st_size > 0)


def _state(summary: dict[str, Any]) -> str:
    if not summary or "error" in summary:
        return "failed"
    state = summary.get("state", "done")
    if state in ("done", "stopped"):
        return str(state)
    return "failed"


def _status(prompt_id: str, request: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
    """Return the end of a run in the form of ComfyUI's messages."""
    state = _state(summary)
    messages: list[Any] = [
        ["execution_start", {"prompt_id": prompt_id, "timestamp": request.get("started")}]
    ]
    if state == "failed":
        error = summary.get("error") or {"message": SERVER_GONE}
        messages.append(
            ["execution_error", {"prompt_id": prompt_id, "exception_message": error["message"]}]
        )
    elif state == "stopped":
        messages.append(["execution_interrupted", {"prompt_id": prompt_id}])
    else:
        messages.append(["execution_success", {"prompt_id": prompt_id}])
    text = "error" if state == "failed" else "success"
    return {"status_str": text, "completed": state == "done", "messages": messages}


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """Convert a node's entry of a summary to the form in which pages receive
    the nodes of a running run.
    """
    about = {"state": "idle", "runs": node.get("runs", 0), "us": node.get("mean_us")}
    for key in ("think_times", "restarts"):
        if key in node:
            about[key] = node[key]
    return about


def _run(summary: dict[str, Any]) -> dict[str, Any]:
    episodes = summary.get("episodes") or [{}]
    return {
        "state": _state(summary),
        "episode": len(episodes) - 1,
        "episodes": len(episodes),
        "tick": episodes[-1].get("ticks"),
        "ticks": summary.get("ticks"),
        "ticks_per_s": summary.get("ticks_per_s"),
        "score": episodes[-1].get("score"),
        "clock": summary.get("clock"),
        "misses": summary.get("misses"),
    }


def _read(path: Path) -> dict[str, Any]:
    """Read a JSON object; {} if it cannot be read."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
