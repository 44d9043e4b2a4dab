"""Brain files: what there is, what their headers say, and new ones by upload."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from aiohttp import BodyPartReader, web

from minibrains.brain_file import hash_file, read_header
from minibrains.errors import BrainError
from minibrains.files import find_inside, shipped
from minibrains.graph.facts import brain_facts, users
from minibrains.graph.registry import Registry
from server.http.answers import Refused
from server.http.folders import BadName, DataFolders, inside

UPLOAD_LIMIT: Final = 16 << 30
"""Bytes of a brain file that is uploaded."""
_SUFFIX: Final = ".safetensors"


class BrainFiles:
    """Brains in the person's own models/ and in the shipped one; a name is found in the own one first."""

    def __init__(self, folders: DataFolders, registry: Registry, changed: Callable[[str], None]) -> None:
        """`changed` is called with "brains" after each change."""
        self._models = folders.models
        self._registry = registry
        self._changed = changed

    def routes(self) -> Iterator[web.RouteDef]:
        yield web.get("/models", self.folders)
        yield web.get("/models/{folder}", self.files)
        yield web.get("/brains", self.list)
        yield web.get("/brains/{file:.+}", self.header)
        yield web.get("/view_metadata/{folder}", self.metadata)
        yield web.post("/upload/brain", self.upload)

    async def folders(self, request: web.Request) -> web.Response:
        return web.json_response(sorted({name.partition("/")[0] for name in self._names() if "/" in name}))

    async def files(self, request: web.Request) -> web.Response:
        folder = f"{request.match_info['folder']}/"
        found = [name.removeprefix(folder) for name in self._names() if name.startswith(folder)]
        if not found:
            raise Refused(404, "not_found", f"there is no folder {folder[:-1]!r} of models")
        return web.json_response(found)

    async def list(self, request: web.Request) -> web.Response:
        names = self._names()
        return web.json_response(await asyncio.to_thread(lambda: [_entry(name, path) for name, path in names.items()]))

    async def header(self, request: web.Request) -> web.Response:
        name = request.match_info["file"]
        path = self._find(name)

        def read() -> dict[str, Any]:
            header = read_header(path)
            try:
                return {**brain_facts(header), "file": name, "used_by": list(users(header, self._registry)), "fault": None}
            except BrainError as error:
                return {**brain_facts(header), "file": name, "fault": str(error)}

        return web.json_response(await asyncio.to_thread(read))

    async def metadata(self, request: web.Request) -> web.Response:
        path = self._find(f"{request.match_info['folder']}/{request.query.get('filename', '')}")
        header = await asyncio.to_thread(read_header, path)
        return web.json_response(dict(header.metadata))

    async def upload(self, request: web.Request) -> web.Response:
        if not request.content_type.startswith("multipart/"):
            raise Refused(400, "bad_request", 'expected multipart/form-data with a part "file"')
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name == "file":
                return web.json_response(await self._take(part))
        raise Refused(400, "bad_request", 'there is no part "file" in the upload')

    async def _take(self, part: BodyPartReader) -> dict[str, Any]:
        name = part.filename or ""
        if not name.endswith(_SUFFIX) or "/" in name:
            raise BadName(f"the file is called {name[:200]!r}; expected a plain name ending in {_SUFFIX}")
        place = inside(self._models, name)
        handle, temporary = tempfile.mkstemp(prefix=".upload.", dir=self._models)
        try:
            with os.fdopen(handle, "wb") as file:
                size = 0
                while chunk := await part.read_chunk(1 << 20):
                    size += len(chunk)
                    if size > UPLOAD_LIMIT:
                        raise Refused(413, "too_large", f"{name} is larger than {UPLOAD_LIMIT >> 30} GB")
                    await asyncio.to_thread(file.write, chunk)
            place = await asyncio.to_thread(_settle, Path(temporary), place)
        finally:
            Path(temporary).unlink(missing_ok=True)
        self._changed("brains")
        return await asyncio.to_thread(_entry, place.name, place)

    def _names(self) -> dict[str, Path]:
        """Every brain by its name as a workflow writes it."""
        found: dict[str, Path] = {}
        for folder in (shipped("models"), self._models):
            found.update({file.relative_to(folder).as_posix(): file for file in sorted(folder.glob(f"**/[!.]*{_SUFFIX}"))})
        return dict(sorted(found.items()))

    def _find(self, name: str) -> Path:
        path = find_inside(name, [self._models, shipped("models")]) if name.endswith(_SUFFIX) else None
        if path is None:
            raise Refused(404, "not_found", f"there is no brain {name[:200]!r}")
        return path


def _settle(temporary: Path, place: Path) -> Path:
    """Check what was uploaded and give it its name; another one if that is taken by another file. Raises BrainError."""
    try:
        read_header(temporary)
    except BrainError as error:
        raise BrainError(str(error).replace(str(temporary), place.name)) from None
    free, number = place, 0
    while free.exists():
        if hash_file(free) == hash_file(temporary):
            return free
        number += 1
        free = place.with_stem(f"{place.stem} ({number})")
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.chmod(0o644)
    temporary.replace(free)
    return free


def _entry(name: str, path: Path) -> dict[str, Any]:
    own = {"file": name, "size": path.stat().st_size, "shipped": path.is_relative_to(shipped("models"))}
    try:
        header = read_header(path)
    except BrainError as error:
        return {**own, "kind": None, "title": None, "sha256": None, "fault": str(error)}
    return {**own, "kind": header.kind, "title": header.metadata.get("title"), "sha256": hash_file(path), "fault": None}
