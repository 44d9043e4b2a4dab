"""The connected pages, one websocket each. A slow page is sent less, and nothing waits for it."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from aiohttp import WSMsgType, web

from minibrains.values import parse_json
from server.http.comfyui_events import picture_message, progress_state
from server.http.history import picture_outputs
from server.http.input_ownership import InputOwnership
from server.http.run_queue import RunQueue, ServerRun
from server.http.worker_protocol import Watch

_EVERY: Final = 0.05
"""Seconds between two messages with changes."""
_EVERY_STOCK: Final = 0.2
"""The same for a client of ComfyUI, which is sent the progress of all nodes each time; it is also
the time after which a picture that it was sent counts as acknowledged."""
_MAX_EVENTS: Final = 2000
"""Number of queued events from which a page is cut off; when it reconnects, it gets the whole
state."""
_MAX_CHARACTERS: Final = 64 << 20
"""The same limit as a number of characters, for few but long events."""
_MESSAGE_LIMIT: Final = 1 << 20
_PAUSE: Final = 0.02
"""Seconds between two checks of a worker that does not read."""
_REWIND_KEPT: Final = 30.0
"""Seconds after the end of a connection until rewound runs that no page shows are ended."""
_WATCHED: Final = 1000
"""Largest number of nodes that a page may watch."""
_WATCHED_IN_FULL: Final = 10
"""Largest number of nodes whose inputs and outputs a page may watch in full."""
_UNDERWAY: Final = 2
"""Largest number of unacknowledged pictures of a node: with one, a round trip longer than a tick
would drop every other."""


class Client:
    """One page. Messages are made only when they can be sent, so they are always up to date."""

    def __init__(self, sid: str, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.sid, self.socket = sid, socket
        self._request = request
        self.is_stock = True
        """True until it sends `watch`, which clients of ComfyUI do not know."""
        self.takes_metadata = False
        """True if it knows ComfyUI's PREVIEW_IMAGE_WITH_METADATA."""
        self.executing: str | None = None
        """The node that it was last told of, as the one whose pictures follow."""
        self.prompt_id: str | None = None
        self.watch = Watch()
        self.underway = Counter[str]()
        """Node -> number of pictures that were sent and are not acknowledged yet."""
        self.shown: dict[str, int] = {}
        """Node -> number of the last picture that was sent."""
        self.seen: dict[str, int] = {}
        """Run -> the last version of its state that was sent."""
        self.seen_inside = 0
        """The same for nodes and values of the watched run."""
        self._events: deque[str] = deque()
        self._characters = 0
        """Total length of `_events`."""
        self._gone = False
        self.due = 0.0
        self.wake = asyncio.Event()

    def queue(self, type_: str, data: Any) -> None:
        """Queue an event, which must arrive, and in order."""
        self.queue_event(_event(type_, data))

    def queue_event(self, event: str) -> None:
        """Queue a complete message, or cut the page off if too much is queued already.

        This is not checked where messages are sent, because the sending task of a page that does
        not read is blocked.
        """
        if self._gone:
            return
        if len(self._events) >= _MAX_EVENTS or self._characters > _MAX_CHARACTERS:
            self.cut_off()
            return
        self._events.append(event)
        self._characters += len(event)
        self.wake.set()

    async def send_events(self) -> None:
        """Send the queued events, waiting for the page."""
        while self._events:
            event = self._events.popleft()
            self._characters -= len(event)
            await self.socket.send_str(event)

    def cut_off(self) -> None:
        """Abort the connection: a closing handshake would have to wait
        behind all unread messages.
        """
        self._gone = True
        self._events.clear()
        self._characters = 0
        if self._request.transport is not None:
            self._request.transport.abort()

    @property
    def is_connected(self) -> bool:
        """True until the connection has ended."""
        transport = self._request.transport
        return transport is not None and not transport.is_closing()

    def is_idle(self, node: str, run: ServerRun) -> bool:
        """Return whether it has the newest picture of a node and can take another one."""
        newest = run.pictures.get(node, (0, b""))[0]
        return (
            node in self.watch.previews
            and self.underway[node] < _UNDERWAY
            and self.shown.get(node, 0) == newest
        )


class Clients:
    """All pages, and the events that each of them is sent."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._inputs = InputOwnership()
        self._ending: set[asyncio.Task[None]] = set()
        self.runs: RunQueue | None = None

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the route of the websocket."""
        yield web.get("/ws", self.connect)

    # -- events ------------------------------------------------------------------------------------

    def files_changed(self, what: str) -> None:
        """Tell all pages that files have changed; `what` is "workflows", "brains" or "data"."""
        self.broadcast("files", {"what": what})

    def notify(self, run: ServerRun, what: str, data: dict[str, Any]) -> None:
        """Send an event of a run to the pages that it concerns."""
        ours = {"prompt_id": run.prompt_id}
        stamped = {**ours, "timestamp": int(time.time() * 1000)}
        if what == "picture":
            for client in self._watching(run):
                client.wake.set()
            return
        if what == "message":
            self.broadcast("said", data)  # the protocol keeps the older name
        elif what == "started":
            self._send_to_owner(run, "execution_start", stamped)
            self._send_to_owner(run, "execution_cached", {**stamped, "nodes": []})
            self._watch_for_stock(run)
        elif what == "over":
            self._inputs.remove_run(run)
            self._end(run, stamped)
        if what in ("queued", "cancelled"):
            self.broadcast("status", self.status())
        for client in self._clients.values():
            if what == "over":
                client.due = 0.0
            client.wake.set()

    def _end(self, run: ServerRun, stamped: dict[str, Any]) -> None:
        outcome = run.outcome
        assert outcome is not None
        ours = {"prompt_id": run.prompt_id}
        if outcome.state == "failed":
            error = outcome.summary["error"]
            failed = {**ours, "node": outcome.node, "socket": None, **error}
            faults = error.get("faults") or []
            if faults:
                failed["socket"] = faults[0].get("socket")
            self.broadcast("failed", failed)
        self.broadcast("result", {**ours, "state": outcome.state, "summary": outcome.summary})
        # the same once more, in the form of ComfyUI's messages
        if run.folder is not None:
            for name, output in picture_outputs(run.folder.path, list(run.workflow.nodes)).items():
                executed = {**ours, "node": name, "display_node": name, "output": output}
                self._send_to_owner(run, "executed", executed)
        node = outcome.node or ""
        about = {**stamped, "node_id": node, "node_type": _type(run, node), "executed": []}
        if outcome.state == "failed":
            about["exception_message"] = outcome.summary["error"]["message"]
            about["exception_type"] = outcome.exception
            about["traceback"] = list(outcome.traceback)
            about["current_inputs"] = {}
            about["current_outputs"] = []
            self._send_to_owner(run, "execution_error", about)
        elif outcome.state == "stopped":
            self.broadcast("execution_interrupted", about)
        else:
            self._send_to_owner(run, "execution_success", stamped)
        self.broadcast("status", self.status())
        self._send_to_owner(run, "executing", {**ours, "node": None, "display_node": None})

    def status(self) -> dict[str, Any]:
        """Return ComfyUI's status: the number of runs that wait or run."""
        remaining = 0
        if self.runs:
            remaining = self.runs.remaining
        return {"status": {"exec_info": {"queue_remaining": remaining}}}

    def broadcast(self, type_: str, data: Any) -> None:
        """Send an event to all pages."""
        event = _event(type_, data)
        for client in self._clients.values():
            client.queue_event(event)

    def _send_to_owner(self, run: ServerRun, type_: str, data: Any) -> None:
        """Send an event to the page that requested the run, or to every page if none did."""
        event = _event(type_, data)
        for client in self._clients.values():
            if run.client_id in (None, client.sid):
                client.queue_event(event)

    def _watch_for_stock(self, run: ServerRun) -> None:
        """Let the client that requested a run see all of its pictures, if it never says what it
        watches.
        """
        client = self._clients.get(run.client_id or "")
        if client is None or not client.is_stock:
            return
        self._watch(client, {"prompt_id": run.prompt_id, "previews": tuple(run.workflow.nodes)})
        client.executing = None

    def _watch_again(self, client: Client) -> None:
        """Let ComfyUI's front end go on watching the run that it requested before it was loaded
        again. It says its features first, which our own page never does.
        """
        for run in self._known():
            if run.client_id == client.sid and run.begun.is_set() and not run.over:
                self._watch_for_stock(run)

    def _watching(self, run: ServerRun) -> list[Client]:
        return [client for client in self._clients.values() if client.prompt_id == run.prompt_id]

    # -- one page ----------------------------------------------------------------------------------

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        """Answer GET /ws: the connection of one page, until it ends.

        A page that gives the `clientId` of another takes its place, and the connection of the other
        is closed.
        """
        # the page
        socket = web.WebSocketResponse(compress=False, heartbeat=30.0, max_msg_size=_MESSAGE_LIMIT)
        await socket.prepare(request)
        sid = request.query.get("clientId", "")[:100] or uuid.uuid4().hex
        client = Client(sid, socket, request)
        replaced = self._clients.get(sid)
        self._clients[sid] = client
        if replaced is not None:
            replaced.wake.set()
            await replaced.socket.close(message=b"another page took over")

        # what it is sent first: its id, and the states of all runs that are not over
        client.seen = {run.prompt_id: run.live_state.version for run in self._known() if run.over}
        client.queue("status", {**self.status(), "sid": sid})

        # messages in both directions, until one side ends
        sending = asyncio.create_task(self._send(client))
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._handle_message(client, message.data)
                    await self._pause(client)
        finally:
            if self._clients.get(sid) is client:
                del self._clients[sid]
            self._inputs.release_all(client)
            sending.cancel()
            with suppress(asyncio.CancelledError, ConnectionError, RuntimeError):
                await sending
            self._watch_changed(client.prompt_id)
            loop = asyncio.get_running_loop()
            loop.call_later(_REWIND_KEPT, self._end_rewinds)
        return socket

    def _end_rewinds(self) -> None:
        """End the rewound runs whose page is gone and that no other page watches: each of them
        holds a worker.
        """
        for run in self._known():
            is_shown = run.client_id in (None, *self._clients) or self._watching(run)
            if run.replay_of is not None and not run.over and not is_shown and self.runs:
                task = asyncio.create_task(self.runs.stop(run))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    async def _pause(self, client: Client) -> None:
        """Let other tasks run, and wait while a worker does not read what
        this page sends to its run.
        """
        await asyncio.sleep(0)
        while client.is_connected and self._is_ahead(client):
            await asyncio.sleep(_PAUSE)

    def _is_ahead(self, client: Client) -> bool:
        """Return whether a worker has much unread input from this page and others."""
        runs = self._inputs.runs_of(client)
        watched = self._run(client.prompt_id)
        if watched is not None:
            runs.append(watched)
        return any(run.worker is not None and run.worker.is_behind for run in runs)

    async def close(self) -> None:
        """End all connections, because the server ends."""
        for client in list(self._clients.values()):
            with suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(
                    client.socket.close(code=1001, message=b"the server ends"), 1.0
                )

    def _handle_message(self, client: Client, text: str) -> None:
        """Handle a message of a page.

        Messages that cannot be understood are ignored, as in ComfyUI's server.
        """
        try:
            message = parse_json(text)
            type_, data = message["type"], message["data"]
            if type_ == "watch":
                client.is_stock = False
                self._watch(client, data)
            elif type_ == "ack":
                self._acknowledge(client, data["node"])
            elif type_ in ("take", "input", "release"):
                self._handle_input(client, type_, data)
            elif type_ == "feature_flags":
                client.takes_metadata = data.get("supports_preview_metadata") is True
                client.queue("feature_flags", {"supports_preview_metadata": True})
                self._watch_again(client)
        except (ValueError, KeyError, TypeError, AttributeError):
            return

    def _acknowledge(self, client: Client, node: str) -> None:
        """Note that a picture has arrived, so that the next one may be sent."""
        if client.underway[node]:
            client.underway[node] -= 1
        client.wake.set()
        self._request_pictures(self._run(client.prompt_id))

    def _handle_input(self, client: Client, type_: str, data: dict[str, Any]) -> None:
        run, node = self._run(data["prompt_id"]), str(data["node"])
        if run is None or run.over or node not in run.workflow.nodes:
            return
        if type_ == "take":
            self._inputs.claim(client, run, node)
        elif type_ == "input":
            self._inputs.forward(client, run, node, data["value"])
        else:
            self._inputs.release(client, run, node)

    def _watch(self, client: Client, data: dict[str, Any]) -> None:
        previews = tuple(map(str, data.get("previews", ())[:_WATCHED]))
        values = tuple(map(str, data.get("values", ())[:_WATCHED]))
        full = tuple(map(str, data.get("full", ())[:_WATCHED_IN_FULL]))
        budgets = tuple(map(str, data.get("budgets", ())[:_WATCHED]))
        before, prompt_id = client.prompt_id, data.get("prompt_id")
        if prompt_id != before:
            client.prompt_id = prompt_id if isinstance(prompt_id, str) else None
            client.underway.clear()
            client.shown.clear()
            client.seen.pop(client.prompt_id or "", None)
        for node in client.underway.keys() - set(previews):
            del client.underway[node]
        for node in client.shown.keys() - set(previews):
            del client.shown[node]
        client.watch = Watch(previews, values, full, budgets)
        client.seen_inside = 0
        client.due = 0.0
        client.wake.set()
        self._watch_changed(before)
        self._watch_changed(client.prompt_id)

    def _watch_changed(self, prompt_id: str | None) -> None:
        """Tell the worker which nodes pages are watching now."""
        run = self._run(prompt_id)
        if run is None:
            return
        previews: dict[str, None] = {}
        values: dict[str, None] = {}
        full: dict[str, None] = {}
        budgets: dict[str, None] = {}
        for client in self._watching(run):
            previews.update(dict.fromkeys(client.watch.previews))
            values.update(dict.fromkeys(client.watch.values))
            full.update(dict.fromkeys(client.watch.full))
            budgets.update(dict.fromkeys(client.watch.budgets))
        run.watch = Watch(tuple(previews), tuple(values), tuple(full), tuple(budgets))
        run.send("watch", run.watch)
        self._request_pictures(run)

    def _request_pictures(self, run: ServerRun | None) -> None:
        """Ask the worker for the next picture of each node for which a page is waiting."""
        if run is None or run.over:
            return
        for node in run.watch.previews:
            if node in run.requested_pictures:
                continue
            if any(client.is_idle(node, run) for client in self._watching(run)):
                run.requested_pictures.add(node)
                run.send("request_picture", node)

    def _run(self, prompt_id: str | None) -> ServerRun | None:
        if self.runs and prompt_id:
            return self.runs.known.get(prompt_id)
        return None

    def _known(self) -> list[ServerRun]:
        if self.runs:
            return list(self.runs.known.values())
        return []

    # -- sending -----------------------------------------------------------------------------------

    async def _send(self, client: Client) -> None:
        """Send whatever there is to send, waiting only for this page's own connection."""
        loop = asyncio.get_running_loop()
        later: asyncio.TimerHandle | None = None
        try:
            while True:
                await client.wake.wait()
                client.wake.clear()
                now = loop.time()
                # of a run that stands still, a page waits for each change
                if now >= client.due or self._is_paused(client):
                    every = _EVERY_STOCK if client.is_stock else _EVERY
                    client.due, later = now + every, None
                    # made at once: a page may change what it watches
                    for message in list(self._changes(client)):
                        await client.socket.send_str(json.dumps(message))
                elif not later and self._has_changes(client):
                    later = loop.call_at(client.due, client.wake.set)
                await client.send_events()
                await self._send_pictures(client)
        except ConnectionError:
            client.cut_off()

    def _is_paused(self, client: Client) -> bool:
        run = self._run(client.prompt_id)
        return run is not None and run.live_state.parts["run"].get("state") == "paused"

    async def _send_pictures(self, client: Client) -> None:
        run = self._run(client.prompt_id)
        if run is None:
            return
        for node in client.watch.previews:
            number, message = run.pictures.get(node, (0, b""))
            if number > client.shown.get(node, 0) and client.underway[node] < _UNDERWAY:
                client.underway[node] += 1
                client.shown[node] = number
                if client.is_stock:
                    await self._send_stock_picture(client, run, node, message)
                else:
                    await client.socket.send_bytes(message)
        self._request_pictures(run)

    async def _send_stock_picture(
        self, client: Client, run: ServerRun, node: str, message: bytes
    ) -> None:
        """Send a picture to a client of ComfyUI, which does not acknowledge it."""
        if client.executing != node:
            client.executing = node
            about = {"prompt_id": run.prompt_id, "node": node, "display_node": node}
            await client.socket.send_str(_event("executing", about))
        picture = await asyncio.to_thread(
            picture_message, run, node, message, client.takes_metadata
        )
        await client.socket.send_bytes(picture)
        loop = asyncio.get_running_loop()
        loop.call_later(_EVERY_STOCK, self._acknowledge, client, node)

    def _has_changes(self, client: Client) -> bool:
        return any(
            run.live_state.version > client.seen.get(run.prompt_id, 0) for run in self._known()
        )

    def _changes(self, client: Client) -> Iterator[dict[str, Any]]:
        before, client.seen = client.seen, {}  # without forgotten runs
        for run in self._known():
            version, ours = run.live_state.version, {"prompt_id": run.prompt_id}
            if news := run.live_state.since("run", before.get(run.prompt_id, 0)):
                yield {"type": "run", "data": {**ours, **news}}
            client.seen[run.prompt_id] = version
            if run.prompt_id == client.prompt_id:
                seen, client.seen_inside = client.seen_inside, version
                if client.is_stock:
                    if version > seen:
                        yield {"type": "progress_state", "data": progress_state(run)}
                    continue
                if nodes := run.live_state.since("nodes", seen):
                    yield {"type": "nodes", "data": {**ours, "nodes": nodes}}
                if values := run.live_state.since("values", seen, client.watch.values):
                    yield {"type": "values", "data": {**ours, "values": values}}
                for part in ("inputs", "outputs"):
                    if sockets := run.live_state.since(part, seen, client.watch.full):
                        yield {"type": part, "data": {**ours, part: sockets}}
                if budgets := run.live_state.since("budget", seen, client.watch.budgets):
                    yield {"type": "budget", "data": {**ours, "nodes": budgets}}


def _event(type_: str, data: Any) -> str:
    """Return the text of a message, which all pages share, even while it is queued."""
    return json.dumps({"type": type_, "data": data}, default=repr)


def _type(run: ServerRun, node: str) -> str:
    entry = run.workflow.nodes.get(node)
    if entry:
        return f"{entry.type}@{entry.version}"
    return ""
