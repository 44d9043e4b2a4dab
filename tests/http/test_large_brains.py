"""Brains that take longer to read than anybody waits: whole files are hashed for who asks,
and nobody else waits.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_fixtures import Json, Server, Talk, film, serving, workers_of
from tests.support.timeouts import TIMEOUT

TERABYTE = 1 << 40
THREADS = 40
"""More than the server has for the slow parts of requests."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "data", "--parallel", 1) as server:
        yield server


def _brain(path: Path, size: int) -> Path:
    """A brain of so many zeros, which need no room on the disk. No reader finds half of it."""
    header = {
        "__metadata__": {"minibrains.kind": "bytes"},
        "bytes": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]},
    }
    text = json.dumps(header).encode()
    beside = path.with_suffix(".new")
    with beside.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    return beside.rename(path)


def _pinned(file: str, digest: str) -> Json:
    nodes = {
        "film": {"type": "service_nodes.Film@1"},
        "large": {
            "type": "service_nodes.HasBytes@1",
            "brain": {"file": file, "sha256": digest},
            "in": {"count": "film.count"},
        },
    }
    return {"minibrains": 1, "nodes": nodes}


def test_nobody_waits_for_a_brain_of_a_terabyte(server: Server) -> None:
    models = server.data / "models"
    _brain(models / "huge.safetensors", TERABYTE)
    small = hashlib.sha256(_brain(models / "small.safetensors", 1000).read_bytes()).hexdigest()
    other = hashlib.sha256(_brain(models / "other.safetensors", 2000).read_bytes()).hexdigest()

    async def talk(client: Talk) -> None:
        async with client.page() as page, asyncio.TaskGroup() as tasks:
            lists = await asyncio.gather(*(client.get("/brains") for _ in range(THREADS)))
            listed = {brain["file"]: brain for brain in lists[0]}
            assert (listed["huge.safetensors"]["sha256"], listed["huge.safetensors"]["fault"]) == (
                None,
                None,
            )
            headers = [
                tasks.create_task(client.get("/brains/huge.safetensors")) for _ in range(THREADS)
            ]
            body = {"workflow": _pinned("huge.safetensors", small)}
            checks = [tasks.create_task(client.post("/check", body)) for _ in range(THREADS)]

            await client.post("/userdata/workflows%2Fmine.json", film())
            assert (await client.post("/check", {"workflow": film()}))["faults"] == []
            assert (await client.get("/brains/small.safetensors"))["sha256"] == small
            assert await page.until("files", lambda data: data["what"] == "brains")
            assert {brain["file"]: brain for brain in await client.get("/brains")}[
                "small.safetensors"
            ]["sha256"] == small
            assert (await client.post("/check", {"workflow": _pinned("other.safetensors", other)}))[
                "faults"
            ] == []
            (fault,) = (
                await client.post("/check", {"workflow": _pinned("other.safetensors", small)})
            )["faults"]
            assert "is not the brain this workflow was saved with" in fault["message"]

            for header in await asyncio.gather(*headers):
                assert header["sha256"] is None
            for answer in await asyncio.gather(*checks):
                (fault,) = answer["faults"]
                assert (fault["node"], fault["socket"]) == ("large", "brain")
                assert "still being worked out" in fault["message"]

    server.talk(talk)
    assert server.end() == 0


def test_a_brain_that_changes_while_it_is_read_is_read_again(server: Server) -> None:
    path = _brain(server.data / "models" / "changing.safetensors", TERABYTE)

    async def talk(client: Talk) -> None:
        reading = asyncio.create_task(client.get("/brains/changing.safetensors"))
        assert (await client.get("/brains"))[0]["sha256"] is None
        _brain(path, 3000)
        found = await client.get("/brains/changing.safetensors")
        assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (await reading)["sha256"] in (None, found["sha256"])

    server.talk(talk)


def test_a_request_that_hangs_does_not_keep_the_server_from_ending(server: Server) -> None:
    workflow = film()
    workflow["nodes"]["stuck"] = {"type": "service_nodes.Stuck@1", "in": {"count": "film.count"}}

    async def talk(client: Talk) -> None:
        checking = asyncio.create_task(client.post("/check", {"workflow": workflow}))
        await client.post("/userdata/workflows%2Fmine.json", film())
        checking.cancel()

    server.talk(talk)
    assert server.end() == 0


@pytest.mark.slow
def test_the_second_signal_ends_the_server_at_once_and_the_worker_follows(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            await client.run(film(does="hang"))
            await page.until("said")

    server.talk(talk)
    (worker,) = workers_of(server)
    server.process.send_signal(signal.SIGTERM)
    _await(lambda: not _listens(server))
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(TIMEOUT) == -signal.SIGTERM
    _await(lambda: not _lives(worker))


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _listens(server: Server) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(server.announced["port"]))) == 0


def _await(holds: Any) -> None:
    end = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
