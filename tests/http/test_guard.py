"""Who may ask the server, what it tells browsers, and that no name leads out of its folders."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.support.service_fixtures import Server, Talk, film, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("place") / "data"
    (data.parent / "outside.json").write_text('{"minibrains": 1, "secret": true, "nodes": {}}')
    (data.parent / "outside.safetensors").write_bytes(b"secret")
    (data / "workflows").mkdir(parents=True)
    (data / "workflows" / "linked.json").symlink_to(data.parent / "outside.json")
    (data / "workflows" / "elsewhere").symlink_to(data.parent)
    with serving(data, "--parallel", 1) as server:
        yield server


ROUTES = (
    "/",
    "/nodes",
    "/api/queue",
    "/history",
    "/no/such/page",
    "/userdata?dir=workflows",
    "/templates/airstriker",
)


@pytest.mark.parametrize("path", ROUTES)
def test_every_answer_says_what_a_page_may_do(server: Server, path: str) -> None:
    async def talk(client: Talk) -> None:
        async with client.session.get(path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "script-src 'self';" in policy
            assert "unsafe-eval" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "Access-Control-Allow-Origin" not in answer.headers

    server.talk(talk)


HOSTS = [
    "evil.example", "evil.example:8188", "127.0.0.1.evil.example", "", "10.0.0.1", "[",
    "localhost#.evil.example", "localhost/.evil.example", "localhost?.evil.example",
    "evil.example@127.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_that_is_not_this_machine_is_refused(server: Server, host: str) -> None:
    async def talk(client: Talk) -> None:
        for method, path in (("GET", "/nodes"), ("POST", "/prompt"), ("GET", "/"), ("GET", "/ws")):
            refused = await client.ask(method, path, 403, headers={"Host": host})
            assert refused["error"]["type"] == "forbidden"

    server.talk(talk)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://localhost",
        "file://",
        "http://[",
    ],
)
def test_a_page_from_elsewhere_is_refused(server: Server, origin: str) -> None:
    async def talk(client: Talk) -> None:
        for method, path in (
            ("POST", "/interrupt"),
            ("GET", "/queue"),
            ("GET", "/ws"),
            ("POST", "/upload/brain"),
        ):
            await client.ask(method, path, 403, headers={"Origin": origin})

    server.talk(talk)


def test_its_own_pages_and_programs_are_let_in(server: Server) -> None:
    port = server.announced["port"]

    async def talk(client: Talk) -> None:
        await client.get("/queue")
        await client.get("/queue", headers={"Origin": f"http://127.0.0.1:{port}"})
        own = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        await client.get("/queue", headers=own)
        async with client.session.ws_connect("/ws", headers=own) as page:
            assert (await page.receive_json())["type"] == "status"

    server.talk(talk)


LEADING_OUT = [
    "../outside.json", "workflows/../../outside.json", "..%2Foutside.json", "/etc/passwd",
    "workflows//etc/passwd.json", "workflows/elsewhere/outside.json", "workflows/linked.json",
    "workflows/.hidden.json", "workflows/a\\..\\b.json", "workflows/a\0.json", "workflows/ /x.json",
    "workflows/..", "workflows/" + "a" * 300 + ".json", "models/x.json",
]  # fmt: skip


@pytest.mark.parametrize("name", LEADING_OUT)
def test_no_name_of_a_workflow_leads_out_of_its_folder(server: Server, name: str) -> None:
    file = quote(name, safe="")
    outside = server.data.parent / "outside.json"
    before = outside.read_bytes()

    async def talk(client: Talk) -> None:
        async def refused(method: str, path: str, **more: Any) -> None:
            async with client.session.request(method, path, **more) as answer:
                assert answer.status in (400, 404), (method, path, answer.status)
                assert b"secret" not in await answer.read()

        await refused("GET", f"/userdata/{file}")
        await refused("POST", f"/userdata/{file}", json=film())
        await refused("DELETE", f"/userdata/{file}")
        await client.post("/userdata/workflows%2Fmine.json", film())
        await refused("POST", f"/userdata/workflows%2Fmine.json/move/{file}")
        await refused("POST", f"/userdata/{file}/move/workflows%2Fother.json")
        await refused(
            "POST", "/prompt", json={"prompt": film(), "extra_data": {"name": f"../{name}"}}
        )

    server.talk(talk)
    assert outside.read_bytes() == before
    assert {path.name for path in server.data.parent.iterdir()} == {
        "data",
        "home",
        "outside.json",
        "outside.safetensors",
    } - (set() if (server.data.parent / "home").exists() else {"home"})


@pytest.mark.parametrize(
    "folder", ["..", "../..", "/", "workflows/..", "workflows/elsewhere", "models", "", "."]
)
def test_no_folder_outside_is_listed(server: Server, folder: str) -> None:
    async def talk(client: Talk) -> None:
        async with client.session.get(
            "/userdata", params={"dir": folder, "recurse": "true"}
        ) as answer:
            assert answer.status in (400, 404)

    server.talk(talk)


@pytest.mark.parametrize(
    "name",
    ["../outside.safetensors", "../../outside.safetensors", "/etc/passwd", "a\0.safetensors"],
)
def test_no_name_of_a_brain_or_picture_leads_out(server: Server, name: str) -> None:
    file = quote(name, safe="")

    async def talk(client: Talk) -> None:
        paths = [
            f"/brains/{file}", f"/models/{file}", f"/view?filename={file}",
            f"/view?filename=x.png&subfolder={file}", f"/view?filename={file}&type=input",
            f"/view_metadata/{file}?filename=x.safetensors", f"/view_metadata/x?filename={file}",
            f"/templates/{file}", f"/{file}", f"/assets/{file}",
        ]  # fmt: skip
        for path in paths:
            async with client.session.get(path) as answer:
                assert answer.status in (400, 404), path
                assert b"secret" not in await answer.read()

    server.talk(talk)


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "x.py", ".x.safetensors", "a/b.safetensors", ""]
)
def test_no_upload_takes_a_place_or_name_that_is_not_its_own(server: Server, name: str) -> None:
    async def talk(client: Talk) -> None:
        for path, field in (("/upload/brain", "file"), ("/upload/image", "image")):
            form = aiohttp.FormData(quote_fields=False)
            form.add_field(
                field,
                b"data",
                filename=name.replace("safetensors", "png") if field == "image" else name,
            )
            await client.ask("POST", path, 400, data=form)

    server.talk(talk)
    assert [*(server.data / "models").iterdir(), *(server.data / "uploads").iterdir()] == []


def test_a_body_that_is_too_large_is_refused(server: Server) -> None:
    async def flood(size: int) -> AsyncIterator[bytes]:
        for _ in range(size >> 20):
            yield bytes(1 << 20)

    async def talk(client: Talk) -> None:
        refused = None
        # the server may hang up in the middle, which is an answer as well
        with suppress(aiohttp.ClientError):
            refused = await client.ask(
                "POST", "/userdata/workflows%2Flarge.json", 413, data=flood(70 << 20)
            )
        assert refused is None or refused["error"]["type"] == "too_large"
        await client.get("/queue")

    server.talk(talk)
    assert not (server.data / "workflows" / "large.json").exists()


def test_a_picture_that_is_too_large_is_refused(server: Server) -> None:
    async def talk(client: Talk) -> None:
        form = aiohttp.FormData()
        form.add_field("image", io.BytesIO(bytes(101 << 20)), filename="large.png")
        try:
            await client.ask("POST", "/upload/image", 413, data=form)
        except aiohttp.ClientError:
            await client.get("/queue")

    server.talk(talk)
    assert not (server.data / "uploads" / "large.png").exists()


def test_a_file_that_could_run_is_only_offered_for_saving(server: Server) -> None:
    folder = server.data / "runs" / "somebody"
    folder.mkdir()
    for name in ("page.html", "script.js", "drawing.svg"):
        (folder / name).write_text("<script>alert(1)</script>")

    async def talk(client: Talk) -> None:
        for name in ("page.html", "script.js", "drawing.svg"):
            async with client.session.get(f"/view?filename={name}&subfolder=somebody") as answer:
                assert answer.content_type == "application/octet-stream"
                assert answer.headers["Content-Disposition"] == "attachment"

    server.talk(talk)


# -- the token -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("open"), "--host", "0.0.0.0", "--parallel", 1) as server:
        yield server


def test_another_host_takes_a_token_that_it_makes_up_itself(open_server: Server) -> None:
    address, opened = open_server.announced["address"], open_server.announced["open"]
    token = opened.removeprefix(f"{address}?token=")
    assert len(token) >= 32

    async def talk(client: Talk) -> None:
        for path in ("/", "/nodes", "/ws", "/queue?token=wrong", "/ws?token=wrong", "/?token="):
            assert (await client.get(path, 401))["error"]["type"] == "token"
        await client.post("/prompt", {"prompt": film()}, 401)
        wrong = hashlib.sha256(token.encode()).hexdigest()
        await client.get("/nodes", 401, headers={"Authorization": f"Bearer {wrong}"})
        await client.get("/nodes", 401, headers={"Cookie": f"minibrains_token={wrong}"})
        await client.get("/nodes", headers={"Authorization": f"Bearer {token}"})
        async with client.session.ws_connect(f"/ws?token={token}") as page:
            assert (await page.receive_json())["type"] == "status"
        async with client.session.get(f"/?token={token}&x=1", allow_redirects=False) as answer:
            assert answer.status == 303
            assert answer.headers["Location"] == "/?x=1", "the token does not stay in the address"
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
        await client.get("/nodes", headers={"Cookie": f"minibrains_token={token}"})
        await client.get("/nodes", 403, headers={"Origin": "http://evil.example"})

    open_server.talk(talk)


def test_a_token_of_ones_own(tmp_path: Path) -> None:
    token = secrets.token_hex(8)
    with serving(tmp_path, "--token", token, "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            await client.get("/nodes", 401)
            assert "airstriker" in json.dumps(
                await client.get("/templates", headers={"Authorization": f"Bearer {token}"})
            )

        server.talk(talk)
        assert server.end() == 0
