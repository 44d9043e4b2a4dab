"""The user's parts: subgraphs that were saved to be used in other workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

from minibrains.errors import MinibrainsError, WorkflowError
from minibrains.files import write_atomic
from minibrains.graph.parts import check_part, make_part
from minibrains.graph.workflow import SIZE_LIMIT, dump_json
from minibrains.values import parse_json
from server.http.folders import DataFolders, files_below, inside
from server.http.http_errors import RequestError, read_object, text


class PartFiles:
    """The files `parts/*.json`. A part that is saved again gets the next version."""

    def __init__(self, folders: DataFolders, changed: Callable[[str], None]) -> None:
        """Serve parts; `changed` is called with "parts" after each change."""
        self._folders = folders
        self._changed = changed
        self._writing = asyncio.Lock()

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/parts", self.parts)
        yield web.post("/parts/{name:.+}", self.save)
        yield web.delete("/parts/{name:.+}", self.delete)

    async def parts(self, request: web.Request) -> web.Response:
        """Answer GET /parts: all parts with their subgraphs; of one that cannot be read, why."""
        return web.json_response(await asyncio.to_thread(self._read_all))

    async def save(self, request: web.Request) -> web.Response:
        """Answer POST /parts/{name}: write a part, in its next version."""
        path = self._path(request)
        body = await read_object(request)
        name, defs = text(body, "part"), body.get("defs")
        if name is None or not isinstance(defs, dict):
            raise RequestError(400, "bad_request", 'expected {"part": NAME, "defs": {NAME: …}}')
        async with self._writing:
            part = await asyncio.to_thread(_write, path, name, defs)
        self._changed("parts")
        return web.json_response({"name": request.match_info["name"], **part})

    async def delete(self, request: web.Request) -> web.Response:
        """Answer DELETE /parts/{name}: move a part to the trash."""
        path = self._path(request)
        async with self._writing:
            if not path.is_file():
                raise RequestError(404, "not_found", f"there is no part {path.stem!r}")
            await asyncio.to_thread(self._folders.throw_away, path)
        self._changed("parts")
        return web.Response(status=204)

    def _path(self, request: web.Request) -> Path:
        return inside(self._folders.parts, f"{request.match_info['name']}.json")

    def _read_all(self) -> list[dict[str, Any]]:
        parts = []
        for file in files_below(self._folders.parts, ".json"):
            name = file.relative_to(self._folders.parts).with_suffix("").as_posix()
            try:
                parts.append({"name": name, "error": None, **_read(file)})
            except MinibrainsError as error:
                parts.append({"name": name, "error": str(error)})
        return parts


def _read(file: Path) -> dict[str, Any]:
    """Return the contents of a part's file. Raises MinibrainsError, with one sentence."""
    where = f"the part {file.name}"
    try:
        if file.stat().st_size > SIZE_LIMIT:
            raise MinibrainsError(f"{where} is larger than {SIZE_LIMIT >> 20} MB")
        data = parse_json(file.read_bytes())
    except OSError as error:
        raise MinibrainsError(f"{where} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise MinibrainsError(f"{where} is not JSON: {error}") from None
    try:
        check_part(data, where)
    except WorkflowError as error:
        raise MinibrainsError(f"{where} cannot be used: {error.faults[0]}") from None
    part: dict[str, Any] = data
    return part


def _write(path: Path, name: str, defs: dict[str, Any]) -> dict[str, Any]:
    """Write a part, in the version after that of the file; return its contents.

    Raises RequestError.
    """
    version = 1
    if path.is_file():
        try:
            before = _read(path)
        except MinibrainsError as error:
            message = f"{error}. Save under another name, or remove that file"
            raise RequestError(409, "exists", message) from None
        version = before["defs"][before["part"]].get("version", 1) + 1
    try:
        part = make_part(name, defs, version)
    except WorkflowError as error:
        message = f"the part cannot be saved: {error.faults[0]}"
        raise RequestError(400, "invalid_part", message) from None
    write_atomic(path, dump_json(part))
    return part
