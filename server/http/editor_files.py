"""The files of the built editor."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from minibrains.files import find_inside

_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Minibrains</title>
<p>The server is running, but its editor is not built.
Build it with <code>npm ci &amp;&amp; npm run build</code> in <code>web/</code>,
or install Minibrains from a wheel, and load this page again.</p></html>
"""
_TYPES = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html",
    ".wasm": "application/wasm",
}  # fmt: skip
"""Content types that browsers require, regardless of this system's own table."""


def built_editor() -> Path:
    """Return the folder of the built editor: web/dist in a checkout, else the copy in the wheel."""
    package = Path(__file__).resolve().parents[2]
    if (package / "pyproject.toml").exists():
        return package / "web" / "dist"
    return package / "minibrains" / "shipped" / "web"


class EditorFiles:
    """Serves every path under / that is not a route."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes, which must come after all others."""
        yield web.get("/", self.page)
        yield web.get("/{file:.+}", self.file)

    async def page(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /: the page of the editor, or a hint if it is not built."""
        if not (self._folder / "index.html").is_file():
            return web.Response(text=_NOT_BUILT, content_type="text/html")
        return web.FileResponse(self._folder / "index.html", headers={"Cache-Control": "no-cache"})

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /{file}: a file of the editor."""
        path = find_inside(request.match_info["file"], [self._folder])
        if path is None:
            raise web.HTTPNotFound
        type_ = (
            _TYPES.get(path.suffix)
            or mimetypes.guess_type(path.name)[0]
            or "application/octet-stream"
        )
        # the names of built files contain a hash of their content
        cache = "max-age=31536000, immutable" if path.parent.name == "assets" else "no-cache"
        return web.FileResponse(path, headers={"Content-Type": type_, "Cache-Control": cache})
