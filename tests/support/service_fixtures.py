"""A server in a process of its own, and what tests say to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import numpy as np

from tests.support.timeouts import TIMEOUT

T = TypeVar("T")
Json = dict[str, Any]
PACK = Path(__file__).with_name("service_nodes.py")


def film(
    ticks: int = 2_000_000_000,
    clock: str = "realtime",
    colours: int = 16,
    does: str = "nothing",
    **more: Any,
) -> Json:
    """A workflow: a film, somebody who looks at it, and one who may get into trouble."""
    return {
        "minibrains": 1,
        "title": "a film",
        "run": {"ticks": ticks, "clock": clock},
        "nodes": {
            "film": {"type": "service_nodes.Film@1", "set": {"colours": colours, **more}},
            "troubled": {
                "type": "service_nodes.Troubled@1",
                "set": {"does": does},
                "in": {"count": "film.count"},
            },
            "adder": {"type": "service_nodes.Adder@1", "in": {"value": "film.count"}},
            "keep": {"type": "service_nodes.Keep@1", "in": {"value": "adder.number"}},
            "look": {"type": "Preview@2", "in": {"value": "film.frame"}},
        },
    }


def upload_form(field: str, data: bytes, name: str, **more: str) -> aiohttp.FormData:
    """A file as the editor uploads it."""
    form = aiohttp.FormData(quote_fields=False)
    for key, value in more.items():
        form.add_field(key, value)
    form.add_field(field, data, filename=name)
    return form


@dataclass
class Picture:
    """A binary message of the websocket, taken apart."""

    event: int
    about: Json
    body: bytes

    @classmethod
    def read(cls, data: bytes) -> Picture:
        event, length = struct.unpack_from(">II", data)
        if event == 1:  # ComfyUI's PREVIEW_IMAGE says nothing about the picture
            return cls(event, {}, data[8:])
        return cls(event, json.loads(data[8 : 8 + length]), data[8 + length :])

    def pixels(self) -> np.ndarray:
        """A palette-8 picture as RGB."""
        assert self.event == 100
        size = 3 * self.about["colours"]
        palette = np.frombuffer(self.body, np.uint8, size).reshape(-1, 3)
        indices = np.frombuffer(self.body, np.uint8, offset=size)
        return palette[indices].reshape(self.about["height"], self.about["width"], 3)


class Page:
    """One websocket, as a page has it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.events: list[tuple[str, Json]] = []
        self.pictures: list[Picture] = []
        self.looked = 0

    async def watch(
        self,
        prompt_id: str,
        *previews: str,
        values: tuple[str, ...] = (),
        full: tuple[str, ...] = (),
        budgets: tuple[str, ...] = (),
    ) -> None:
        data = {
            "prompt_id": prompt_id,
            "previews": list(previews),
            "values": list(values),
            "full": list(full),
            "budgets": list(budgets),
        }
        await self.socket.send_json({"type": "watch", "data": data})

    async def acknowledge(self, picture: Picture) -> None:
        about = picture.about
        data = {"prompt_id": about["prompt_id"], "node": about["node"], "seq": about["seq"]}
        await self.socket.send_json({"type": "ack", "data": data})

    async def next(self, timeout: float = TIMEOUT) -> tuple[str, Json] | Picture:
        message = await self.socket.receive(timeout)
        if message.type is aiohttp.WSMsgType.BINARY:
            picture = Picture.read(message.data)
            self.pictures.append(picture)
            return picture
        assert message.type is aiohttp.WSMsgType.TEXT, message
        data = json.loads(message.data)
        self.events.append((data["type"], data["data"]))
        return self.events[-1]

    async def until(
        self,
        type_: str,
        holds: Callable[[Json], bool] = lambda data: True,
        timeout: float = TIMEOUT,
    ) -> Json:
        """The next event of this type for which something holds; none may take that long."""
        while True:
            found = await self.next(timeout)
            if not isinstance(found, Picture) and found[0] == type_ and holds(found[1]):
                return found[1]

    async def picture(self) -> Picture:
        """The next picture that was not looked at yet, acknowledged."""
        while len(self.pictures) == self.looked:
            await self.next()
        found = self.pictures[self.looked]
        self.looked += 1
        await self.acknowledge(found)
        return found


class Talk:
    """One client: requests, and pages that it opens."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str, status: int = 200, **more: Any) -> Any:
        return await self.ask("GET", path, status, **more)

    async def post(self, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        return await self.ask("POST", path, status, json=body, **more)

    async def ask(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        async with self.session.request(method, path, **more) as answer:
            data = await answer.read()
            assert answer.status == status, (method, path, answer.status, data[:2000])
            return json.loads(data) if "json" in answer.content_type else data

    @asynccontextmanager
    async def page(self, name: str = "page") -> AsyncIterator[Page]:
        async with self.session.ws_connect(f"/ws?clientId={name}", max_msg_size=0) as socket:
            yield Page(socket)

    async def run(self, workflow: Json, **more: Any) -> str:
        """Ask for a run; returns its id."""
        return str((await self.post("/prompt", {"prompt": workflow, **more}))["prompt_id"])

    async def state(self, prompt_id: str) -> str:
        """Return the state of a run now."""
        return str((await self.get(f"/runs/{prompt_id}"))["state"])

    async def rewind(self, page: Page, run: str) -> str:
        """Open the tape of a run, or its last ticks, and wait until it is read; return the id."""
        opened: str = (await self.post(f"/runs/{run}/rewind"))["prompt_id"]

        def is_read(data: Json) -> bool:
            is_ticking = data.get("state") in ("running", "paused")
            return is_ticking and data.get("prompt_id") == opened

        await page.until("run", is_read)
        return opened

    async def end(self, page: Page, run: str) -> None:
        """Stop a run, and wait until it is over."""
        await self.post(f"/runs/{run}/stop")
        await self.outcome(page, run)

    async def outcome(self, page: Page, prompt_id: str) -> Json:
        """Wait for the end of a run; returns its state and summary."""
        return await page.until("result", lambda data: data["prompt_id"] == prompt_id)


@dataclass
class Server:
    """A server process."""

    process: subprocess.Popen[str]
    announced: Json
    data: Path

    @property
    def address(self) -> str:
        return str(self.announced["address"])

    def talk(
        self, say: Callable[[Talk], Awaitable[T]], timeout: float = TIMEOUT, **session: Any
    ) -> T:
        """Talk to it, for at most so many seconds, from an event loop of its own."""

        async def begin() -> T:
            async with (
                aiohttp.ClientSession(self.address, **session) as opened,
                asyncio.timeout(timeout),
            ):
                return await say(Talk(opened))

        return asyncio.run(begin())

    def end(self) -> int:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(TIMEOUT)


@contextmanager
def serving(data: Path, *arguments: object, under: Sequence[str] = ()) -> Iterator[Server]:
    """A server on a free port; `under` stands before its command."""
    command = [
        *under, sys.executable, "-m", "server", "serve", "--port", "0", "--json", "--data", data,
        "--pack", PACK, *arguments,
    ]  # fmt: skip
    environment = {**os.environ, "MINIBRAINS_HOME": str(data.parent / "home")}
    process = subprocess.Popen(
        [*map(str, command)], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield Server(process, json.loads(process.stdout.readline()), data)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(TIMEOUT)
        process.stdout.close()


def workers_of(server: Server) -> list[int]:
    """Return the process ids of its workers;
    multiprocessing has a helper among its children that ends by itself.
    """
    texts = [
        file.read_text() for file in Path(f"/proc/{server.process.pid}/task").glob("*/children")
    ]
    numbers = [int(number) for number in " ".join(texts).split()]
    return [
        number
        for number in numbers
        if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]
