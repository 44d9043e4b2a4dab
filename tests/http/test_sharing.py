"""A workflow with its brains is downloaded from one server and uploaded to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from minibrains.files import bundled_dir
from minibrains.run.rewind import Rewind
from tests.support.service_fixtures import Server, Talk, serving, upload_form


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("elsewhere"), "--parallel", 1) as server:
        yield server


def test_a_workflow_goes_from_one_server_to_another(server: Server, elsewhere: Server) -> None:
    brain = bundled_dir("models") / "action_table" / "airstriker.safetensors"
    own = server.data / "models" / "mine.safetensors"
    own.write_bytes(brain.read_bytes()[:-1] + b"\1")
    workflow = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    workflow["nodes"]["sink"]["brain"] = "mine.safetensors"

    async def download(client: Talk) -> bytes:
        body = {"workflow": workflow, "name": "steers.json"}
        data: bytes = await client.post("/export", body)
        return data

    archive = server.talk(download)

    async def upload(client: Talk) -> None:
        form = upload_form("file", archive, "steers.zip")
        async with client.page() as page:
            imported = await client.ask("POST", "/import", data=form)
            assert await page.until("files") == {"what": "workflows"}
            assert await page.until("files") == {"what": "brains"}
        assert (imported["workflow"], imported["brains"]) == ("steers.json", 1)
        assert imported["remarks"] == []
        saved = await client.get("/userdata/workflows%2Fsteers.json")
        assert saved["nodes"]["sink"]["brain"]["file"] == "mine.safetensors"
        async with client.page() as page:
            extra = {"settings": {"ticks": 5, "episodes": 1}, "name": "steers.json"}
            prompt_id = await client.run(saved, extra_data=extra)
            assert (await client.outcome(page, prompt_id))["state"] == "done"

    elsewhere.talk(upload)
    assert (elsewhere.data / "models" / "mine.safetensors").read_bytes() == own.read_bytes()
    for data in (server.data, elsewhere.data):
        assert list((data / "uploads").iterdir()) == []


def test_a_recorded_run_goes_with_its_tape(server: Server, elsewhere: Server) -> None:
    text = (bundled_dir("workflows") / "airstriker_random.json").read_text()
    workflow = json.loads(text)

    async def record(client: Talk) -> bytes:
        extra = {"settings": {"ticks": 30, "episodes": 1}, "record": True, "film": True}
        async with client.page() as page:
            run = await client.run(workflow, extra_data=extra)
            assert (await client.outcome(page, run))["state"] == "done"
        refused = await client.post("/export", {"workflow": workflow, "run": "nobody"}, 400)
        assert refused["error"]["message"] == "there is no recorded run of this id"
        data: bytes = await client.post("/export", {"workflow": workflow, "run": run})
        return data

    archive = server.talk(record)

    async def upload(client: Talk) -> str:
        form = upload_form("file", archive, "recorded.zip")
        imported = await client.ask("POST", "/import", data=form)
        return str(imported["tape"])

    tape = Path(elsewhere.talk(upload))
    assert tape.parent == elsewhere.data / "tapes"
    with Rewind.of(tape) as rewind:
        ticks = list(rewind.scan())
        assert (ticks[-1], rewind.difference) == (30, None)


def test_a_workflow_with_faults_is_not_exported(server: Server) -> None:
    async def talk(client: Talk) -> None:
        workflow = {"minibrains": 1, "nodes": {"sink": {"type": "EmulatorSink@1"}}}
        refused = await client.post("/export", {"workflow": workflow}, 400)
        assert "sink" in refused["error"]["message"]

    server.talk(talk)


@pytest.mark.parametrize("name", ["bad.zip", "../bad.zip", ".zip"])
def test_what_is_no_archive_is_refused_by_name(server: Server, name: str) -> None:
    async def talk(client: Talk) -> None:
        form = upload_form("file", b"PK\3\4 but nothing else", name)
        refused = await client.ask("POST", "/import", 400, data=form)
        assert name in refused["error"]["message"]
        assert str(server.data) not in refused["error"]["message"]

    server.talk(talk)


def test_folders_of_a_killed_import_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "uploads" / ".upload.abc"
    folder.mkdir(parents=True)
    (folder / "half").write_bytes(b"half")
    with serving(tmp_path):
        assert list((tmp_path / "uploads").iterdir()) == []
