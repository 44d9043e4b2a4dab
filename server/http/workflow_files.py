"""The user's workflow files, and the shipped ones."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from minibrains.errors import MinibrainsError
from minibrains.files import bundled_dir, rename, write_atomic
from minibrains.graph.workflow import dump_json, load_workflow, parse_workflow
from minibrains.sharing.archive import PNG
from minibrains.values import parse_json
from server.http.folders import BadName, DataFolders, files_below, inside
from server.http.http_errors import RequestError, read_body

_ROOT: Final = "workflows/"
_PICTURE: Final = ".png"
_PICTURE_LIMIT: Final = 4 << 20
"""Largest size of a workflow's picture in bytes."""


class WorkflowFiles:
    """ComfyUI's /userdata, for `workflows/*.json`, and the picture beside each, `*.png`.

    A save that would overwrite a newer one is refused.
    """

    def __init__(self, folders: DataFolders, changed: Callable[[str], None]) -> None:
        """Serve workflows; `changed` is called with "workflows" after each change."""
        self._folders = folders
        self._changed = changed
        self._writing = asyncio.Lock()

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/userdata", self.list)
        yield web.get("/userdata/{file}", self.read)
        yield web.post("/userdata/{file}", self.save)
        yield web.delete("/userdata/{file}", self.delete)
        yield web.post("/userdata/{file}/move/{to}", self.move)
        yield web.get("/templates", self.templates)
        yield web.get("/templates/{name}", self.template)

    async def list(self, request: web.Request) -> web.Response:
        """Answer GET /userdata: the workflows in a folder."""
        folder = request.query.get("dir")
        if folder is None:
            raise RequestError(400, "bad_request", "?dir= is missing; expected dir=workflows")
        root = self._folders.workflows
        if folder != "workflows":
            root = inside(self._folders.root, folder)
        if not root.is_relative_to(self._folders.workflows) or not root.is_dir():
            raise RequestError(
                404, "not_found", f"there is no folder {folder!r}; workflows are in 'workflows'"
            )
        full, recurse = _is_true(request, "full_info"), _is_true(request, "recurse")
        listed = await asyncio.to_thread(_list, root, recurse)
        if full:
            return web.json_response(listed)
        return web.json_response([about["path"] for about in listed])

    async def read(self, request: web.Request) -> web.Response:
        """Answer GET /userdata/{file}: a workflow, with an ETag, or its picture."""
        path = self._existing(request.match_info["file"])
        data = await asyncio.to_thread(path.read_bytes)
        if path.suffix == _PICTURE:
            return web.Response(body=data, content_type="image/png")
        return web.Response(
            body=data, content_type="application/json", headers={"ETag": _etag(data)}
        )

    async def save(self, request: web.Request) -> web.Response:
        """Answer POST /userdata/{file}: write a workflow; with If-Match,
        only if it has not changed. Or write the picture of one.
        """
        path = self._path(request.match_info["file"])
        if path.suffix == _PICTURE:
            return await self._save_picture(request, path)
        text = await asyncio.to_thread(_formatted, await read_body(request))
        async with self._writing:
            await asyncio.to_thread(_refuse_stale, request, path)
            await asyncio.to_thread(write_atomic, path, text)
        self._changed("workflows")
        return await self._saved(request, path)

    async def delete(self, request: web.Request) -> web.Response:
        """Answer DELETE /userdata/{file}: move a workflow and its picture to the trash."""
        async with self._writing:
            path = self._existing(request.match_info["file"])
            await asyncio.to_thread(_refuse_stale, request, path)
            await asyncio.to_thread(self._throw_away, path)
        self._changed("workflows")
        return web.Response(status=204)

    async def move(self, request: web.Request) -> web.Response:
        """Answer POST /userdata/{file}/move/{to}: rename a workflow and its picture."""
        async with self._writing:
            path, to = (
                self._existing(request.match_info["file"]),
                self._path(request.match_info["to"]),
            )
            if path.suffix != to.suffix:
                raise BadName(f"{to.name[:200]!r} cannot be used; expected *{path.suffix}")
            if to.exists() and path != to and not _is_true(request, "overwrite"):
                raise RequestError(
                    409, "exists", f"there is a workflow {request.match_info['to']!r} already"
                )
            await asyncio.to_thread(self._rename, path, to)
        self._changed("workflows")
        return await self._saved(request, to)

    async def templates(self, request: web.Request) -> web.Response:
        """Answer GET /templates: descriptions of the shipped workflows."""
        return web.json_response(await asyncio.to_thread(_read_templates))

    async def template(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /templates/{name}: a shipped workflow."""
        name = request.match_info["name"].removesuffix(".json")
        known = {file.stem: file for file in _templates()}
        if name not in known:
            message = (
                f"there is no shipped workflow {name!r}; the shipped ones are {', '.join(known)}"
            )
            raise RequestError(404, "not_found", message)
        return web.FileResponse(known[name], headers={"Content-Type": "application/json"})

    def _rename(self, path: Path, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        if to.exists() and path != to:
            self._throw_away(to)
        rename(path, to)
        picture = path.with_suffix(_PICTURE)
        if path.suffix != _PICTURE and picture.is_file():
            rename(picture, to.with_suffix(_PICTURE))

    def _throw_away(self, path: Path) -> None:
        pictures = {path.with_suffix(_PICTURE)} - {path}
        self._folders.throw_away(path, *(picture for picture in pictures if picture.is_file()))

    async def _save_picture(self, request: web.Request, path: Path) -> web.Response:
        data = await read_body(request)
        if len(data) > _PICTURE_LIMIT:
            raise RequestError(
                413,
                "too_large",
                f"the picture has more than {_PICTURE_LIMIT >> 20} MiB",
            )
        if not data.startswith(PNG):
            raise RequestError(400, "no_png", "the picture of a workflow is not a PNG")
        async with self._writing:
            if not path.with_suffix(".json").is_file():
                raise RequestError(404, "not_found", f"there is no workflow {path.stem!r}")
            await asyncio.to_thread(write_atomic, path, data)
        self._changed("workflows")
        return await self._saved(request, path)

    def _path(self, name: str) -> Path:
        """Return the path for a file of this name, whether it exists or not. Raises BadName."""
        if not name.startswith(_ROOT) or not name.endswith((".json", _PICTURE)):
            raise BadName(
                f"the name {name[:200]!r} cannot be used; workflows are called workflows/….json, "
                f"and their pictures workflows/…{_PICTURE}"
            )
        return inside(self._folders.workflows, name.removeprefix(_ROOT))

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise RequestError(404, "not_found", f"there is no workflow {name!r}")
        return path

    async def _saved(self, request: web.Request, path: Path) -> web.Response:
        about = await asyncio.to_thread(_about, path, self._folders.root)
        answer = about if _is_true(request, "full_info") else about["path"]
        return web.json_response(answer, headers={"ETag": f'"{about["sha256"]}"'})


def _formatted(body: bytes) -> str:
    """Return a workflow in the layout of our files. Raises RequestError."""
    try:
        data = parse_json(body)
        parse_workflow(data)  # a workflow with faults may be saved, as work in progress
    except ValueError as error:
        raise RequestError(400, "no_json", f"the workflow is not JSON: {error}") from None
    return dump_json(data)


def _refuse_stale(request: web.Request, path: Path) -> None:
    """Refuse if the file is not the version that the client has seen last,
    which If-Match names if it is given.
    """
    now = None
    if path.is_file():
        now = path.read_bytes()
    seen = request.headers.get("If-Match")
    if now is not None and (
        request.query.get("overwrite") == "false" or request.headers.get("If-None-Match") == "*"
    ):
        raise RequestError(
            409, "exists", f"there is a workflow {request.match_info['file']!r} already"
        )
    if seen is None or (now is not None and seen == _etag(now)):
        return
    if now is None:
        raise RequestError(
            412,
            "stale",
            "the workflow was deleted or renamed meanwhile",
            sha256=None,
            workflow=None,
        )
    sha256 = hashlib.sha256(now).hexdigest()
    raise RequestError(
        412,
        "stale",
        "the workflow was saved by somebody else meanwhile",
        sha256=sha256,
        workflow=_lenient(now),
    )


def _lenient(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        return None


def _etag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()}"'


def _is_true(request: web.Request, key: str) -> bool:
    return request.query.get(key, "").lower() in ("true", "1")


def _list(folder: Path, recurse: bool) -> list[dict[str, Any]]:
    """Describe the workflows in a folder, without broken links and whatever is not a file."""
    listed = []
    for file in files_below(folder, ".json"):
        inner = file.relative_to(folder).parts[:-1]
        if any(part.startswith(".") for part in inner) or (inner and not recurse):
            continue
        with suppress(OSError):
            listed.append(_about(file, folder))
    return listed


def _about(file: Path, folder: Path) -> dict[str, Any]:
    """Describe a file. Raises OSError if it does not exist."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(f"{file} is not a file")
    return {
        "path": file.relative_to(folder).as_posix(),
        "size": status.st_size,
        "modified": int(status.st_mtime * 1000),
        "created": int(status.st_ctime * 1000),
        "sha256": _sha256(file),
        "picture": file.with_suffix(_PICTURE).is_file(),
    }


def _sha256(file: Path) -> str | None:
    """Return the digest of a file; None if it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def _templates() -> list[Path]:
    return sorted(bundled_dir("workflows").glob("*.json"))


def _read_templates() -> list[dict[str, Any]]:
    return [_template(file) for file in _templates()]


def _template(file: Path) -> dict[str, Any]:
    try:
        workflow = load_workflow(file)
    except MinibrainsError as error:
        return {"name": file.stem, "title": file.stem, "description": str(error), "nodes": []}
    types = sorted({node.type for node in workflow.nodes.values()})
    return {
        "name": file.stem,
        "title": workflow.title,
        "description": workflow.raw.get("description", ""),
        "nodes": types,
    }
