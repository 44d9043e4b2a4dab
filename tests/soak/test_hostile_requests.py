"""Thousands of requests that nobody sends in good faith: each is answered,
and none reads or writes outside.

What fails is printed with its number: `odd_values` makes the same one of it again.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

from tests.support.odd_values import VALUES, as_json, mutate, mutate_bytes
from tests.support.service_fixtures import Json, Server, Talk, film, serving

SECRET: Final = "not for anybody else"
TIMEOUT = 600.0
HEALTHY = 10.0
"""Seconds in which a server answers a plain question, whatever it was asked before."""
NAMES: Final = (
    "x.json",
    "..",
    "../outside.json",
    "../../outside.json",
    "/etc/passwd",
    "//etc/passwd",
    "a/../../outside.json",
    "./x.json",
    "a//x.json",
    ".hidden.json",
    "a/.hidden.json",
    " x.json",
    "x.json ",
    "x.json.",
    "x\0.json",
    "x\n.json",
    "a\\..\\x.json",
    "C:\\x.json",
    "linked.json",
    "elsewhere/outside.json",
    "NUL.json",
    "com1.json",
    "x.json:stream",
    "~/x.json",
    "~root",
    "%2e%2e/outside.json",
    "..%c0%afoutside.json",
    "．．/outside.json",
    "字" * 80 + ".json",
    "é" * 150,
    "a" * 100_000,
    "",
    ".",
    "\ud800.json",
    "x.json?y",
    "x.json#y",
    "outside.safetensors",
    "../outside.safetensors",
    "elsewhere/outside.safetensors",
    "x.png",
    "../outside.png",
)
ENCODINGS: Final = (
    lambda name: quote(name, safe="", errors="surrogatepass"),
    lambda name: quote(name, safe="/", errors="surrogatepass"),
    lambda name: quote(quote(name, safe="", errors="surrogatepass"), safe=""),
)
PATHS: Final = (
    ("GET", "/userdata/{}"),
    ("GET", "/userdata/workflows%2F{}"),
    ("GET", "/userdata?dir={}"),
    ("POST", "/userdata/{}"),
    ("POST", "/userdata/workflows%2F{}"),
    ("DELETE", "/userdata/workflows%2F{}"),
    ("POST", "/userdata/workflows%2F{}/move/workflows%2Fmoved.json"),
    ("POST", "/userdata/workflows%2Fsound.json/move/{}"),
    ("POST", "/userdata/workflows%2Fsound.json/move/workflows%2F{}"),
    ("GET", "/view?filename={}"),
    ("GET", "/view?type=input&filename={}"),
    ("GET", "/view?filename=x.png&subfolder={}"),
    ("GET", "/brains/{}"),
    ("GET", "/models/{}"),
    ("GET", "/view_metadata/a?filename={}"),
    ("GET", "/view_metadata/{}?filename=x"),
    ("GET", "/templates/{}"),
    ("GET", "/object_info/{}"),
    ("GET", "/history/{}"),
    ("GET", "/runs/{}"),
    ("POST", "/runs/{}/stop"),
    ("POST", "/runs/{}/breakpoints"),
    ("POST", "/runs/{}/speed"),
    ("POST", "/runs/{}/rewind"),
    ("GET", "/runs/{}/timeline"),
    ("GET", "/jobs/{}"),
    ("POST", "/jobs/{}/cancel"),
    ("GET", "/jobs?status={}"),
    ("GET", "/{}"),
    ("GET", "/assets/{}"),
    ("GET", "/api/{}"),
)
METHODS: Final = (
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW",
)  # fmt: skip
PLAIN: Final = (
    "/", "/prompt", "/queue", "/history", "/runs", "/brains", "/nodes", "/check", "/ws",
    "/upload/brain", "/free", "/interrupt",
)  # fmt: skip
HOSTS: Final = (
    "evil.example",
    "127.0.0.1.evil.example",
    "",
    "[",
    "localhost#.evil.example",
    "evil.example@127.0.0.1",
    "10.0.0.1:8188",
)
ORIGINS: Final = (
    "http://evil.example",
    "null",
    "file://",
    "http://[",
    "https://localhost",
    "http://127.0.0.1:1",
)
BODIES: Final[dict[str, Json]] = {
    "/prompt": {
        "prompt": film(ticks=2, clock="fast"),
        "prompt_id": "mine",
        "client_id": "me",
        "number": 3,
        "front": False,
        "extra_data": {"name": "sound", "record": True, "settings": {"seed": 1, "ticks": 2}},
    },
    "/check": {"workflow": film(), "name": "sound"},
    "/queue": {"clear": False, "delete": ["a"]},
    "/history": {"delete": ["a"]},
    "/interrupt": {"prompt_id": "a"},
    "/free": {"unload_models": False, "free_memory": False},
    "/runs/long/edit": {"workflow": film()},
    "/runs/long/step": {"ticks": 3},
    "/runs/long/seek": {"tick": 3},
    "/runs/long/save_state": {"node": "film", "name": "a"},
    "/userdata/workflows%2Fsound.json": film(),
}
MESSAGES: Final[tuple[Json, ...]] = (
    {"type": "watch", "data": {"prompt_id": "long", "previews": ["film"], "values": ["film"]}},
    {"type": "ack", "data": {"prompt_id": "long", "node": "film", "seq": 1}},
    {"type": "input", "data": {"prompt_id": "long", "node": "film", "value": ["A"]}},
    {"type": "feature_flags", "data": {"a": True}},
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a run that goes on and on,
    and with files beside its folder that are nobody's business.
    """
    data = tmp_path / "data"
    (data / "workflows").mkdir(parents=True)
    for name in ("outside.json", "outside.safetensors", "outside.png"):
        (tmp_path / name).write_text(SECRET)
    (data / "workflows" / "linked.json").symlink_to(tmp_path / "outside.json")
    (data / "workflows" / "elsewhere").symlink_to(tmp_path)
    with serving(data, "--parallel", 2) as server:
        yield server
        assert server.process.poll() is None
        assert server.end() == 0
    outside = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    assert outside == dict.fromkeys(("outside.json", "outside.safetensors", "outside.png"), SECRET)
    assert set(os.listdir(tmp_path)) <= {*outside, "data", "home"}


class Attacker:
    """One client, who notes what went wrong."""

    def __init__(self, client: Talk) -> None:
        self.client = client
        self.asked = 0
        self.faults: list[str] = []

    async def ask(self, about: str, method: str, path: str, *statuses: int, **more: Any) -> None:
        """Send a request.

        Without `statuses` anything is an answer but that the server itself is at fault.
        """
        self.asked += 1
        url = URL(f"{str(self.client.session._base_url).rstrip('/')}{path}", encoded=True)
        try:
            async with self.client.session.request(
                method, url, allow_redirects=False, **more
            ) as answer:
                body = await answer.read()
        except (aiohttp.InvalidURL, ValueError, UnicodeError):
            return  # the client itself does not send it
        except aiohttp.ClientError as error:
            self.faults.append(f"{about}: {method} {path[:200]}: {error!r}")
            return
        is_sound = answer.status in statuses if statuses else answer.status < 500
        if not is_sound or SECRET.encode() in body:
            self.faults.append(f"{about}: {method} {path[:200]}: {answer.status} {body[:300]!r}")

    async def look(self, about: str) -> None:
        """See that others are still answered."""
        try:
            async with asyncio.timeout(HEALTHY):
                await self.client.get("/prompt")
        except TimeoutError:
            self.faults.append(f"{about}: others are not answered any more")

    def end(self) -> None:
        print(f"{self.asked} requests, {len(self.faults)} faults")
        assert self.faults == []


def attack(server: Server, way: Any) -> None:
    """Talk to a server, on which a run goes on, in some way."""

    async def talk(client: Talk) -> None:
        await client.post("/userdata/workflows%2Fsound.json", film())
        async with client.page() as page:
            await client.run(film(), prompt_id="long")
            await page.until("run", lambda data: data.get("ticks", 0) > 0)
        attacker = Attacker(client)
        await way(attacker)
        await attacker.look("at the end")
        await client.post("/queue", {"clear": True})
        await client.post("/interrupt", {})
        async with client.page() as page:
            assert (await client.outcome(page, await client.run(film(ticks=5))))["state"] == "done"
        attacker.end()

    server.talk(talk, timeout=TIMEOUT)


@pytest.mark.soak
def test_no_name_leads_anywhere(server: Server) -> None:
    async def way(attacker: Attacker) -> None:
        for name, encode, (method, path) in itertools.product(NAMES, ENCODINGS, PATHS):
            more = {"json": film()} if method == "POST" else {}
            await attacker.ask(repr(name[:50]), method, path.format(encode(name)), **more)

    attack(server, way)


@pytest.mark.soak
def test_no_page_from_elsewhere_and_no_odd_method(server: Server) -> None:
    async def way(attacker: Attacker) -> None:
        for path, method in itertools.product(PLAIN, METHODS):
            await attacker.ask("a method", method, path)
            for host in HOSTS:
                await attacker.ask(f"Host {host}", method, path, 400, 403, headers={"Host": host})
            for origin in ORIGINS:
                await attacker.ask(
                    f"Origin {origin}", method, path, 400, 403, headers={"Origin": origin}
                )

    attack(server, way)


@pytest.mark.soak
def test_odd_json_is_answered(server: Server) -> None:
    async def way(attacker: Attacker) -> None:
        running = "long"
        for seed, (path, sound) in itertools.product(range(150), BODIES.items()):
            dice = random.Random(f"{seed} {path}")
            body = as_json(mutate(sound, dice, dice.randrange(1, 4)))
            if seed % 3 == 0:
                body = mutate_bytes(body, dice)
            path = path.replace("long", running)
            await attacker.ask(
                f"seed {seed}",
                "POST",
                path,
                data=body,
                headers={"Content-Type": "application/json"},
            )
            if seed % 25 == 0:  # what is accepted may stop the run, or fill the queue
                await attacker.look(f"seed {seed}")
                await attacker.client.post("/queue", {"clear": True})
                await attacker.client.post("/interrupt", {})
                running = await attacker.client.run(film())

    attack(server, way)


@pytest.mark.soak
def test_odd_uploads_are_answered(server: Server) -> None:
    sound = (
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: '
        b"image/png\r\n\r\nbytes\r\n"
        b'--x\r\nContent-Disposition: form-data; name="subfolder"\r\n\r\nbelow\r\n--x--\r\n'
    )

    async def way(attacker: Attacker) -> None:
        for seed, path in itertools.product(range(300), ("/upload/image", "/upload/brain")):
            dice = random.Random(f"{seed} {path}")
            body = mutate_bytes(
                sound.replace(b"image", b"file") if "brain" in path else sound, dice
            )
            type_ = dice.choice(
                (
                    "multipart/form-data; boundary=x",
                    "multipart/form-data",
                    "multipart/mixed; boundary=x",
                    "text/plain",
                )
            )
            await attacker.ask(
                f"seed {seed}", "POST", path, data=body, headers={"Content-Type": type_}
            )

    attack(server, way)


@pytest.mark.soak
def test_odd_messages_leave_a_page_connected(server: Server) -> None:
    async def way(attacker: Attacker) -> None:
        async with attacker.client.page("odd") as page:
            for seed in range(1000):
                dice = random.Random(seed)
                message = mutate(dice.choice(MESSAGES), dice, dice.randrange(1, 4))
                text = as_json(message).decode() if seed % 5 else str(dice.choice(VALUES))
                await page.socket.send_str(text.encode(errors="replace").decode())
                attacker.asked += 1
            await page.watch("long", values=("film",))
            await page.until("values")

    attack(server, way)


@pytest.mark.soak
def test_odd_frames_end_at_most_their_own_connection(server: Server) -> None:
    host, port = "127.0.0.1", server.announced["port"]
    sound = struct.pack(">BB4s", 0x81, 0x80 | 2, b"mask") + b"{}"
    claims = struct.pack(">BBQ", 0x82, 0x80 | 127, 2**62)
    request = (
        f"GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()

    async def way(attacker: Attacker) -> None:
        for seed in range(400):
            dice = random.Random(seed)
            frames = mutate_bytes(dice.choice((sound, claims, sound * 3)), dice)
            frames += dice.randbytes(dice.randrange(200))
            greeting = mutate_bytes(request, dice) if seed % 4 == 0 else request
            _, writer = await asyncio.open_connection(host, port)
            writer.write(greeting + frames)
            writer.close()
            attacker.asked += 1
            if seed % 20 == 0:
                await attacker.look(f"seed {seed}")

    attack(server, way)
