"""Brain files: listing them, reading their headers, and uploading new ones."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from aiohttp import BodyPartReader, web

from minibrains.brain_file import read_header
from minibrains.errors import BrainError
from minibrains.files import bundled_dir, find_inside, rename
from minibrains.graph.catalog import find_moved_brain
from minibrains.graph.describe import describe_brain, memory_sizes, users
from minibrains.graph.registry import Registry
from minibrains.known_digests import FileKey
from minibrains.tensor_histogram import tensor_histogram
from server.http.digests import Digests, file_key
from server.http.folders import BadName, DataFolders, files_below, inside
from server.http.http_errors import RequestError
from server.http.uploads import read_chunks, read_parts

UPLOAD_LIMIT: Final = 16 << 30
"""Size limit of an uploaded brain file in bytes."""
UPLOADING: Final = ".upload."
"""Prefix of the name of a file while it is being uploaded."""
_SUFFIX: Final = ".safetensors"
_HASHED_FOR_LINEAGE: Final = 64 << 20
"""Size of the largest file that is hashed to find out whether it is a parent."""
_MAX_PARENTS: Final = 100
"""Largest number of parents that are listed."""
_DIGEST_TIMEOUT: Final = 5.0
"""Seconds that an answer waits for the SHA-256 of a brain."""
T = TypeVar("T")


class BrainFiles:
    """Brains in the user's own models/ and in the shipped one; the user's own is searched first."""

    def __init__(
        self,
        folders: DataFolders,
        registry: Registry,
        digests: Digests,
        changed: Callable[[str], None],
    ) -> None:
        """Serve brains; `changed` is called with "brains" after each change."""
        self._models = folders.models
        self._workflows = folders.workflows
        self._registry = registry
        self._digests = digests
        self._changed = changed
        self._reading = asyncio.Lock()
        """Held while headers are read, so that any number of requests uses only one thread of the
        server."""
        self._naming = asyncio.Lock()
        self._headings: dict[Path, tuple[FileKey, dict[str, Any]]] = {}
        """Path -> key of the file, and the heading from its header at that time."""

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/models", self.folders)
        yield web.get("/models/{folder}", self.files)
        yield web.get("/brains", self.list)
        yield web.get("/brains/{file:.+}/histogram", self.histogram)
        yield web.get("/brains/{file:.+}", self.header)
        yield web.get("/view_metadata/{folder}", self.metadata)
        yield web.post("/upload/brain", self.upload)

    async def folders(self, request: web.Request) -> web.Response:
        """Answer GET /models: the folders that contain brains."""
        names = await self._read(self._names)
        folders = {name.partition("/")[0] for name in names if "/" in name}
        return web.json_response(sorted(folders))

    async def files(self, request: web.Request) -> web.Response:
        """Answer GET /models/{folder}: the brains in a folder."""
        folder = f"{request.match_info['folder']}/"
        names = await self._read(self._names)
        found = [name.removeprefix(folder) for name in names if name.startswith(folder)]
        if not found:
            raise RequestError(404, "not_found", f"there is no folder {folder[:-1]!r} of models")
        return web.json_response(found)

    async def list(self, request: web.Request) -> web.Response:
        """Answer GET /brains: all brains with title, kind and fault."""
        return web.json_response(await self._read(self._entries))

    async def by_kind(self) -> Mapping[str, Sequence[str]]:
        """Return the names of all brains that can be read, by kind."""
        files: dict[str, tuple[str, ...]] = {}
        for entry in await self._read(self._entries):
            kind = entry["kind"]
            if kind is not None:
                files[kind] = (*files.get(kind, ()), entry["file"])
        return files

    async def header(self, request: web.Request) -> web.Response:
        """Answer GET /brains/{file}: the header of a brain, and the node types that take it."""
        name = request.match_info["file"]
        path = self.find(name)
        digest = await self._digests.of(path, _DIGEST_TIMEOUT)

        def read() -> dict[str, Any]:
            header = read_header(path)
            description = {**describe_brain(header, digest), "file": name, "fault": None}
            try:
                description["used_by"] = list(users(header, self._registry))
                description["memory"] = memory_sizes(header, self._registry)
            except BrainError as error:
                description["fault"] = str(error)
            return description

        description = await self._read(read)
        description["lineage"] = await self._lineage(description["parents"])
        return web.json_response(description)

    async def histogram(self, request: web.Request) -> web.Response:
        """Answer GET /brains/{file}/histogram: how the numbers of a tensor are distributed."""
        path = self.find(request.match_info["file"])
        tensor = request.query.get("tensor", "")
        return web.json_response(await self._read(lambda: tensor_histogram(path, tensor)))

    async def _lineage(self, parents: Any) -> Sequence[dict[str, Any]]:
        """Return the parents of a brain, with the files and titles of those that are here.

        Large files are not hashed for this.
        """
        if not isinstance(parents, list) or not parents:
            return []
        files: dict[str, dict[str, Any]] = {}
        for entry in await self._read(self._entries):
            path = self.find(entry["file"])
            digest = entry["sha256"]
            if digest is None and not entry["fault"] and entry["size"] <= _HASHED_FOR_LINEAGE:
                digest = await self._digests.of(path, _DIGEST_TIMEOUT)
            if digest is not None:
                files.setdefault(digest, entry)
        lineage: list[dict[str, Any]] = []
        for parent in parents[:_MAX_PARENTS]:
            entry = files.get(str(parent), {})
            lineage.append(
                {"sha256": str(parent), "file": entry.get("file"), "title": entry.get("title")}
            )
        return lineage

    async def metadata(self, request: web.Request) -> web.Response:
        """Answer GET /view_metadata/{folder}: the metadata of a safetensors file,
        in ComfyUI's form.
        """
        path = self.find(f"{request.match_info['folder']}/{request.query.get('filename', '')}")
        header = await self._read(lambda: read_header(path))
        return web.json_response(dict(header.metadata))

    async def upload(self, request: web.Request) -> web.Response:
        """Answer POST /upload/brain: check a brain file and keep it."""
        async for part in read_parts(request):
            if part.name == "file":
                return web.json_response(await self._take(request, part))
        raise RequestError(400, "bad_request", 'there is no part "file" in the upload')

    async def _take(self, request: web.Request, part: BodyPartReader) -> dict[str, Any]:
        name = part.filename or ""
        if not name.endswith(_SUFFIX) or "/" in name:
            raise BadName(
                f"the file is called {name[:200]!r}; expected a plain name ending in {_SUFFIX}"
            )
        target = inside(self._models, name)
        self._models.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=UPLOADING, dir=self._models)
        try:
            with os.fdopen(handle, "wb") as file:
                size, whole = 0, hashlib.sha256()
                async for chunk in read_chunks(request, part):
                    size += len(chunk)
                    if size > UPLOAD_LIMIT:
                        raise RequestError(
                            413, "too_large", f"{name} is larger than {UPLOAD_LIMIT >> 30} GB"
                        )
                    await asyncio.to_thread(file.write, chunk)
                    await asyncio.to_thread(whole.update, chunk)
            await self._read(lambda: _check(Path(temporary), name))
            self._digests.keep(Path(temporary), whole.hexdigest())
            target = await self._name_upload(Path(temporary), target, whole.hexdigest())
        finally:
            Path(temporary).unlink(missing_ok=True)
        self._changed("brains")
        entry = await self._read(lambda: self._entry(target.name, target))
        return {**entry, "renamed_from": None if target.name == name else name}

    async def _name_upload(self, temporary: Path, target: Path, digest: str) -> Path:
        """Rename an upload to its name, or to another if a different file has it.

        An identical file is kept.
        """
        free, number, size = target, 0, temporary.stat().st_size
        while True:
            async with self._naming:  # otherwise two uploads could find the same name free
                taken = await asyncio.to_thread(self._called, free.name)
                if not taken:
                    await asyncio.to_thread(_name, temporary, free)
                    return free
            same = [
                file.stat().st_size == size and await self._digests.of(file) == digest
                for file in taken
            ]
            if free in taken and all(same):
                return free
            number += 1
            free = target.with_stem(f"{target.stem} ({number})")

    def _called(self, name: str) -> Sequence[Path]:
        """Return the files that a workflow may mean by this name: the one in models/,
        and those beside workflows.
        """
        target = self._models / name
        beside = [file for file in files_below(self._workflows, _SUFFIX) if file.name == name]
        if target.exists():
            return [target, *beside]
        return beside

    async def _read(self, work: Callable[[], T]) -> T:
        """Read headers on a thread, one request after another."""
        async with self._reading:
            return await asyncio.to_thread(work)

    def _entries(self) -> Sequence[dict[str, Any]]:
        names = self._names()
        listed = set(names.values())
        self._headings = {
            path: heading for path, heading in self._headings.items() if path in listed
        }
        return [self._entry(name, path) for name, path in names.items()]

    def _entry(self, name: str, path: Path) -> dict[str, Any]:
        key = file_key(path)
        heading = self._heading(path, key)
        size, digest = None, None
        if key is not None:
            size = key.size
        if not heading["fault"]:
            digest = self._digests.known(path)
        return {
            "file": name,
            "size": size,
            "shipped": path.is_relative_to(bundled_dir("models")),
            "sha256": digest,
            **heading,
        }

    def _heading(self, path: Path, key: FileKey | None) -> dict[str, Any]:
        """Return kind, title and fault.

        A header may be long, so it is read again only if the file has changed.
        """
        if key is None or not os.access(path, os.R_OK):
            return _read_heading(path)
        known_key, heading = self._headings.get(path, (None, {}))
        if key != known_key:
            heading = _read_heading(path)
            self._headings[path] = key, heading
        return heading

    def _names(self) -> dict[str, Path]:
        """Return all brains by their names in workflow files."""
        found: dict[str, Path] = {}
        for folder in (bundled_dir("models"), self._models):
            for file in files_below(folder, _SUFFIX):
                found[file.relative_to(folder).as_posix()] = file
        return dict(sorted(found.items()))

    def find(self, name: str) -> Path:
        """Return the file of a brain, by its name. Raises RequestError if there is none."""
        path = None
        if name.endswith(_SUFFIX):
            path = find_inside(name, [self._models, bundled_dir("models")]) or find_moved_brain(
                name
            )
        if path is None:
            raise RequestError(404, "not_found", f"there is no brain {name[:200]!r}")
        return path


def _read_heading(path: Path) -> dict[str, Any]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BrainError(f"{path}: this is not a file")
        header = read_header(path)
    except OSError as error:
        return _broken(f"{path}: the brain cannot be read: {error.strerror or error}")
    except BrainError as error:
        return _broken(str(error))
    return {"kind": header.kind, "title": header.metadata.get("title"), "fault": None}


def _broken(fault: str) -> dict[str, Any]:
    return {"kind": None, "title": None, "fault": fault}


def _check(temporary: Path, name: str) -> None:
    """Check an uploaded file. Raises BrainError, which calls it by this name."""
    try:
        read_header(temporary)
    except BrainError as error:
        raise BrainError(str(error).replace(str(temporary), name)) from None


def _name(temporary: Path, target: Path) -> None:
    """Rename a file once it is flushed to the disk."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.chmod(0o644)
    rename(temporary, target)
