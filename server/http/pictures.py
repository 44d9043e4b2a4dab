"""Pictures and clips: files that runs have written, and uploads."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aiohttp import web

from minibrains.files import write_atomic
from server.http.folders import BadName, DataFolders, inside
from server.http.http_errors import RequestError
from server.http.uploads import read_parts, read_whole

UPLOAD_LIMIT: Final = 100 << 20
"""Size limit of an uploaded picture in bytes."""
_SHOWN: Final = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".mp4": "video/mp4", ".json": "application/json", ".jsonl": "text/plain",
    ".csv": "text/plain", ".txt": "text/plain",
}  # fmt: skip
"""Types that a browser may show; all others are only offered for download."""
_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class Pictures:
    """ComfyUI's /view and /upload/image: `output` is runs/, `input` is uploads/."""

    def __init__(self, folders: DataFolders) -> None:
        self._folders = {
            "output": folders.runs,
            "input": folders.uploads,
            "temp": folders.runs,
            "evaluations": folders.evaluations,
        }

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/view", self.view)
        yield web.post("/upload/image", self.upload)

    async def view(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /view: a picture, clip or other file."""
        query = request.query
        folder = self._folders.get(query.get("type", "output"))
        if folder is None:
            raise RequestError(
                400, "bad_request", "the type is not known; expected output, input or temp"
            )
        path = inside(
            folder, "/".join(filter(None, [query.get("subfolder"), query.get("filename", "")]))
        )
        if not path.is_file():
            raise RequestError(404, "not_found", f"there is no file {query.get('filename')!r}")
        type_ = _SHOWN.get(path.suffix.lower())
        headers = {"Content-Type": type_ or "application/octet-stream"}
        if type_ is None:
            headers["Content-Disposition"] = "attachment"
        return web.FileResponse(path, headers=headers)

    async def upload(self, request: web.Request) -> web.Response:
        """Answer POST /upload/image: keep a picture."""
        data: bytes | None = None
        fields: dict[str, str] = {}
        async for part in read_parts(request):
            if part.name == "image":
                fields["name"] = part.filename or ""
                data = await read_whole(request, part, UPLOAD_LIMIT)
            elif part.name in ("subfolder", "overwrite"):
                text = await read_whole(request, part, 1000)
                fields[part.name] = text.decode(errors="replace")
        if data is None:
            raise RequestError(400, "bad_request", 'there is no part "image" in the upload')
        name, subfolder = fields["name"], fields.get("subfolder", "")
        if not name.lower().endswith(_PICTURES) or "/" in name:
            raise BadName(
                f"the file is called {name[:200]!r}; expected a plain name ending in one "
                f"of {', '.join(_PICTURES)}"
            )
        target = inside(self._folders["input"], "/".join(filter(None, [subfolder, name])))
        target = await asyncio.to_thread(
            _write, target, data, fields.get("overwrite", "") in ("true", "1")
        )
        return web.json_response({"name": target.name, "subfolder": subfolder, "type": "input"})


def _write(target: Path, data: bytes, overwrite: bool) -> Path:
    free, number = target, 0
    while free.exists() and not overwrite:
        if hashlib.sha256(free.read_bytes()).digest() == hashlib.sha256(data).digest():
            return free
        number += 1
        free = target.with_stem(f"{target.stem} ({number})")
    write_atomic(free, data)
    return free
