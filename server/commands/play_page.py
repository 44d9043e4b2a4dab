"""A page on which a person plays a run of the command line: its picture, and the keys of the
browser for its pads.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from aiohttp import WSMsgType, web

from minibrains.console import Console
from minibrains.errors import MinibrainsError, sentence
from minibrains.hooks import Hook, Progress
from minibrains.node import Register
from minibrains.run.run import Run
from server.commands.run_table import describe
from server.http.app import make_runner
from server.http.editor_files import EditorFiles, built_editor
from server.http.guard import add_headers, guard
from server.http.http_errors import REQUEST_TIMEOUT, answer_errors
from server.http.previews import Encoder
from server.http.recent_pictures import RecentPictures
from server.http.run_controller import RunController
from server.http.worker_protocol import Watch

_HOST: Final = "127.0.0.1"
_PAGE: Final = "play.html"
_EVERY: Final = 0.25
"""Seconds after which a page is told of what has changed, if no picture comes."""
_MESSAGE_LIMIT: Final = 1 << 16


class PlayPage(Hook):
    """Serves the page on a thread of its own, on a free port of this machine.

    The run waits for the page, and whenever it is closed. If two pages are open, the one that was
    opened last plays.
    """

    def __init__(self) -> None:
        self._wake = threading.Event()
        self.controller = RunController(self._wake)
        """Must be a hook of the run as well."""
        self.controller.paused = True
        self._ready = threading.Event()
        self._page: web.WebSocketResponse | None = None
        self._pictures = RecentPictures()
        self._encoder = Encoder()
        self._state: dict[str, Any] = {"episode": 0, "score": None, "over": None}
        self._failure: OSError | None = None

    def before_open(self, run: Run) -> None:
        self._run = run
        if not (built_editor() / _PAGE).is_file():
            raise MinibrainsError(
                "--person: its page is not built; build it with `npm ci && npm run build` in web/, "
                "or install Minibrains from a wheel"
            )
        self._console = next(
            (name for name, node in run.graph.nodes.items() if issubclass(node.cls, Console)), None
        )
        if self._console is not None:
            self.controller.watch = Watch(previews=(self._console,))
        thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        thread.start()
        self._thread = thread
        self._ready.wait()
        if self._failure is not None:
            raise MinibrainsError(f"the page cannot be served: {self._failure}")
        run.say(f"play at http://{_HOST}:{self._port}/{_PAGE}; the game waits for that page")

    def on_progress(self, run: Run, progress: Progress) -> None:
        self._state |= {"episode": progress.episode, "score": progress.score}

    def on_summary(self, run: Run) -> None:
        """Show the results on the page, and end its server."""
        error = "" if run.error is None else sentence(run.error)
        self._state["over"] = error or describe(run.summary)
        if not self._ready.is_set() or self._failure is not None:
            return
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    # -- on the thread of the server ---------------------------------------------------------------

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(middlewares=[guard(True, None), answer_errors])
        app[REQUEST_TIMEOUT] = 60.0
        app.add_routes([web.get("/play", self._connect)])
        app.add_routes(EditorFiles(built_editor()).routes())
        app.on_response_prepare.append(add_headers)
        runner = make_runner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, _HOST, 0).start()
            self._port = runner.addresses[0][1]
        except OSError as error:
            self._failure = error
        self._ready.set()
        if self._failure is None:
            await self._over.wait()
            if self._page is not None:
                with suppress(ConnectionError):  # it may be closed just now
                    await self._page.send_json(self._describe())
        await runner.cleanup()

    async def _connect(self, request: web.Request) -> web.WebSocketResponse:
        """Answer GET /play: the connection of the page."""
        socket = web.WebSocketResponse(heartbeat=30.0, max_msg_size=_MESSAGE_LIMIT)
        await socket.prepare(request)
        before, self._page = self._page, socket
        if before is not None:
            await before.close(message=b"another page took over")
        self._want_picture()
        sending = asyncio.create_task(self._send(socket))
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT and self._page is socket:
                    await self._handle(socket, message.data)
        finally:
            sending.cancel()
            if self._page is socket:
                self._page = None
                self._hold(None)
                self.controller.pause(True)
        return socket

    async def _send(self, socket: web.WebSocketResponse) -> None:
        """Send each new picture, and what else has changed, until the page is closed."""
        told = None
        number = 0
        with suppress(ConnectionError):
            while True:
                await asyncio.to_thread(self._wake.wait, _EVERY)
                self._wake.clear()
                description = self._describe()
                if description != told:
                    told = description
                    await socket.send_json(told)
                for node in list(self.controller.pictures):
                    picture, tick, when = self.controller.pictures.pop(node)
                    encoded = await asyncio.to_thread(self._encoder.encode, picture)
                    self._pictures.add(when, encoded)
                    number += 1
                    await socket.send_bytes(encoded.message({"seq": number, "tick": tick}))

    def _describe(self) -> dict[str, Any]:
        """Return the message about the run."""
        run, recorder = self._run, self._run.recorder
        return {
            "title": run.workflow.title,
            "keys": self._keys(),
            "episodes": run.settings.episodes,
            "paused": self.controller.paused,
            "recording": recorder is not None and recorder.is_recording,
            "folder": str(run.folder.path) if run.folder is not None else None,
            **self._state,
        }

    async def _handle(self, socket: web.WebSocketResponse, text: str) -> None:
        """Carry out what the page asks for."""
        try:
            message = json.loads(text)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        do = message.get("do")
        if do == "hold":
            self._hold(message.get("keys"))
        elif do == "shown":
            self._want_picture()
        elif do == "pause":
            self.controller.pause(message.get("on") is True)
        elif do == "stop":
            self._run.stopping = True
            self.controller.wake()
        elif do in ("record", "clip"):
            keep = self._record if do == "record" else self._keep_clip
            try:
                said = await asyncio.to_thread(keep)
            except MinibrainsError as error:
                said = sentence(error)
            await socket.send_json({"said": said})

    def _pads(self) -> Iterable[Register]:
        nodes = self._run.engine.nodes.values()
        return [node for node in nodes if isinstance(node, Register) and node.external]

    def _keys(self) -> Mapping[str, str]:
        """Return the button that each key presses."""
        keys: dict[str, str] = {}
        for pad in self._pads():
            keys |= getattr(pad, "keys", {})
        return keys

    def _hold(self, keys: Any) -> None:
        for pad in self._pads():
            pad.receive(keys)

    def _want_picture(self) -> None:
        if self._console is not None:
            self.controller.requested_pictures.add(self._console)

    def _record(self) -> str:
        """Begin a tape, or end the one that is written; return a sentence about it."""
        recorder, folder = self._run.recorder, self._run.folder
        if recorder is None or folder is None:
            raise MinibrainsError("the run has no folder yet; record it once it ticks")
        if recorder.is_recording:
            self.controller.call(recorder.stop_recording).result()
            return f"The tape is in {folder.path}, and the game goes on."
        self.controller.call(lambda: recorder.start_recording(folder.path)).result()
        return "Recording, from a few seconds ago on."

    def _keep_clip(self) -> str:
        """Write a clip of the last seconds; return a sentence about it."""
        run = self._run
        if run.folder is None:
            raise MinibrainsError("the run has no folder yet; keep a clip once it ticks")
        workflow = run.workflow.to_json()
        path, seconds = self._pictures.keep_clip(
            run.folder.path, run.engine.frame_rate or 60, workflow
        )
        return f"The last {seconds:.0f} seconds are in {path}."
