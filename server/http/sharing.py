"""Sharing: a workflow with its brains as one file, to download and to upload."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from aiohttp import BodyPartReader, web

from minibrains.files import is_plain_name
from minibrains.graph.catalog import brain_finder
from minibrains.graph.check import check
from minibrains.graph.workflow import Workflow
from minibrains.sharing.archive import SIZE_LIMIT
from minibrains.sharing.exporting import export_workflow
from minibrains.sharing.importing import Imported, import_workflow
from server.http.brain_files import UPLOADING
from server.http.folders import BadName, DataFolders
from server.http.history import History
from server.http.http_errors import RequestError, read_object, text
from server.http.node_types import NodeTypes
from server.http.uploads import read_chunks, read_parts

_CHUNK: Final = 1 << 20


class Sharing:
    """Exports the workflow of a page, and imports the file of somebody else."""

    def __init__(
        self,
        folders: DataFolders,
        types: NodeTypes,
        history: History,
        changed: Callable[[str], None],
    ) -> None:
        """Share workflows; `changed` is called with "workflows" and "brains" after an import."""
        self._folders = folders
        self._types = types
        self._history = history
        self._changed = changed

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.post("/export", self.export)
        yield web.post("/import", self.import_)

    async def export(self, request: web.Request) -> web.StreamResponse:
        """Answer POST /export: a workflow with its brains, and the tape of a run, as one file."""
        body = await read_object(request)
        tape = self._tape(text(body, "run"))
        path = self._folders.workflow(text(body, "name"))
        workflow = await self._types.parse(body.get("workflow"), path)
        await self._types.check_fully(workflow)
        with self._folder() as folder:
            path = Path(folder) / "export.zip"
            await asyncio.to_thread(self._export, workflow, path, tape)
            headers = {
                "Content-Type": "application/zip",
                "Content-Disposition": "attachment",
                "Content-Length": str(path.stat().st_size),
            }
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            with path.open("rb") as file:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    await response.write(chunk)
            await response.write_eof()
        return response

    async def import_(self, request: web.Request) -> web.Response:
        """Answer POST /import: take a workflow and its brains from an uploaded file."""
        async for part in read_parts(request):
            if part.name == "file":
                imported = await self._take(request, part)
                self._changed("workflows")
                self._changed("brains")
                return web.json_response(self._describe(imported))
        raise RequestError(400, "bad_request", 'there is no part "file" in the upload')

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix=UPLOADING, dir=self._folders.uploads)

    def _tape(self, run: str | None) -> Path | None:
        """Return the tape of a run that is over. Raises RequestError if it has none."""
        if run is None:
            return None
        tape = self._history.tape(run) if run in self._history else None
        if tape is None:
            raise RequestError(400, "no_tape", "there is no recorded run of this id")
        return tape

    def _export(self, workflow: Workflow, file: Path, tape: Path | None) -> None:
        find = brain_finder(workflow.path, models=self._folders.models)
        export_workflow(check(workflow, self._types.registry, find), find, file, tape=tape)

    async def _take(self, request: web.Request, part: BodyPartReader) -> Imported:
        name = part.filename or ""
        if not is_plain_name(name):
            raise BadName(f"the file is called {name[:200]!r}; expected a plain name")
        with self._folder() as folder:
            path = Path(folder) / name
            with path.open("wb") as file:
                async for chunk in read_chunks(request, part):
                    if file.tell() + len(chunk) > SIZE_LIMIT:
                        raise RequestError(
                            413, "too_large", f"{name} is larger than {SIZE_LIMIT >> 20} MiB"
                        )
                    await asyncio.to_thread(file.write, chunk)
            return await asyncio.to_thread(
                import_workflow, path, self._folders.root, self._types.registry
            )

    def _describe(self, imported: Imported) -> dict[str, object]:
        return {
            "workflow": imported.workflow.name,
            "brains": len(imported.brains),
            "tape": imported.tape and str(imported.tape),
            "remarks": imported.remarks,
        }
