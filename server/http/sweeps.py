"""Sweeps: variants of a workflow play the same episodes in worker processes beside the runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from aiohttp import web

from minibrains.errors import MinibrainsError, describe_error, faults_of
from minibrains.evaluation.play import EpisodeRunner
from minibrains.evaluation.rows import Rows
from minibrains.evaluation.sweep import Axis, Sweep, write_result
from minibrains.process.local import ProcessLauncher
from minibrains.run.spec import RunSpec
from server.http.folders import DataFolders
from server.http.http_errors import RequestError, read_object, text
from server.http.node_types import NodeTypes
from server.http.worker_protocol import WorkerConfig

_MOST_EPISODES: Final = 10_000


@dataclass(eq=False)
class _Playing:
    """A sweep that is being played, or was."""

    sweep: Sweep
    rows: Sequence[Rows]
    state: Literal["running", "done", "failed", "stopped"] = "running"
    error: str | None = None
    files: Mapping[str, str] | None = None
    """The names of its files in the folder, once it is done."""

    def describe(self) -> dict[str, Any]:
        """Return it as an object of JSON, with the figures of the episodes so far."""
        result = self.sweep.result(self.rows)
        remaining = sum(map(len, self.sweep.missing(self.rows)))
        whole = len({id(rows) for rows in self.rows}) * self.sweep.episodes
        return {
            "state": self.state,
            "error": self.error,
            "done": whole - remaining,
            "total": whole,
            "files": self.files,
            **{key: result[key] for key in ("title", "protocol", "episodes", "axes", "variants")},
        }


class Sweeps:
    """Plays one sweep at a time, on a thread of its own."""

    def __init__(
        self,
        folders: DataFolders,
        types: NodeTypes,
        config: WorkerConfig,
        broadcast: Callable[[str, Any], None],
    ) -> None:
        """Play nothing yet; `broadcast` sends an event to all pages."""
        self._folder = folders.evaluations
        self._folders, self._types, self._config = folders, types, config
        self._broadcast = broadcast
        self._playing: _Playing | None = None
        self._games: EpisodeRunner | None = None

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/sweep", self.show)
        yield web.post("/sweep", self.start)
        yield web.post("/sweep/stop", self.stop)

    def close(self) -> None:
        """Begin no more episodes: the server ends."""
        if self._games is not None:
            self._games.stopping = True

    async def show(self, request: web.Request) -> web.Response:
        """Answer GET /sweep: how far the latest one is, or null."""
        if self._playing is None:
            return web.json_response(None)
        return web.json_response(await asyncio.to_thread(self._playing.describe))

    async def start(self, request: web.Request) -> web.Response:
        """Answer POST /sweep: check all variants, and begin to play them."""
        body = await read_object(request)
        if self._playing is not None and self._playing.state == "running":
            raise RequestError(409, "busy", "another sweep is being played; stop that, or wait")
        axes, states = _axes(body), text(body, "states")
        episodes, seed = body.get("episodes"), body.get("seed", 0)
        if type(episodes) is not int or not 1 <= episodes <= _MOST_EPISODES or states is None:
            message = (
                f"expected 'episodes', 1 to {_MOST_EPISODES}, and 'states', such as validation"
            )
            raise RequestError(400, "bad_request", message)
        if type(seed) is not int or seed < 0:
            raise RequestError(400, "bad_request", f"'seed' is {seed!r}; expected a whole number")
        path = self._folders.workflow(text(body, "name"))

        def prepare(workflow: Any) -> _Playing:
            spec = RunSpec(
                workflow,
                packs=self._config.files,
                installed_packs=self._config.packs,
                models=self._config.models,
            )
            sweep = Sweep(spec, self._types.registry, axes, states, episodes, seed)
            return _Playing(sweep, sweep.rows(self._folder))

        try:
            workflow = await self._types.parse(body.get("workflow"), path)
            playing = await asyncio.to_thread(prepare, workflow)
        except MinibrainsError as error:
            faults = faults_of(error)
            raise RequestError(400, "no_sweep", str(error), faults=faults) from None
        if self._playing is not None and self._playing.state == "running":
            raise RequestError(409, "busy", "another sweep was begun meanwhile")
        self._playing = playing
        self._begin(playing)
        return web.json_response(await asyncio.to_thread(playing.describe))

    async def stop(self, request: web.Request) -> web.Response:
        """Answer POST /sweep/stop: end it; the episodes that were played are kept."""
        if self._games is not None:
            self._games.stopping = True
        return await self.show(request)

    def _begin(self, playing: _Playing) -> None:
        loop = asyncio.get_running_loop()

        def tell(*row: Any) -> None:
            description = playing.describe()
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(self._broadcast, "sweep", description)

        games = self._games = EpisodeRunner(lambda: ProcessLauncher(1), lambda line: None, tell)

        def play() -> None:
            try:
                self._play(playing, games)
                playing.state = "stopped" if games.stopping else "done"
            except Exception as error:
                playing.state, playing.error = "failed", describe_error(error)
            tell()

        threading.Thread(target=play, name="plays a sweep", daemon=True).start()

    def _play(self, playing: _Playing, games: EpisodeRunner) -> None:
        sweep = playing.sweep
        missing = sweep.missing(playing.rows)
        for variant, numbers, rows in zip(sweep.variants, missing, playing.rows, strict=True):
            folder = self._folder / "nodes" / variant.player.title
            games.play(variant.player, numbers, rows, folder)
        if games.stopping:
            return
        paths = write_result(sweep, playing.rows, self._folder)["files"]
        playing.files = {kind: Path(path).name for kind, path in paths.items()}


def _axes(body: Mapping[str, Any]) -> list[Axis]:
    """Return what is varied. Raises RequestError."""
    axes: list[Axis] = []
    given = body.get("axes")
    if not isinstance(given, list):
        given = [given]
    for entry in given:
        match entry:
            case {"target": str(target), "values": [_, *_] as values}:
                axes.append(Axis(target, tuple(values)))
            case _:
                message = f"'axes' has {entry!r}; expected {{target, values}}"
                raise RequestError(400, "bad_request", message)
    return axes
