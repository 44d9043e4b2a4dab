"""Parts are saved with a version, listed, and thrown away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_fixtures import Server, Talk, serving

EYES: dict[str, Any] = {
    "title": "Eyes",
    "nodes": {"grey": {"type": "Grayscale@1"}},
    "inputs": {"frame": "grey.frame"},
    "outputs": {"frame": "grey.frame"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


def test_a_part_gets_the_next_version_when_it_is_saved_again(server: Server) -> None:
    async def talk(client: Talk) -> None:
        body = {"part": "eyes", "defs": {"eyes": EYES}}
        async with client.page() as page:
            saved = await client.post("/parts/vision/eyes", body)
            assert await page.until("files") == {"what": "parts"}
        assert saved["defs"]["eyes"] == {**EYES, "version": 1}
        again = await client.post("/parts/vision/eyes", body)
        assert again["defs"]["eyes"]["version"] == 2
        (listed,) = await client.get("/parts")
        assert (listed["name"], listed["error"]) == ("vision/eyes", None)
        assert listed["defs"] == again["defs"]
        file = server.data / "parts/vision/eyes.json"
        assert json.loads(file.read_text()) == {
            "minibrains": 1,
            "part": "eyes",
            "defs": again["defs"],
        }
        await client.ask("DELETE", "/parts/vision/eyes", status=204)
        assert await client.get("/parts") == []
        assert list((server.data / "trash").iterdir())

    server.talk(talk)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, 'expected {"part": NAME, "defs": {NAME: …}}'),
        ({"part": "eyes", "defs": {}}, "\"defs\" has no subgraph 'eyes'"),
        (
            {"part": "eyes", "defs": {"eyes": {**EYES, "inputs": {"frame": "gray.frame"}}}},
            "'frame' leads to gray.frame, but it has no node 'gray'",
        ),
        (
            {"part": "eyes", "defs": {"eyes": {"nodes": {"a": {"type": "defs/eyes"}}}}},
            "the subgraph 'eyes' contains itself: eyes -> eyes",
        ),
    ],
)
def test_what_is_no_part_is_refused(server: Server, body: Any, sentence: str) -> None:
    async def talk(client: Talk) -> None:
        refused = await client.ask("POST", "/parts/bad", json=body, status=400)
        assert sentence in refused["error"]["message"]
        await client.ask("POST", "/parts/..%2Fbad", json=body, status=400)

    server.talk(talk)


def test_a_bad_file_gets_one_sentence(server: Server) -> None:
    folder: Path = server.data / "parts"
    (folder / "text.json").write_text("{")
    (folder / "other.json").write_text('{"minibrains": 1, "nodes": {}}')

    async def talk(client: Talk) -> None:
        other, text = await client.get("/parts")
        assert other["error"].startswith("the part other.json cannot be used: this is not a part")
        assert text["error"].startswith("the part text.json is not JSON")
        body = {"part": "eyes", "defs": {"eyes": EYES}}
        await client.ask("POST", "/parts/text", json=body, status=409)

    server.talk(talk)
