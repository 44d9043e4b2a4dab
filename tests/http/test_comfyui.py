"""Clients of ComfyUI: a graph from /object_info alone, prompts in its API format, its events."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.support.paths import ROOT
from tests.support.service_fixtures import Json, Picture, Server, Talk, serving
from tests.support.timeouts import TIMEOUT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


def prompt() -> Json:
    """A film, its count plus one, and somebody who looks at it."""
    return {
        "1": {
            "class_type": "service_nodes.Film",
            "inputs": {"colours": 16},
            "_meta": {"title": "the film"},
        },
        "2": {"class_type": "service_nodes.Adder", "inputs": {"value": ["1", 1], "every": 2}},
        "3": {"class_type": "Preview", "inputs": {"value": ["1", 0]}},
    }


def played(ticks: int, clock: str = "realtime") -> Json:
    return {"settings": {"ticks": ticks, "clock": clock}}


def test_the_client_of_the_documentation_plays_and_sees(server: Server, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    (client,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    said = subprocess.run(
        [sys.executable, "-c", client, server.address, tmp_path],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert said.returncode == 0, said.stderr
    report = json.loads(said.stdout)
    files = sorted(tmp_path.iterdir())
    assert report["pictures"] == len(files) > 2
    for file in files:
        with Image.open(file) as picture:
            assert picture.size == (320, 224)
    assert list(report["outputs"]) == ["4"]


def test_object_info_has_the_choices_that_a_graph_needs(server: Server) -> None:
    async def talk(client: Talk) -> None:
        info = await client.get("/object_info")
        for brain in await client.get("/brains"):
            for about in info.values():
                files = {**about["input"]["required"], **about["input"]["optional"]}.get("brain")
                if files and f"the kind {brain['kind']}" in files[1]["tooltip"]:
                    assert brain["file"] in files[0]
        emulator = info["RetroEmulator"]
        choices, options = emulator["input"]["optional"]["game"]
        assert choices == await client.get("/games")
        assert options["default"] in choices
        assert emulator["output_node"]
        assert info["PolicyHead"]["input"]["required"]["brain"][0]
        type_, options = info["AntiRepeat"]["input"]["optional"]["alternatives"]
        assert (type_, options["default"]) == ("STRING", "[0, 1]")
        # a client links only what has a type in common
        assert info["Score"]["input"]["optional"]["when"][0] in info["EmulatorSink"]["output"]

    server.talk(talk)


def test_comfyuis_front_end_can_start(server: Server) -> None:
    nothing = (
        "extensions", "embeddings", "i18n", "settings", "workflow_templates", "global_subgraphs",
        "experiment/models",
    )  # fmt: skip

    async def talk(client: Talk) -> None:
        for path in nothing:
            assert not await client.get(f"/api/{path}")
        assert await client.get("/api/users") == {"storage": "server", "migrated": True}

    server.talk(talk)


def test_a_prompt_in_the_api_format_becomes_a_workflow(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(prompt(), extra_data=played(30, "fast"))
            outcome = await client.outcome(page, prompt_id)
            assert outcome["state"] == "done"
        workflow = (await client.get(f"/history/{prompt_id}"))[prompt_id]["prompt"][2]
        assert workflow["nodes"] == {
            "1": {
                "type": "service_nodes.Film@1",
                "title": "the film",
                "in": {},
                "set": {"colours": 16},
            },
            "2": {
                "type": "service_nodes.Adder@1",
                "every": 2,
                "in": {"value": "1.count"},
                "set": {},
            },
            "3": {"type": "Preview@2", "in": {"value": "1.frame"}, "set": {}},
        }
        job = await client.get(f"/jobs/{prompt_id}")
        assert (job["status"], job["previewable_outputs_count"]) == ("completed", 1)
        (listed,) = (await client.get("/jobs?status=completed&limit=1"))["jobs"]
        assert listed["id"] == prompt_id
        assert listed["preview_output"]["nodeId"] == "3"

    server.talk(talk)


@pytest.mark.parametrize(
    ("node", "code", "words"),
    [
        ({"class_type": "Preview", "inputs": {"value": ["1", 7]}}, "unknown_output", "output_7"),
        ({"class_type": "Nothing", "inputs": {}}, "missing_node_type", "Nothing"),
        ({"class_type": "Preview", "inputs": {}}, "required_input_missing", "value"),
        (
            {"class_type": "service_nodes.Film", "inputs": {"colours": "many"}},
            "invalid_input_type",
            "colours",
        ),
        (
            {"class_type": "service_nodes.Film", "inputs": {"colour": 3}},
            "unknown_widget",
            "colours",
        ),
    ],
)
def test_a_wrong_prompt_has_errors_by_node(
    server: Server, node: Json, code: str, words: str
) -> None:
    async def talk(client: Talk) -> None:
        body = {"prompt": {**prompt(), "4": node}}
        refused = await client.post("/prompt", body, 400)
        assert list(refused["node_errors"]) == ["4"]
        assert code in [error["type"] for error in refused["node_errors"]["4"]["errors"]]
        assert words in refused["error"]["details"]

    server.talk(talk)


def test_graphs_for_comfyui_itself_are_named(server: Server) -> None:
    theirs = {
        "3": {"class_type": "KSampler", "inputs": {"model": ["4", 0], "seed": 5}},
        "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "x.safetensors"}},
    }
    saved = {"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}

    async def talk(client: Talk) -> None:
        refused = await client.post("/prompt", {"prompt": theirs}, 400)
        assert "prompt for ComfyUI" in refused["error"]["details"]
        assert "CheckpointLoaderSimple, KSampler" in refused["error"]["details"]
        refused = await client.post("/prompt", {"prompt": saved}, 400)
        assert "ComfyUI's editor" in refused["error"]["details"]
        checked = await client.post("/check", {"workflow": prompt()})
        assert "ComfyUI's API format" in checked["faults"][0]["found"]

    server.talk(talk)


def test_a_failed_job_says_why_and_has_the_graph_that_the_client_sent(server: Server) -> None:
    inputs = {"does": "raise", "count": ["1", 1]}
    troubled = {"class_type": "service_nodes.Troubled", "inputs": inputs}
    extra_data = {**played(30, "fast"), "extra_pnginfo": {"workflow": {"nodes": []}}}

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run({**prompt(), "4": troubled}, extra_data=extra_data)
            await client.outcome(page, prompt_id)
        job = await client.get(f"/jobs/{prompt_id}")
        assert job["workflow"]["extra_data"] == extra_data
        error = job["execution_error"]
        assert "as I was told" in error["exception_message"]
        assert error.keys() > {"node_id", "node_type", "exception_type", "traceback"}

    server.talk(talk)


def test_a_script_gets_the_pictures_of_a_node_live_and_afterwards(server: Server) -> None:
    """As ComfyUI's script examples do it, but for the end: once there is a picture."""

    async def talk(client: Talk) -> None:
        request = {"prompt": prompt(), "client_id": "script", "extra_data": played(10_000_000)}
        node: str | None = ""
        pictures: list[bytes] = []
        async with client.page("script") as page:
            prompt_id = (await client.post("/api/prompt", request))["prompt_id"]
            while node is not None:
                found = await page.next()
                if isinstance(found, Picture):
                    if node == "3" and not pictures:
                        await client.post("/interrupt", {"prompt_id": prompt_id})
                    if node == "3":
                        pictures.append(found.body)
                elif found[0] == "executing":
                    node = found[1]["node"]
        assert pictures
        outputs = (await client.get(f"/history/{prompt_id}"))[prompt_id]["outputs"]
        (kept,) = outputs["3"]["images"]
        for data in (*pictures, await client.get("/view", params=kept)):
            assert Image.open(io.BytesIO(data)).size == (32, 24)

    server.talk(talk)


def test_a_client_that_is_loaded_again_goes_on_watching_its_run(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("tab") as page:
            prompt_id = await client.run(prompt(), client_id="tab", extra_data=played(10_000_000))
            await page.until("execution_start")
        async with client.page("tab") as page:
            await page.socket.send_json({"type": "feature_flags", "data": {}})
            progress = await page.until("progress_state")
            assert progress["prompt_id"] == prompt_id
            while not page.pictures:
                await page.next()
            await client.post("/interrupt", {"prompt_id": prompt_id})
            await page.until("executing", lambda data: data["node"] is None)

    server.talk(talk)


def test_a_client_that_never_watches_sees_progress_and_pictures(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("stock") as page:
            flags = {"type": "feature_flags", "data": {"supports_preview_metadata": True}}
            await page.socket.send_json(flags)
            prompt_id = await client.run(prompt(), client_id="stock", extra_data=played(10_000_000))
            running = await page.until(
                "progress_state",
                lambda data: data["nodes"].get("1", {}).get("state") == "running",
            )
            assert running["nodes"]["1"]["max"] == 10_000_000
            shown: list[Picture] = []
            while len(shown) < 6:  # more than may be unacknowledged
                found = await page.next()
                if isinstance(found, Picture):
                    shown.append(found)
            await client.post(f"/jobs/{prompt_id}/cancel")
            await page.until(
                "progress_state", lambda data: data["nodes"]["1"]["state"] == "finished"
            )
            executed = await page.until("executed")
            await page.until("executing", lambda data: data["node"] is None)
        assert executed["node"] == "3"
        assert {picture.about["node_id"] for picture in shown} == {"1", "3"}
        assert {picture.event for picture in shown} == {4}
        first = Image.open(io.BytesIO(shown[0].body))
        assert (first.format, first.size) == ("PNG", (32, 24))
        assert not {type_ for type_, _ in page.events} & {"nodes", "values"}

    server.talk(talk)
