"""Breakpoints pause a run after the tick on which they begin to hold, and slow motion slows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.test_runs import ticking
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server


def film_with(breakpoints: dict[str, str], **settings: Any) -> Json:
    """Return the film, paused where it says."""
    return {**film(clock="fast", **settings), "breakpoints": breakpoints}


class Told:
    """What a page is told of one run, all of it together."""

    def __init__(self, page: Page, prompt_id: str) -> None:
        self._page, self._prompt_id = page, prompt_id
        self.run: Json = {}

    async def until(self, **wanted: Any) -> Json:
        """Return what was told once all of this holds."""

        def holds(data: Json) -> bool:
            if data["prompt_id"] != self._prompt_id:
                return False
            self.run |= data
            return wanted.items() <= self.run.items()

        await self._page.until("run", holds)
        return self.run


def test_a_run_is_paused_after_the_tick_on_which_a_breakpoint_begins_to_hold(
    server: Server,
) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            workflow = film_with({"film.count": ">= 50", "adder.number": "== 151"})
            prompt_id = await client.run(workflow)
            told = Told(page, prompt_id)
            await told.until(state="paused", breakpoints=["film.count >= 50"], tick=50)

            # it goes on holding, so the other one is next: picture 151 is read on the 152nd tick
            await client.post(f"/runs/{prompt_id}/resume")
            await told.until(state="paused", breakpoints=["adder.number == 151"], tick=152)

            # a step leaves it
            await client.post(f"/runs/{prompt_id}/step")
            await told.until(state="paused", breakpoints=[], tick=153)

            # others are set while it is paused; none at all, and it plays as fast as before
            given = {"breakpoints": {"film.count": "== 200"}}
            answer = await client.post(f"/runs/{prompt_id}/breakpoints", given)
            assert answer == {"breakpoints": ["film.count == 200"]}
            await client.post(f"/runs/{prompt_id}/resume")
            await told.until(state="paused", tick=200)
            await client.post(f"/runs/{prompt_id}/breakpoints", {"breakpoints": {}})
            await client.post(f"/runs/{prompt_id}/resume")
            await ticking(page, prompt_id, 1000)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_a_live_edit_brings_its_breakpoints(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(clock="fast"))
            await ticking(page, prompt_id)
            edited = film_with({"film.count": "> 0"}, colours=8)
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": edited})
            await Told(page, prompt_id).until(state="paused", breakpoints=["film.count > 0"])
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_a_recorded_run_is_paused_as_well(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            workflow = {**film(ticks=200, clock="fast"), "breakpoints": {"film.count": "== 120"}}
            recorded = {"record": True}
            played = await client.run(workflow, extra_data=recorded)
            first = Told(page, played)
            await first.until(state="paused", tick=120)
            await client.post(f"/runs/{played}/resume")
            await client.outcome(page, played)

            opened = (await client.post(f"/runs/{played}/rewind"))["prompt_id"]
            told = Told(page, opened)
            await told.until(state="paused", tick=200)
            await client.post(f"/runs/{opened}/seek", {"tick": 110})
            await told.until(state="paused", tick=110)
            await client.post(f"/runs/{opened}/speed", {"speed": 0.5})
            await client.post(f"/runs/{opened}/resume")
            await told.until(tick=120, breakpoints=["film.count == 120"], speed=0.5)
            await client.post(f"/runs/{opened}/stop")
            await client.outcome(page, opened)

    server.talk(talk)


def test_what_is_no_breakpoint_is_refused_in_a_sentence(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            refused = await client.post(
                "/prompt", {"prompt": film_with({"film.cuont": "< 0"})}, 400
            )
            (fault,) = refused["faults"]
            assert fault["code"] == "unknown_output"
            assert "count" in fault["hint"]

            prompt_id = await client.run(film(clock="fast"))
            await ticking(page, prompt_id)
            for given in ({"film.count": "about 7"}, {"film.count": "< true"}, ["film.count"]):
                body = {"breakpoints": given}
                refused = await client.post(f"/runs/{prompt_id}/breakpoints", body, 400)
                assert "breakpoint" in refused["error"]["message"]
            body = {"breakpoints": {"nobody.count": "< 0"}}
            refused = await client.post(f"/runs/{prompt_id}/breakpoints", body, 400)
            assert '"nobody.count < 0"' in refused["error"]["message"]
            body = {"breakpoints": {"troubled.text": '== "1 of them"'}}
            refused = await client.post(f"/runs/{prompt_id}/breakpoints", body, 400)
            assert "not kept" in refused["error"]["message"], "nothing is linked to it"
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_the_realtime_clock_is_slowed_down(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await ticking(page, prompt_id)
            await client.post(f"/runs/{prompt_id}/speed", {"speed": 0.25})
            await Told(page, prompt_id).until(speed=0.25)
            for speed in (0, 2, 0.001, "half"):
                await client.post(f"/runs/{prompt_id}/speed", {"speed": speed}, 400)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

            fast = await client.run(film(clock="fast"))
            await ticking(page, fast)
            refused = await client.post(f"/runs/{fast}/speed", {"speed": 0.5}, 409)
            assert "real time" in refused["error"]["message"]
            await client.post(f"/runs/{fast}/stop")
            await client.outcome(page, fast)

    server.talk(talk)


def test_one_node_after_the_other_is_run_within_a_tick(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            workflow = film_with({"film.count": "== 9"})
            prompt_id = await client.run(workflow)
            told = Told(page, prompt_id)
            await told.until(state="paused", tick=9)
            assert told.run["at"] is None

            # what each was given, and what it made of it; in between the run stands still
            steps: list[Json] = []
            while len(steps) < 6:
                await client.post(f"/runs/{prompt_id}/step_node")
                before = told.run["at"]
                while told.run["at"] == before:
                    await told.until(state="paused", ticks=9)
                steps.append(told.run["at"])
            by_node = {(step["node"], step["role"]): step for step in steps}
            assert by_node["film", "emit"]["outputs"]["count"] == 9
            adder = by_node["adder", "tick"]
            assert (adder["inputs"], adder["outputs"]) == ({"value": 9}, {"number": 9})
            assert by_node["keep", "tick"]["inputs"] == {"value": 9}

            # a change ends the tick, and is made between it and the next one
            workflow["nodes"]["adder"]["title"] = "adds"
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": workflow})
            await told.until(state="paused", ticks=10, at=None)
            await client.post(f"/runs/{prompt_id}/step_node")
            first = await told.until(state="paused", ticks=10)
            while first["at"] is None:
                first = await told.until(state="paused", ticks=10)
            assert first["at"]["node"] == "film"

            # a step ends it as well, and so does going on
            await client.post(f"/runs/{prompt_id}/step")
            await told.until(state="paused", ticks=11, at=None)
            await client.post(f"/runs/{prompt_id}/step_node")
            await client.post(f"/runs/{prompt_id}/resume")
            await told.until(state="running", at=None)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)
