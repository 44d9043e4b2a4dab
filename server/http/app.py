"""The server as a whole: makes an aiohttp application from its settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from aiohttp import web

from minibrains.graph.registry import Registry
from minibrains.graph.workflow import SIZE_LIMIT
from server.http.brain_files import BrainFiles
from server.http.clients import Clients
from server.http.data_sets import DataSets
from server.http.digests import Digests
from server.http.editor_files import EditorFiles, built_editor
from server.http.folders import DataFolders
from server.http.games import GameRoutes
from server.http.guard import add_headers, guard, is_loopback
from server.http.history import History
from server.http.http_errors import REQUEST_TIMEOUT, answer_errors
from server.http.jobs import Jobs
from server.http.leftovers import sweep
from server.http.lock import FolderLock
from server.http.node_types import NodeTypes
from server.http.object_info import ObjectInfo
from server.http.part_files import PartFiles
from server.http.pictures import Pictures
from server.http.run_queue import RunQueue
from server.http.run_routes import RunRoutes
from server.http.sharing import Sharing
from server.http.sweeps import Sweeps
from server.http.system import System
from server.http.worker_protocol import WorkerConfig
from server.http.workflow_files import WorkflowFiles

RUNS: Final = web.AppKey("runs", RunQueue)
LOCK: Final = web.AppKey("lock", FolderLock)


class Part(Protocol):
    """A group of related routes."""

    def routes(self) -> Iterable[web.RouteDef]:
        """Yield the routes."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a server."""

    data: Path
    host: str = "127.0.0.1"
    token: str | None = None
    """The token that every client must send; None: none is needed."""
    parallel: int = 2
    """Largest number of simultaneous runs."""
    packs: bool = True
    """True to load the node packs of installed packages."""
    files: tuple[Path, ...] = ()
    """Python files with nodes; each becomes a pack."""
    editor: Path | None = None
    """The folder of the built editor; None: the default one."""
    request_timeout: float = 60.0
    """Seconds that a client gets to send a request."""


def make_app(settings: ServiceSettings, registry: Registry) -> web.Application:
    """Make the application. Its workers start and end with it.

    Raises MinibrainsError if the folders cannot be made, or if another server uses them.
    """
    folders = DataFolders(settings.data)
    lock = FolderLock(folders.root)
    sweep(folders)
    history, clients = History(folders), Clients()
    digests = Digests(lambda: clients.files_changed("brains"))
    types = NodeTypes(registry, folders, digests)
    config = WorkerConfig(folders.models, settings.packs, settings.files)
    runs = clients.runs = RunQueue(folders, history, config, settings.parallel, clients.notify)
    brains = BrainFiles(folders, registry, digests, clients.files_changed)
    data_sets = DataSets(folders.models, brains, clients.files_changed, clients.broadcast)
    sweeps = Sweeps(folders, types, config, clients.broadcast)
    parts: list[Part] = [
        types,
        ObjectInfo(registry, brains),
        System(),
        WorkflowFiles(folders, clients.files_changed),
        PartFiles(folders, clients.files_changed),
        brains,
        data_sets,
        GameRoutes(),
        Sharing(folders, types, history, clients.files_changed),
        Pictures(folders),
        RunRoutes(runs, history, types, folders),
        Jobs(runs, history),
        sweeps,
        clients,
    ]
    middlewares = [guard(is_loopback(settings.host), settings.token), answer_errors]
    # larger than the largest workflow, for the rest of the request
    app = web.Application(middlewares=middlewares, client_max_size=SIZE_LIMIT + (1 << 20))
    app[RUNS] = runs
    app[LOCK] = lock
    app[REQUEST_TIMEOUT] = settings.request_timeout
    for part in parts:
        app.add_routes(_twice(part.routes()))
    app.add_routes(EditorFiles(settings.editor or built_editor()).routes())
    app.on_response_prepare.append(add_headers)

    async def life(app: web.Application) -> AsyncIterator[None]:
        await runs.start()
        yield
        data_sets.close()
        sweeps.close()
        await runs.close()
        lock.release()

    async def say_goodbye(app: web.Application) -> None:
        await clients.close()

    app.on_shutdown.append(say_goodbye)
    app.cleanup_ctx.append(life)
    return app


def make_runner(app: web.Application) -> web.AppRunner:
    """Return the runner that listens for the application.

    It also ends requests that are never completed.
    """
    return web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        shutdown_timeout=2.0,
        keepalive_timeout=app[REQUEST_TIMEOUT],
    )


def _twice(routes: Iterable[web.RouteDef]) -> list[web.RouteDef]:
    """Return every route as both /x, for scripts, and /api/x, for ComfyUI's pages."""
    found = list(routes)
    return found + [
        web.RouteDef(route.method, f"/api{route.path}", route.handler, route.kwargs)
        for route in found
    ]
