"""Information about the machine and this server: ComfyUI's /system_stats and /features."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from aiohttp import web

import minibrains
from server.http.pictures import UPLOAD_LIMIT

_EMPTY: Final[dict[str, Any]] = {
    "/extensions": [],
    "/embeddings": [],
    "/i18n": {},
    "/settings": {},
    "/workflow_templates": {},
    "/global_subgraphs": {},
    "/experiment/models": [],
    "/users": {"storage": "server", "migrated": True},
}
"""Routes of ComfyUI -> the answer of a server that has none of these things."""


class System:
    """Facts about the machine that need no import and no measurement."""

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/system_stats", self.stats)
        yield web.get("/features", self.features)
        for path in _EMPTY:
            yield web.get(path, self.nothing)

    async def stats(self, request: web.Request) -> web.Response:
        """Answer GET /system_stats: versions and memory."""
        system = {
            "os": sys.platform,
            "ram_total": _memory("SC_PHYS_PAGES"),
            "ram_free": _memory("SC_AVPHYS_PAGES"),
            "minibrains_version": minibrains.__version__,
            "comfyui_version": None,
            "python_version": platform.python_version(),
            "pytorch_version": _version("torch"),
            "embedded_python": False,
            "cpu_count": os.cpu_count(),
            "argv": sys.argv[:1],  # the other arguments may contain the token
        }
        cpu = {
            "name": "cpu",
            "type": "cpu",
            "index": None,
            "vram_total": system["ram_total"],
            "vram_free": system["ram_free"],
            "torch_vram_total": system["ram_total"],
            "torch_vram_free": system["ram_free"],
        }
        return web.json_response({"system": system, "devices": [cpu]})

    async def features(self, request: web.Request) -> web.Response:
        """Answer GET /features: the features of this server."""
        return web.json_response(
            {"supports_preview_metadata": True, "max_upload_size": UPLOAD_LIMIT, "minibrains": 1}
        )

    async def nothing(self, request: web.Request) -> web.Response:
        """Answer what ComfyUI's own front end asks for when it starts, and we do not have."""
        return web.json_response(_EMPTY[request.path.removeprefix("/api")])


def _memory(pages: str) -> int | None:
    try:
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
