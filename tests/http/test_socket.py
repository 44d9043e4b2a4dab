"""The websocket: what a page sees of a run, and that nobody waits for a page."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import numpy as np
import pytest
from PIL import Image

from tests.support.service_fixtures import Json, Server, Talk, film, serving
from tests.support.service_nodes import picture
from tests.support.timeouts import TIMEOUT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server


@pytest.mark.parametrize("node", ["film", "look"])
def test_previews_are_the_very_picture_of_their_tick(server: Server, node: str) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(colours=200))
            await page.watch(prompt_id, node)
            shown = [await page.picture() for _ in range(12)]
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
        for one in shown:
            assert one.about["node"] == node
            assert one.about["prompt_id"] == prompt_id
            assert np.array_equal(one.pixels(), picture(one.about["tick"], 200))
        numbers = [one.about["seq"] for one in shown]
        assert numbers == sorted(set(numbers)), "each is newer than the one before"

    server.talk(talk)


def test_a_picture_of_many_colours_comes_as_jpeg(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(colours=768))
            await page.watch(prompt_id, "film")
            shown = await page.picture()
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
        assert shown.event == 4
        image = Image.open(io.BytesIO(shown.body))
        assert (image.format, image.size) == ("JPEG", (32, 24))

    server.talk(talk)


def test_two_pictures_may_be_underway_and_the_next_waits_for_an_acknowledgement(
    server: Server,
) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page, client.page("other") as other:
            prompt_id = await client.run(film())
            await page.watch(prompt_id, "film")
            await other.watch(prompt_id, "film")
            for _ in range(5):
                await other.picture()
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            assert len(page.pictures) == 2, (
                "the page that acknowledges nothing holds nobody up and gets nothing more"
            )

    server.talk(talk)


def test_inputs_and_outputs_in_full_come_only_of_nodes_that_are_watched_so(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(does="nothing"))
            await page.watch(prompt_id, values=("adder",))
            await page.until("values")
            assert not [type_ for type_, _ in page.events if type_ in ("inputs", "outputs")]
            await page.watch(prompt_id, full=("adder", "film"))
            inputs = await page.until("inputs")
            assert set(inputs["inputs"]) == {"adder.value"}
            outputs = await page.until("outputs", lambda data: "film.frame" in data["outputs"])
            assert outputs["outputs"]["film.frame"] == {"type": "uint8[24 32 3]"}
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_events_are_deltas_and_values_only_of_watched_nodes(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.watch(prompt_id, values=("adder", "film"))
            await page.until("values", lambda data: len(data["values"]) == 2)
            changed = await page.until("run", lambda data: "tick" in data and "clock" not in data)
            assert changed["prompt_id"] == prompt_id
            await page.until(
                "nodes", lambda data: data["nodes"].get("film", {}).get("state") == "running"
            )
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            watched = {
                key for type_, data in page.events if type_ == "values" for key in data["values"]
            }
            assert watched == {"adder.number", "film.count", "film.frame"}

    server.talk(talk)


def test_a_budget_has_the_time_of_each_of_the_last_ticks(server: Server) -> None:
    workflow = film()
    workflow["nodes"]["slow"] = {
        "type": "service_nodes.Slow@1",
        "in": {"value": "film.count"},
        "every": 6,
    }

    def is_full(data: Json) -> bool:
        return set(data["nodes"]) == {"", "adder", "slow"} and len(data["nodes"][""]["us"]) == 60

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await page.watch(prompt_id, values=("adder",))
            await page.until("values")
            assert not [type_ for type_, _ in page.events if type_ == "budget"]
            await page.watch(prompt_id, budgets=("", "adder", "slow", "no such node"))
            budget = await page.until("budget", is_full)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
        tick, adder, slow = (budget["nodes"][node] for node in ("", "adder", "slow"))
        assert len(adder["us"]) == 60
        assert sum(adder["us"]) > 0
        assert "thought" not in adder
        assert any(slow["thought"])
        assert all(mine <= whole + 1 for mine, whole in zip(adder["us"], tick["us"], strict=True))
        assert tick["slowest"][0] in workflow["nodes"]
        assert tick["frame_us"] == pytest.approx(1e6 / 600, abs=0.1)
        assert set(tick["missed"]) == {"nodes", "engine", "unscheduled"}

    server.talk(talk)


def test_all_of_a_run_is_told_when_it_is_watched(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.until("run", lambda data: "clock" in data)
            await page.until("run", lambda data: "clock" not in data)
            await page.watch(prompt_id)
            told = await page.until("run", lambda data: "clock" in data)
            assert told["state"] == "running"
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_the_time_of_a_node_that_thinks_is_that_of_its_thoughts(server: Server) -> None:
    workflow = film()
    workflow["nodes"]["slow"] = {
        "type": "service_nodes.Slow@1",
        "in": {"value": "film.count"},
        "every": 6,
    }

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await page.watch(prompt_id)
            told = await page.until(
                "nodes", lambda data: (data["nodes"].get("slow", {}).get("us") or 0) >= 20_000
            )
            assert all(ms > 20 for ms, _ in told["nodes"]["slow"]["think_times"])
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_a_page_is_told_how_far_a_node_is(server: Server) -> None:
    workflow = film()
    workflow["nodes"]["works"] = {"type": "service_nodes.Works@1", "in": {"count": "film.count"}}

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await page.watch(prompt_id)
            told = await page.until(
                "nodes",
                lambda data: data["nodes"].get("works", {}).get("progress", {}).get("done", 0) >= 5,
            )
            assert told["nodes"]["works"]["state"] == "thinking"
            shown = told["nodes"]["works"]["progress"]
            assert (shown["total"], shown["text"]) == (None, "waits for the end")
            await client.post(f"/runs/{prompt_id}/stop")
            outcome = await client.outcome(page, prompt_id)
            assert outcome["state"] == "stopped"

    server.talk(talk)


def test_a_page_sees_that_a_process_is_started_again(server: Server) -> None:
    workflow = film()
    keys = {"busy": "continue", "on_error": "hold", "every": 6}
    workflow["nodes"]["mortal"] = {
        "type": "service_nodes.Mortal@1",
        "in": {"value": "film.count"},
        **keys,
    }

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await page.watch(prompt_id)
            await page.until(
                "nodes", lambda data: data["nodes"].get("mortal", {}).get("state") == "restarting"
            )
            told = await page.until(
                "nodes", lambda data: data["nodes"].get("mortal", {}).get("restarts", 0) > 0
            )
            assert told["nodes"]["mortal"]["errors"] > 0
            await client.post(f"/runs/{prompt_id}/stop")
            outcome = await client.outcome(page, prompt_id)
            assert outcome["summary"]["nodes"]["mortal"]["restarts"] > 0
            assert outcome["summary"]["nodes"]["mortal"]["think_p95_ms"] > 0
            details = await client.get(f"/runs/{prompt_id}")
            assert details["nodes"]["mortal"]["restarts"] > 0

    server.talk(talk)


def test_a_page_that_comes_back_sees_the_whole_state(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.until("run", lambda data: data.get("ticks", 0) > 10)
        # the page is closed, and the run goes on
        async with client.page() as page:
            await page.watch(prompt_id, "film", values=("adder",))
            run = await page.until("run", lambda data: data["prompt_id"] == prompt_id)
            assert run["ticks"] > 10
            assert {
                "state",
                "episode",
                "episodes",
                "tick",
                "ticks_per_s",
                "clock",
                "misses",
            } <= set(run)
            nodes = await page.until("nodes")
            assert set(nodes["nodes"]) == {"film", "troubled", "adder", "keep", "look"}
            await page.until("values")
            assert np.array_equal(
                (shown := await page.picture()).pixels(), picture(shown.about["tick"], 16)
            )
            details = await client.get(f"/runs/{prompt_id}")
            assert details["state"] == "running"
            assert details["workflow"]["nodes"] == film()["nodes"]
            assert details["nodes"].keys() == nodes["nodes"].keys()
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)

    server.talk(talk)


def test_a_second_page_of_the_same_name_takes_over(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("same") as first, client.page("same") as second:
            await second.until("status", lambda data: data.get("sid") == "same")
            while (message := await first.socket.receive(TIMEOUT)).type is aiohttp.WSMsgType.TEXT:
                pass
            assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)

    server.talk(talk)


def test_what_a_page_says_wrongly_changes_nothing(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            for text in (
                "",
                "{",
                "[]",
                '{"type": "watch"}',
                '{"type": "watch", "data": {"previews": 3}}',
                '{"type": "ack", "data": 1}',
            ):
                await page.socket.send_str(text)
            await page.socket.send_json({"type": "feature_flags", "data": {}})
            assert (await page.until("feature_flags"))["supports_preview_metadata"]

    server.talk(talk)


def test_a_page_that_never_reads_holds_nobody_up(server: Server) -> None:
    with _deaf_page(server) as deaf:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                prompt_id = await client.run(film(colours=16, size=1024), client_id="page")
                watch = {
                    "type": "watch",
                    "data": {
                        "prompt_id": prompt_id,
                        "previews": ["film"],
                        "values": ["film", "adder"],
                    },
                }
                deaf.sendall(_masked(json.dumps(watch).encode()))
                await page.watch(prompt_id, values=("film",))
                first = await page.until("run", lambda data: data.get("ticks", 0) > 0)
                later = await page.until(
                    "run", lambda data: data.get("ticks", 0) > first["ticks"] + 500
                )
                await page.watch(prompt_id, "film")
                shown = await page.picture()
                assert shown.about["seq"] <= 3, "for a page that takes nothing, nothing is encoded"
                await client.post(f"/runs/{prompt_id}/stop")
                outcome = await client.outcome(page, prompt_id)
                assert outcome["summary"]["ticks"] >= later["ticks"]
                assert outcome["state"] == "stopped"

        server.talk(talk)


@pytest.mark.slow
@pytest.mark.parametrize(
    "says",
    [
        pytest.param({"lines": 10, "letters": 2000}, id="more than 2000 events"),
        pytest.param(
            {"lines": 1, "letters": 1_000_000, "ticks": 200}, id="200 events of a million letters"
        ),
    ],
)
def test_a_page_that_lives_and_never_reads_is_cut_off(server: Server, says: dict[str, int]) -> None:
    workflow = film()
    workflow["nodes"]["chatty"] = {
        "type": "service_nodes.Chatty@1",
        "set": says,
        "in": {"count": "film.count"},
    }

    async def talk(client: Talk) -> None:
        with _deaf_page(server) as deaf:
            prompt_id = await client.run(workflow)
            with pytest.raises(ConnectionError):
                await _show_life(deaf)
        assert (await client.get(f"/runs/{prompt_id}"))["state"] in ("starting", "running"), (
            "nobody else is harmed"
        )
        await client.post(f"/runs/{prompt_id}/stop")
        while (await client.get(f"/runs/{prompt_id}"))["state"] != "stopped":
            await asyncio.sleep(0.05)

    server.talk(talk)


async def _show_life(deaf: socket.socket) -> None:
    """Send pongs until the connection ends: without them the heartbeat would end it."""
    while True:
        deaf.sendall(bytes([0x8A, 0x80, 0, 0, 0, 0]))
        await asyncio.sleep(0.05)


@contextmanager
def _deaf_page(server: Server) -> Iterator[socket.socket]:
    """A websocket that nobody reads."""
    with socket.create_connection(("127.0.0.1", int(server.announced["port"]))) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        upgrade = (
            "GET /ws?clientId=deaf HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: "
            "websocket\r\nConnection: Upgrade\r\n"
        )
        deaf.sendall(
            (
                f"{upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                "AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            ).encode()
        )
        yield deaf


def _masked(text: bytes) -> bytes:
    """A text message as a browser frames it, with a mask of zeros."""
    return bytes([0x81, 0x80 | 126, *len(text).to_bytes(2, "big"), 0, 0, 0, 0]) + text


def test_a_stock_script_for_comfyui_runs_a_workflow(server: Server) -> None:
    """As ComfyUI's own websockets_api_example.py does it: POST /prompt,
    listen until `executing` says null, look.
    """
    server_address, client_id = server.address.removeprefix("http://").strip("/"), str(uuid.uuid4())

    async def talk(client: Talk) -> None:
        async with client.page(client_id) as page:
            body = json.dumps(
                {
                    "prompt": film(ticks=30, clock="fast"),
                    "client_id": client_id,
                    "prompt_id": (mine := str(uuid.uuid4())),
                }
            )
            asked = await client.ask("POST", "/prompt", data=body.encode())
            assert asked == {"prompt_id": mine, "number": asked["number"], "node_errors": {}}
            await page.until(
                "executing", lambda data: data["node"] is None and data["prompt_id"] == mine
            )
            order = [type_ for type_, data in page.events if type_.startswith("exec")]
            # those between name the nodes whose pictures follow, if any came in time
            assert order[:2] == ["execution_start", "execution_cached"]
            assert set(order[2:-3]) <= {"executing"}
            assert order[-3:] == ["executed", "execution_success", "executing"]
            history = (await client.get(f"/history/{mine}"))[mine]
            assert history["status"] == {
                **history["status"],
                "status_str": "success",
                "completed": True,
            }
            (image,) = history["outputs"]["look"]["images"]
            query = "&".join(f"{key}={value}" for key, value in image.items())
            with urllib.request.urlopen(f"http://{server_address}/view?{query}") as answer:
                data = answer.read()
            assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), picture(29, 16))

    server.talk(talk)


def test_a_client_hears_execution_events_of_its_own_runs_only(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("mine") as mine, client.page("theirs") as theirs:
            prompt_id = await client.run(film(ticks=3, clock="fast"), client_id="mine")
            await mine.until("executing", lambda data: data["node"] is None)
            await theirs.until("result", lambda data: data["prompt_id"] == prompt_id)
            await client.run(film(ticks=3, clock="fast"), client_id="theirs")
            await theirs.until("executing", lambda data: data["node"] is None)
            started = [
                data["prompt_id"] for type_, data in theirs.events if type_ == "execution_start"
            ]
            assert prompt_id not in started
            assert len(started) == 1

    server.talk(talk)
