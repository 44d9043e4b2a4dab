"""Workflow files on the disk, and the shipped ones."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from minibrains.errors import MinibrainsError
from minibrains.files import shipped, write_whole
from minibrains.graph.workflow import dump_json, load_workflow, parse_workflow
from minibrains.values import parse_json
from server.http.answers import Refused
from server.http.folders import BadName, DataFolders, inside

_ROOT: Final = "workflows/"


class WorkflowFiles:
    """ComfyUI's /userdata, for `workflows/*.json`. A save over somebody's newer save is refused."""

    def __init__(self, folders: DataFolders, changed: Callable[[str], None]) -> None:
        """`changed` is called with "workflows" after each change."""
        self._folders = folders
        self._changed = changed
        self._writing = asyncio.Lock()

    def routes(self) -> Iterator[web.RouteDef]:
        yield web.get("/userdata", self.list)
        yield web.get("/userdata/{file}", self.read)
        yield web.post("/userdata/{file}", self.save)
        yield web.delete("/userdata/{file}", self.delete)
        yield web.post("/userdata/{file}/move/{to}", self.move)
        yield web.get("/workflow_templates", self.template_names)
        yield web.get("/templates", self.templates)
        yield web.get("/templates/{name}", self.template)

    async def list(self, request: web.Request) -> web.Response:
        folder = request.query.get("dir")
        if folder is None:
            raise Refused(400, "bad_request", "?dir= is missing; expected dir=workflows")
        place = self._folders.workflows if folder == "workflows" else inside(self._folders.root, folder)
        if not place.is_relative_to(self._folders.workflows) or not place.is_dir():
            raise Refused(404, "not_found", f"there is no folder {folder!r}; workflows lie in 'workflows'")
        full, recurse = _is_true(request, "full_info"), _is_true(request, "recurse")
        files = sorted(place.rglob("*.json") if recurse else place.glob("*.json"))
        visible = [file for file in files if not any(part.startswith(".") for part in file.relative_to(place).parts)]
        return web.json_response([_about(file, place) if full else _name(file, place) for file in visible])

    async def read(self, request: web.Request) -> web.Response:
        data = self._existing(request.match_info["file"]).read_bytes()
        return web.Response(body=data, content_type="application/json", headers={"ETag": _etag(data)})

    async def save(self, request: web.Request) -> web.Response:
        path = self._place(request.match_info["file"])
        text = await _read_workflow(request)
        async with self._writing:
            now = path.read_bytes() if path.is_file() else None
            _refuse_stale(request, now)
            await asyncio.to_thread(write_whole, path, text)
        self._changed("workflows")
        return self._saved(request, path)

    async def delete(self, request: web.Request) -> web.Response:
        async with self._writing:
            path = self._existing(request.match_info["file"])
            _refuse_stale(request, path.read_bytes())
            self._folders.throw_away(path)
        self._changed("workflows")
        return web.Response(status=204)

    async def move(self, request: web.Request) -> web.Response:
        async with self._writing:
            path, to = self._existing(request.match_info["file"]), self._place(request.match_info["to"])
            if to.exists() and path != to and not _is_true(request, "overwrite"):
                raise Refused(409, "exists", f"there is a workflow {request.match_info['to']!r} already")
            to.parent.mkdir(parents=True, exist_ok=True)
            if to.exists() and path != to:
                self._folders.throw_away(to)
            path.rename(to)
        self._changed("workflows")
        return self._saved(request, to)

    async def template_names(self, request: web.Request) -> web.Response:
        return web.json_response({"minibrains": [file.stem for file in _templates()]})

    async def templates(self, request: web.Request) -> web.Response:
        return web.json_response(await asyncio.to_thread(lambda: [_template(file) for file in _templates()]))

    async def template(self, request: web.Request) -> web.StreamResponse:
        name, known = request.match_info["name"].removesuffix(".json"), {file.stem: file for file in _templates()}
        if name not in known:
            raise Refused(404, "not_found", f"there is no shipped workflow {name!r}; the shipped ones are {', '.join(known)}")
        return web.FileResponse(known[name], headers={"Content-Type": "application/json"})

    def _place(self, name: str) -> Path:
        """Where a file of this name lies, or would. Raises BadName."""
        if not name.startswith(_ROOT) or not name.endswith(".json"):
            raise BadName(f"the name {name[:200]!r} cannot be used; workflows are called workflows/….json")
        return inside(self._folders.workflows, name.removeprefix(_ROOT))

    def _existing(self, name: str) -> Path:
        path = self._place(name)
        if not path.is_file():
            raise Refused(404, "not_found", f"there is no workflow {name!r}")
        return path

    def _saved(self, request: web.Request, path: Path) -> web.Response:
        about = _about(path, self._folders.root)
        answer = about if _is_true(request, "full_info") else about["path"]
        return web.json_response(answer, headers={"ETag": f'"{about["sha256"]}"'})


async def _read_workflow(request: web.Request) -> str:
    try:
        data = parse_json(await request.read())
        parse_workflow(data)  # faults within it may be saved: work goes on
    except ValueError as error:
        raise Refused(400, "no_json", f"the workflow is not JSON: {error}") from None
    return dump_json(data)


def _refuse_stale(request: web.Request, now: bytes | None) -> None:
    """Refuse unless what is on the disk is what the client has seen last. Without If-Match it need not have."""
    seen = request.headers.get("If-Match")
    if now is not None and (request.query.get("overwrite") == "false" or request.headers.get("If-None-Match") == "*"):
        raise Refused(409, "exists", f"there is a workflow {request.match_info['file']!r} already")
    if seen is None or seen == (None if now is None else _etag(now)):
        return
    if now is None:
        raise Refused(412, "stale", "the workflow was deleted or renamed meanwhile", sha256=None, workflow=None)
    sha256 = hashlib.sha256(now).hexdigest()
    raise Refused(412, "stale", "the workflow was saved by somebody else meanwhile", sha256=sha256, workflow=_lenient(now))


def _lenient(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        return None


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()}"'


def _is_true(request: web.Request, key: str) -> bool:
    return request.query.get(key, "").lower() in ("true", "1")


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _about(file: Path, folder: Path) -> dict[str, Any]:
    stat = file.stat()
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    times = {"modified": int(stat.st_mtime * 1000), "created": int(stat.st_ctime * 1000)}
    return {"path": _name(file, folder), "size": stat.st_size, **times, "sha256": sha256}


def _templates() -> list[Path]:
    return sorted(shipped("workflows").glob("*.json"))


def _template(file: Path) -> dict[str, Any]:
    try:
        workflow = load_workflow(file)
    except MinibrainsError as error:
        return {"name": file.stem, "title": file.stem, "description": str(error), "nodes": []}
    types = sorted({node.type for node in workflow.nodes.values()})
    return {"name": file.stem, "title": workflow.title, "description": workflow.raw.get("description", ""), "nodes": types}
