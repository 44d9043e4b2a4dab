"""A sweep over HTTP: it plays beside the runs, and its table fills."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from minibrains.files import bundled_dir
from tests.support.service_fixtures import Json, Server, Talk, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as server:
        yield server


def asked(**changes: object) -> Json:
    workflow = json.loads((bundled_dir("workflows") / "duel_vector.json").read_text())
    axes = [{"target": "choose.mode", "values": ["greedy", "sample"]}]
    return {
        "workflow": workflow,
        "axes": axes,
        "states": "validation/Level4.*",
        "episodes": 2,
        **changes,
    }


@pytest.mark.slow
def test_the_table_of_a_sweep_fills(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            assert await client.get("/sweep") is None
            begun = await client.post("/sweep", asked())
            assert (begun["state"], begun["total"]) == ("running", 4)
            assert [variant["values"] for variant in begun["variants"]] == [
                {"choose.mode": "greedy"},
                {"choose.mode": "sample"},
            ]
            await client.post("/sweep", asked(), 409)
            first = await page.until("sweep", lambda data: data["done"] == 1)
            assert first["variants"][0]["n"] == 1
            done = await page.until("sweep", lambda data: data["state"] != "running")
            assert (done["state"], done["error"]) == ("done", None)
            for variant in done["variants"]:
                assert variant["n"] == 2
                assert variant["low"] <= variant["share"] <= variant["high"]
            for name in done["files"].values():
                await client.ask("GET", f"/view?type=evaluations&filename={name}")

            # once more, with more episodes: those that are there are not played again
            more = await client.post("/sweep", asked(episodes=3))
            assert (more["done"], more["total"]) == (4, 6)
            await client.post("/sweep/stop")
            over = await page.until("sweep", lambda data: data["state"] != "running")
            assert over["state"] in ("stopped", "done")

    server.talk(talk)


def test_what_cannot_be_swept_is_refused_in_a_sentence(server: Server) -> None:
    async def talk(client: Talk) -> None:
        for changes, words in (
            ({"states": "held_back"}, "amounts to training"),
            ({"states": "nowhere"}, "nowhere"),
            ({"episodes": 0}, "expected 'episodes'"),
            ({"axes": []}, "something to vary"),
            ({"axes": [{"target": "choose.mode"}]}, "expected {target, values}"),
            ({"axes": [{"target": "console.noop_max", "values": [1]}]}, "the same for all players"),
            ({"axes": [{"target": "choose.mode", "values": ["x"]}]}, "choose"),
            ({"workflow": {"minibrains": 1, "nodes": {}}}, "at least one node"),
            ({"workflow": 5}, "workflow"),
            ({"seed": -1}, "whole number"),
        ):
            refused = await client.post("/sweep", asked(**changes), 400)
            assert words in json.dumps(refused), (changes, refused)

    server.talk(talk)
