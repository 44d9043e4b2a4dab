"""Requests that are too large, too slow, malformed or only strange:
each is answered in a sentence, and nobody else waits.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from minibrains.files import bundled_dir
from minibrains.graph.catalog import node_types
from server.http.app import ServiceSettings, make_app, make_runner
from tests.support.service_fixtures import (
    Json,
    Server,
    Talk,
    film,
    serving,
    upload_form,
    workers_of,
)
from tests.support.timeouts import TIMEOUT

BRAIN = bundled_dir("models") / "reflex" / "airstriker.safetensors"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


# -- little memory ---------------------------------------------------------------------------------


def test_a_server_without_memory_for_another_thread_goes_on_with_those_it_has(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "data", "--parallel", 2) as server:
        pid = server.process.pid

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                await client.run(film())
                await page.until("run", lambda data: data.get("ticks", 0) > 0)
                used = (
                    int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
                )
                usual = resource.prlimit(pid, resource.RLIMIT_AS)
                # a thread's stack takes 8 MB
                resource.prlimit(pid, resource.RLIMIT_AS, (used + (4 << 20), usual[1]))
                for _ in range(20):
                    assert await client.get("/userdata?dir=workflows") == []
                outcome = await client.outcome(page, await client.run(film(ticks=5)))
                assert "no worker can be started" in outcome["summary"]["error"]["message"]
                resource.prlimit(pid, resource.RLIMIT_AS, usual)
                outcome = await client.outcome(page, await client.run(film(ticks=5)))
                assert outcome["state"] == "done"

        server.talk(talk)


# -- large JSON ------------------------------------------------------------------------------------


def test_others_are_answered_while_a_large_body_is_read(server: Server) -> None:
    """A body of 6 MB: as many requests as one likes are answered before it is."""
    body = b'{"workflow": [' + b"[]," * 2_000_000 + b"1]}"

    async def talk(client: Talk) -> None:
        checking = asyncio.create_task(client.ask("POST", "/check", data=io.BytesIO(body)))
        answered = 0
        while not checking.done():
            await client.get("/prompt")
            answered += 1
        assert (await checking)["faults"]
        assert answered > 30

    server.talk(talk)


def test_a_workflow_of_too_many_nodes_is_one_fault(server: Server) -> None:
    workflow = {
        "minibrains": 1,
        "nodes": {f"n{number}": {"type": "Every@1"} for number in range(10_001)},
    }

    async def talk(client: Talk) -> None:
        (fault,) = (await client.post("/check", {"workflow": workflow}))["faults"]
        assert fault["expected"] == "at most 10000"
        assert fault["found"] == "10001"
        refused = await client.post("/prompt", {"prompt": workflow}, 400)
        assert refused["faults"] == [fault]

    server.talk(talk)


def test_of_many_faults_a_hundred_are_told_and_the_rest_is_counted(server: Server) -> None:
    workflow = {
        "minibrains": 1,
        "nodes": {f"n{number}": {"type": "NoSuchNode@1"} for number in range(1000)},
    }

    async def talk(client: Talk) -> None:
        faults = (await client.post("/check", {"workflow": workflow}))["faults"]
        assert len(faults) == 101
        assert faults[0]["node"] == "n0"
        assert "900 more" in faults[-1]["message"]
        refused = await client.post("/prompt", {"prompt": workflow}, 400)
        assert len(refused["faults"]) == 101
        assert len(refused["node_errors"]) == 100
        assert "900 more" in refused["error"]["details"]

    server.talk(talk)


def test_a_fault_of_many_letters_is_shortened(server: Server) -> None:
    workflow = film()
    workflow["nodes"]["film"]["set"]["colours"] = "x" * 1_000_000

    async def talk(client: Talk) -> None:
        (fault,) = (await client.post("/check", {"workflow": workflow}))["faults"]
        assert len(json.dumps(fault)) < 100_000

    server.talk(talk)


@pytest.mark.parametrize(
    ("number", "is_sound"),
    [
        ("18446744073709551615", True),
        ("18446744073709551616", False),
        ("-9223372036854775808", True),
        ("-9223372036854775809", False),
        ("1" * 5000, False),
        ("1.7976931348623157e308", True),
        ("1e309", False),
        ("1E+0309", False),
        ("0." + "1" * 400, True),
        ("1" * 400 + ".0", False),
        ("NaN", False),
        ("-Infinity", False),
        ('"\\ud800"', False),
        ('"\\ud83d\\ude00"', True),
    ],
)
def test_what_json_may_have_in_it(server: Server, number: str, is_sound: bool) -> None:
    body = f'{{"minibrains": 1, "nodes": {{}}, "extra": {number}}}'

    async def talk(client: Talk) -> None:
        await client.ask(
            "POST",
            "/userdata/workflows%2Fnumber.json",
            200 if is_sound else 400,
            data=body.encode(),
        )
        if is_sound:
            assert await client.get("/userdata/workflows%2Fnumber.json") == json.loads(body)

    server.talk(talk)


def _header(tensors: int, padding: int = 0) -> bytes:
    entry = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    header = {
        "__metadata__": {"title": "x" * padding},
        **{str(number): entry for number in range(tensors)},
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("tensors", "padding", "fault"),
    [
        (100_001, 0, "100001 tensors; expected at most 100000"),
        (0, 50_000_000, "expected at most 50000000"),
    ],
)
def test_a_brain_with_too_long_a_header_is_refused(
    server: Server, tensors: int, padding: int, fault: str
) -> None:
    path = server.data / "models" / "long.safetensors"
    path.write_bytes(_header(tensors, padding))

    async def talk(client: Talk) -> None:
        brains = {brain["file"]: brain for brain in await client.get("/brains")}
        assert fault in brains["long.safetensors"]["fault"]

    server.talk(talk)
    path.unlink()


def test_headers_are_read_again_when_a_brain_has_changed(server: Server) -> None:
    path = server.data / "models" / "changing.safetensors"

    async def listed(client: Talk) -> Json:
        brains: dict[str, Json] = {brain["file"]: brain for brain in await client.get("/brains")}
        return brains["changing.safetensors"]

    async def talk(client: Talk) -> None:
        path.write_bytes(b"not a brain")
        assert "not a safetensors file" in (await listed(client))["fault"]
        shutil.copy(BRAIN, path)
        first = await listed(client)
        assert first["fault"] is None
        assert first == await listed(client)

    server.talk(talk)
    path.unlink()


def test_the_header_of_a_brain_that_has_not_changed_is_not_read_again(server: Server) -> None:
    """Seen by a change that shows neither in inode nor size nor time."""
    path = server.data / "models" / "kept.safetensors"

    async def title(client: Talk) -> str:
        titles = {brain["file"]: brain["title"] for brain in await client.get("/brains")}
        return str(titles["kept.safetensors"])

    async def talk(client: Talk) -> None:
        path.write_bytes(_header(1, padding=3))
        before = path.stat()
        assert await title(client) == "xxx"
        path.write_bytes(path.read_bytes().replace(b"xxx", b"yyy"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert await title(client) == "xxx"
        os.utime(path)
        assert await title(client) == "yyy"

    server.talk(talk)
    path.unlink()


# -- bad entries -----------------------------------------------------------------------------------


def _spoil(folder: Path, suffix: str) -> None:
    (folder / f"folder{suffix}").mkdir()
    (folder / f"dangling{suffix}").symlink_to(folder / "nowhere")
    (folder / f"loop{suffix}").symlink_to(folder / f"loop{suffix}")
    os.mkfifo(folder / f"pipe{suffix}")


def test_bad_entries_are_left_out_of_the_list_of_workflows(tmp_path: Path) -> None:
    """M5"""
    folder = tmp_path / "data" / "workflows"
    folder.mkdir(parents=True)
    _spoil(folder, ".json")
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            await client.post("/userdata/workflows%2Fsound.json", film())
            for full in ("true", "false"):
                listed = await client.get(f"/userdata?dir=workflows&recurse=true&full_info={full}")
                assert [entry["path"] if full == "true" else entry for entry in listed] == [
                    "sound.json"
                ]
            for name in ("folder", "dangling", "pipe"):
                await client.get(f"/userdata/workflows%2F{name}.json", 404)
            await client.get("/userdata/workflows%2Floop.json", 400)

        server.talk(talk)


def test_bad_entries_stand_as_broken_in_the_list_of_brains(tmp_path: Path) -> None:
    """M5"""
    folder = tmp_path / "data" / "models"
    folder.mkdir(parents=True)
    _spoil(folder, ".safetensors")
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            own = {
                brain["file"]: brain
                for brain in await client.get("/brains")
                if not brain["shipped"]
            }
            assert own.keys() == {"dangling.safetensors", "loop.safetensors", "pipe.safetensors"}
            assert all(brain["fault"] for brain in own.values())
            assert "pipe.safetensors" not in await client.get("/models")

        server.talk(talk)


# -- names -----------------------------------------------------------------------------------------

NAMES = [
    "字" * 80, "é" * 150, "a" * 300,
    "NUL", "con", "aux.tar", "COM1", "lpt9", "com²", "CONIN$", "nul ", "folder/prn/x", "folder./x",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:10]))
def test_a_name_that_not_every_system_can_write_is_refused_everywhere(
    server: Server, name: str
) -> None:
    async def talk(client: Talk) -> None:
        file = quote(f"workflows/{name}.json", safe="")
        await client.post("/userdata/workflows%2Fmine.json", film())
        refused = await client.post(f"/userdata/{file}", film(), 400)
        assert refused["error"]["type"] == "bad_name"
        await client.get(f"/userdata/{file}", 400)
        await client.ask("DELETE", f"/userdata/{file}", 400)
        await client.post(f"/userdata/workflows%2Fmine.json/move/{file}", status=400)
        await client.post("/prompt", {"prompt": film(), "extra_data": {"name": name}}, 400)
        await client.get(f"/view?filename={quote(name, safe='')}.png", 400)
        await client.ask(
            "POST",
            "/upload/brain",
            400,
            data=upload_form("file", BRAIN.read_bytes(), f"{name}.safetensors"),
        )

    server.talk(talk)


def test_a_long_name_that_is_accepted_can_be_used(server: Server) -> None:
    name = "字" * 60

    async def talk(client: Talk) -> None:
        file = quote(f"workflows/{name}.json", safe="")
        await client.post(f"/userdata/{file}", film())
        async with client.page() as page:
            prompt_id = await client.run(film(ticks=5, clock="fast"), extra_data={"name": name})
            assert (await client.outcome(page, prompt_id))["state"] == "done"
        await client.post("/history", {"delete": [prompt_id]})
        await client.ask("DELETE", f"/userdata/{file}", 204)

    server.talk(talk)


# -- uploads ---------------------------------------------------------------------------------------

PART = b'--b\r\nContent-Disposition: form-data; name="%s"; filename="a.png"\r\n%s\r\ndata\r\n'
MALFORMED = {
    "no boundary": ("multipart/form-data", PART + b"--b--\r\n"),
    "another boundary": ("multipart/form-data; boundary=c", PART + b"--b--\r\n"),
    "a long boundary": (f"multipart/form-data; boundary={'b' * 100}", PART + b"--b--\r\n"),
    "no end": ("multipart/form-data; boundary=b", PART),
    "nothing": ("multipart/form-data; boundary=b", b""),
    "a long header": (
        "multipart/form-data; boundary=b",
        PART.replace(b"%s\r\ndata", b"X: %s\r\n\r\ndata" % (b"x" * 9000)),
    ),
    "an unknown encoding": (
        "multipart/form-data; boundary=b",
        PART.replace(b"%s\r\ndata", b"Content-Transfer-Encoding: x\r\n\r\ndata"),
    ),
    "NUL in the name": (
        "multipart/form-data; boundary=b",
        PART.replace(b"a.png", b"a\0.png") + b"--b--\r\n",
    ),
    "no UTF-8 in the name": (
        "multipart/form-data; boundary=b",
        PART.replace(b"a.png", b"\xff.png") + b"--b--\r\n",
    ),
    "a header without an end": ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition"),
}


@pytest.mark.parametrize("what", MALFORMED)
@pytest.mark.parametrize(
    ("path", "field"), [("/upload/image", b"image"), ("/upload/brain", b"file")]
)
def test_a_malformed_upload_is_refused(server: Server, what: str, path: str, field: bytes) -> None:
    type_, body = MALFORMED[what]
    data = body.replace(b'name="%s"', b'name="%s"' % field).replace(b"%s", b"")

    async def talk(client: Talk) -> None:
        refused = await client.ask("POST", path, 400, data=data, headers={"Content-Type": type_})
        assert refused["error"]["type"] in ("bad_request", "bad_name")

    server.talk(talk)


def test_folders_that_were_removed_are_made_again(server: Server) -> None:
    async def talk(client: Talk) -> None:
        await client.post("/userdata/workflows%2Fthrown.json", film())
        shutil.rmtree(server.data / "trash")
        await client.ask("DELETE", "/userdata/workflows%2Fthrown.json", 204)
        shutil.rmtree(server.data / "models")
        data = BRAIN.read_bytes()
        await client.ask(
            "POST", "/upload/brain", data=upload_form("file", data, "mine.safetensors")
        )
        shutil.rmtree(server.data / "queue")
        async with client.page() as page:
            prompt_id = await client.run(film(ticks=5, clock="fast"))
            assert (await client.outcome(page, prompt_id))["state"] == "done"

    server.talk(talk)


# -- slow requests ---------------------------------------------------------------------------------

HALF = {
    "a head": b"POST /check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-",
    "a body": b'POST /check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"workflow":',
    "an upload": b"POST /upload/image HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n",
}


@pytest.mark.parametrize("what", HALF)
def test_a_request_that_is_half_sent_is_ended(tmp_path: Path, what: str) -> None:
    async def serve() -> bytes:
        registry, _ = node_types(packs=False)
        runner = make_runner(
            make_app(ServiceSettings(tmp_path / "data", request_timeout=0.5), registry)
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            reader, writer = await asyncio.open_connection(*runner.addresses[0])
            writer.write(HALF[what])
            answer = await asyncio.wait_for(reader.readline(), TIMEOUT)
            writer.close()
            return answer
        finally:
            await runner.cleanup()

    answer = asyncio.run(serve())
    assert answer == b"" if what == "a head" else b"408" in answer


# -- what runs say, and what pages say to them -----------------------------------------------------


def with_node(type_: str, **widgets: Any) -> Json:
    workflow = film(ticks=5, clock="fast")
    workflow["nodes"]["strange"] = {
        "type": f"service_nodes.{type_}@1",
        "set": widgets,
        "in": {"count": "film.count"},
    }
    return workflow


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        (0, "Speechless: its message cannot be read: __str__ raised RuntimeError"),
        (5_000_000, "xxx"),
    ],
)
def test_a_node_whose_error_is_hard_to_tell_is_named(
    server: Server, letters: int, words: str
) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(with_node("Fails", letters=letters))
            failed = await page.until("failed")
            assert failed["node"] == "strange"
            assert words in failed["message"]
            error = await page.until("execution_error")
            await page.until("executing")
            assert len(json.dumps(page.events)) < 500_000
        async with client.session.get(f"/history/{prompt_id}") as answer:
            assert len(await answer.read()) < 500_000
        assert error["node_id"] == "strange"

    server.talk(talk)


def test_a_worker_without_files_is_not_given_the_next_run(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            await client.outcome(page, await client.run(with_node("Leaks")))
            after = await client.run(film(ticks=5, clock="fast"))
            assert (await client.outcome(page, after))["state"] == "done"

    server.talk(talk)


@pytest.mark.slow
def test_a_page_waits_for_a_worker_that_does_not_read(tmp_path: Path) -> None:
    """200 MB of input for a worker that stands still do not pile up in the server,
    and others are answered.
    """
    workflow = film()
    workflow["nodes"]["pad"] = {"type": "PersonPad@1"}

    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                prompt_id = await client.run(workflow)
                await page.until(
                    "run", lambda data: data["prompt_id"] == prompt_id and data.get("ticks", 0) > 0
                )
                about = {"prompt_id": prompt_id, "node": "pad"}
                await page.socket.send_json({"type": "take", "data": about})
                (worker,) = workers_of(server)
                os.kill(worker, signal.SIGSTOP)
                try:
                    keys = json.dumps(
                        {"type": "input", "data": {**about, "value": ["x" * 500_000]}}
                    )

                    async def flood() -> None:
                        for _ in range(400):
                            await page.socket.send_str(keys)
                        await page.socket.send_json({"type": "feature_flags", "data": {}})

                    flooding = asyncio.create_task(flood())
                    for _ in range(200):
                        await client.get("/prompt")
                finally:
                    os.kill(worker, signal.SIGCONT)
                await flooding
                await page.until("feature_flags")
                assert _peak_memory(server.process.pid) < 200_000
                await client.post(f"/runs/{prompt_id}/stop")
                await client.outcome(page, prompt_id)

        server.talk(talk)


def _peak_memory(process: int) -> int:
    """In kB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1])
