"""A finished run is opened from its tape, and its ticks are watched like those of any other run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving
from tests.support.service_nodes import picture


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server


def counts(tick: int) -> Callable[[Json], bool]:
    """Whether a page is shown that the film is at this picture."""
    return lambda data: data["values"].get("film.count") == tick


def begun(played: str) -> Callable[[Json], bool]:
    """Whether a page is told that a recorded run can be rewound."""
    return lambda data: data.get("rewinds") == played and data.get("state") in ("running", "paused")


async def record(client: Talk, page: Page, **extra: object) -> str:
    workflow = film(ticks=200, clock="fast", colours=16)
    prompt_id = await client.run(workflow, extra_data={"record": True, **extra})
    await client.outcome(page, prompt_id)
    return prompt_id


def test_any_tick_is_shown_as_it_was(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            played = await record(client, page)
            opened = (await client.post(f"/runs/{played}/rewind"))["prompt_id"]
            about = await page.until("run", begun(played))
            assert about["prompt_id"] == opened

            timeline = await client.get(f"/runs/{opened}/timeline")
            assert (timeline["last"], timeline["difference"]) == (200, None)
            assert timeline["marks"] == [
                {"tick": 200, "kind": "episode", "node": "", "text": "game 1 ended: limit"}
            ]

            await page.watch(opened, "film", values=("adder", "film"))
            for tick in (137, 12, 199):
                await client.post(f"/runs/{opened}/seek", {"tick": tick})
                await page.until("values", counts(tick))
                while (shown := await page.picture()).about["tick"] != tick:
                    pass
                assert np.array_equal(shown.pixels(), picture(tick, 16))

            await client.post(f"/runs/{opened}/step")
            await page.until("run", lambda data: data.get("tick") == 200)

            refused = await client.post(f"/runs/{opened}/edit", {"workflow": film()}, 400)
            assert "recorded run cannot be changed" in refused["error"]["message"]
            assert list(await client.get("/history")) == [played], "it leaves no run of its own"
            await client.post(f"/runs/{opened}/stop")
            await client.outcome(page, opened)

    server.talk(talk, 60)


def test_what_has_no_tape_is_refused_in_a_sentence(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(ticks=5, clock="fast"))
            await client.outcome(page, prompt_id)
            refused = await client.post(f"/runs/{prompt_id}/rewind", status=400)
            assert "was not recorded" in refused["error"]["message"]

            await client.post("/runs/nobody/rewind", status=404)
            going = await client.run(film())
            await page.until("run", lambda data: data.get("state") == "running")
            await client.post(f"/runs/{going}/rewind", status=409)
            await client.post(f"/runs/{going}/seek", {"tick": 1}, 409)
            await client.post(f"/runs/{going}/stop")
            await client.outcome(page, going)

    server.talk(talk, 60)
