"""A recorded run is forked by a page: another run plays on from one of its ticks."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from minibrains.files import bundled_dir
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving

TICKS = 240
FORKED_AT = 100


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 3) as server:
        yield server


def workflow(hold: int = 8) -> Json:
    data: Json = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    data["run"] = {"episodes": 1, "ticks": TICKS, "seed": 5}
    for node in data["nodes"].values():
        if node["type"].startswith("RandomPolicy"):
            node["set"] = {**node.get("set", {}), "hold": hold}
    return data


async def opened(client: Talk, page: Page, played: str) -> str:
    """Open a finished run from its tape, and wait until it is read; return the id."""
    prompt_id = await client.rewind(page, played)
    timeline = await client.get(f"/runs/{prompt_id}/timeline")
    assert timeline["difference"] is None
    return prompt_id


async def episode(client: Talk, page: Page, prompt_id: str) -> Json:
    row: Json = (await client.outcome(page, prompt_id))["summary"]["episodes"][0]
    return row


def test_two_forks_of_one_run(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            played = await client.run(workflow(), extra_data={"record": True})
            was = await episode(client, page, played)
            rewound = await opened(client, page, played)

            # one without a change, one with another setting
            asked = {"tick": FORKED_AT, "client_id": "page"}
            same = await client.post(f"/runs/{rewound}/fork", asked)
            assert same["tick"] == FORKED_AT
            assert await episode(client, page, same["prompt_id"]) == was
            asked["workflow"] = workflow(hold=3)
            other = await client.post(f"/runs/{rewound}/fork", asked)
            now = await episode(client, page, other["prompt_id"])
            assert now["actions_sha256"] != was["actions_sha256"]
            assert now["ticks"] == was["ticks"]

            # they are runs like others, in the history, and say where they come from
            item = (await client.get(f"/history/{other['prompt_id']}"))[other["prompt_id"]]
            assert item["recorded"]
            assert item["prompt"][3]["fork"] == {"of": played, "tick": FORKED_AT}

            # beside the first one
            found = []
            for fork in (same, other):
                beside = await opened(client, page, fork["prompt_id"])
                about = await client.get(f"/runs/{rewound}/difference?from={beside}")
                found.append(about)
                await client.end(page, beside)
            assert found[0] == {"tick": None, "values": {}}
            assert FORKED_AT < found[1]["tick"] < TICKS
            # both held the same buttons until then
            one, other = found[1]["values"]["console.pad1"]
            assert one != other
            assert (await client.get(f"/runs/{rewound}"))["ticks"] == FORKED_AT
            await client.post(f"/runs/{rewound}/stop")

    server.talk(talk)


def test_ticks_are_found_by_value(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            played = await client.run(workflow(), extra_data={"record": True})
            await client.outcome(page, played)
            rewound = await opened(client, page, played)
            marks = (await client.get(f"/runs/{rewound}/timeline"))["marks"]
            rewards = [mark["tick"] for mark in marks if mark["kind"] == "reward"]
            assert rewards

            asked = {"output": "console.reward", "condition": "> 0"}
            found = (await client.post(f"/runs/{rewound}/find", asked))["marks"]
            assert [mark["tick"] for mark in found] == rewards
            assert found[0] == {
                "tick": rewards[0],
                "kind": "found",
                "node": "console",
                "text": "console.reward > 0",
            }
            found = await client.post(f"/runs/{rewound}/find", {"output": "console.reward"})
            assert set(rewards) <= {mark["tick"] for mark in found["marks"]}
            assert found["marks"][0]["text"].startswith("reward 0 → ")

            asked = {"output": "console.variables.score", "condition": "> 0"}
            found = (await client.post(f"/runs/{rewound}/find", asked))["marks"]
            assert [mark["tick"] for mark in found] == rewards[:1]
            assert found[0]["text"] == "console.variables.score > 0"

            wrong = [
                "console.nothing",
                "nobody.reward",
                "console.frame",
                "console.variables",
                "console.variables.scor",
            ]
            for output in wrong:
                refused = await client.post(f"/runs/{rewound}/find", {"output": output}, 400)
                assert "nothing can be found" in refused["error"]["message"]
            await client.post(f"/runs/{rewound}/find", {**asked, "condition": "soon"}, 400)
            await client.post(f"/runs/{rewound}/stop")

    server.talk(talk)


def test_what_cannot_be_forked_is_refused_in_a_sentence(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            played = await client.run(film(ticks=50, clock="fast"), extra_data={"record": True})
            await client.outcome(page, played)
            rewound = await opened(client, page, played)
            refused = await client.post(f"/runs/{rewound}/fork", {"tick": 50}, 400)
            assert "the game is over at tick 50: limit" in refused["error"]["message"]
            refused = await client.post(f"/runs/{rewound}/fork", {"tick": -1}, 400)
            assert "expected a whole number from 0" in refused["error"]["message"]
            faulty = {"tick": 5, "workflow": {"minibrains": 1, "nodes": {"a": {"type": "None@1"}}}}
            refused = await client.post(f"/runs/{rewound}/fork", faulty, 400)
            assert refused["faults"]

            going = await client.run(film())
            await page.until("run", lambda data: data.get("state") == "running")
            await client.post(f"/runs/{going}/fork", {"tick": 1}, 409)
            await client.get(f"/runs/{rewound}/difference?from={going}", 409)
            await client.get(f"/runs/{rewound}/difference?from=nobody", 404)
            await client.end(page, going)

    server.talk(talk)
