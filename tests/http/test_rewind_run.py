"""A finished run, or the last ticks of one that goes on, are watched like any other run."""

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


def beyond(tick: int) -> Callable[[Json], bool]:
    """Whether a page is told of a later tick."""
    return lambda data: (data.get("tick") or 0) > tick


async def see(client: Talk, page: Page, opened: str, tick: int) -> None:
    """Go to a tick of a recorded run, and see what the film showed then."""
    await client.post(f"/runs/{opened}/seek", {"tick": tick})
    await page.until("values", counts(tick))
    shown = await page.picture()
    while shown.about["tick"] != tick:
        shown = await page.picture()
    assert np.array_equal(shown.pixels(), picture(tick, 16))


async def record(client: Talk, page: Page, **extra: object) -> str:
    workflow = film(ticks=200, clock="fast", colours=16)
    prompt_id = await client.run(workflow, extra_data={"record": True, **extra})
    await client.outcome(page, prompt_id)
    return prompt_id


def test_any_tick_is_shown_as_it_was(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            played = await record(client, page)
            opened = await client.rewind(page, played)
            assert (await client.get(f"/runs/{opened}"))["replay_of"] == played

            timeline = await client.get(f"/runs/{opened}/timeline")
            assert (timeline["first"], timeline["last"]) == (0, 200)
            assert timeline["difference"] is None
            assert timeline["marks"] == [
                {"tick": 200, "kind": "episode", "node": "", "text": "game 1 ended: limit"}
            ]

            await page.watch(opened, "film", values=("adder", "film"))
            for tick in (137, 12, 199):
                await see(client, page, opened, tick)

            await client.post(f"/runs/{opened}/step")
            await page.until("run", lambda data: data.get("tick") == 200)

            refused = await client.post(f"/runs/{opened}/edit", {"workflow": film()}, 400)
            assert "recorded run cannot be changed" in refused["error"]["message"]
            assert list(await client.get("/history")) == [played], "it leaves no run of its own"
            await client.end(page, opened)

    server.talk(talk)


def test_a_run_is_recorded_from_its_middle(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            going = await client.run(film())
            await page.until("run", beyond(40))
            address = f"/runs/{going}/record"
            begun = await client.post(address, {"on": True})
            assert begun == {"recording": True}

            refused = await client.post(address, {"on": True}, 400)
            assert refused["error"]["message"] == "this run is being recorded already"
            await client.post(address, {"on": "yes"}, 400)

            now = await client.get(f"/runs/{going}")
            assert now["recorded"]
            assert now["recording"]

            # the tape ends, and the run goes on
            await page.until("run", beyond(now["ticks"] + 20))
            ended = await client.post(address, {"on": False})
            assert ended == {"recording": False}
            later = await client.get(f"/runs/{going}")
            await page.until("run", beyond(later["ticks"] + 10))
            await client.end(page, going)

            # it is a tape like any other
            history = await client.get(f"/history/{going}")
            assert history[going]["recorded"]
            played = history[going]["result"]["ticks"]
            opened = await client.rewind(page, going)
            timeline = await client.get(f"/runs/{opened}/timeline")
            assert timeline["difference"] is None
            assert timeline["first"] < now["ticks"] < timeline["last"] < played
            await client.end(page, opened)

    server.talk(talk)


def test_the_last_ticks_of_a_run_are_shown_while_it_waits(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            going = await client.run(film())
            await page.until("run", beyond(0))
            # so slow that its beginning is still among its last ticks
            await client.post(f"/runs/{going}/speed", {"speed": 0.05})
            await page.until("run", beyond(40))
            opened = await client.rewind(page, going)
            timeline = await client.get(f"/runs/{opened}/timeline")
            assert (timeline["first"], timeline["difference"]) == (0, None)
            last = timeline["last"]
            assert last > 40
            now = await client.get(f"/runs/{going}")
            assert (now["state"], now["ticks"]) == ("paused", last)

            # every tick as it was, while the run itself stands still
            await page.watch(opened, "film", values=("adder", "film"))
            for tick in (last - 1, 3, 31):
                await see(client, page, opened, tick)
            assert (await client.get(f"/runs/{going}"))["ticks"] == last

            # a fork of one of them ends when the run would have
            await client.post(f"/runs/{opened}/rewind", status=409)
            asked = {"tick": 31, "workflow": film(ticks=60, clock="fast"), "client_id": "page"}
            asked["settings"] = {"ticks": 60, "clock": "fast"}
            fork = await client.post(f"/runs/{opened}/fork", asked)
            assert fork["tick"] == 31
            await client.end(page, fork["prompt_id"])

            # then it goes on
            await client.end(page, opened)
            await client.post(f"/runs/{going}/resume")
            await page.until("run", beyond(last))
            await client.end(page, going)

    server.talk(talk)


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
            await client.post(f"/runs/{going}/seek", {"tick": 1}, 409)
            await client.end(page, going)

    server.talk(talk)
