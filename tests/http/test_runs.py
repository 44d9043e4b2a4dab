"""Runs as a client has them: queue, control, edits, history,
and what happens when something dies.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.paths import DATA
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving
from tests.support.timeouts import TIMEOUT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 2) as server:
        yield server


async def state(page: Page, prompt_id: str, wanted: str) -> Json:
    return await page.until(
        "run", lambda data: data["prompt_id"] == prompt_id and data.get("state") == wanted
    )


async def ticking(page: Page, prompt_id: str, beyond: int = 0) -> Json:
    return await page.until(
        "run", lambda data: data["prompt_id"] == prompt_id and data.get("ticks", 0) > beyond
    )


# -- asking for a run ------------------------------------------------------------------------------


def test_a_run_is_played_and_stands_in_the_history(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            extra = {
                "settings": {"episodes": 2, "ticks": 40, "seed": 7, "clock": "fast"},
                "name": "films/mine",
                "record": True,
            }
            prompt_id = await client.run(film(), extra_data=extra)
            result = await client.outcome(page, prompt_id)
        summary = result["summary"]
        assert result["state"] == "done"
        assert (summary["ticks"], len(summary["episodes"]), summary["seed"], summary["clock"]) == (
            80,
            2,
            7,
            "fast",
        )
        folder = Path(summary["run_dir"])
        assert folder.parent == server.data / "runs"
        assert folder.name.endswith("-mine")
        assert json.loads((folder / "summary.json").read_text()) == summary
        assert (folder / "run.tape").stat().st_size > 0
        item = (await client.get("/history"))[prompt_id]
        assert item == (await client.get(f"/history/{prompt_id}"))[prompt_id]
        assert item["prompt"][1:3] == [
            prompt_id,
            json.loads((folder / "workflow.json").read_text()),
        ]
        assert item["prompt"][3] == extra
        assert item["result"] == summary
        details = await client.get(f"/runs/{prompt_id}")
        assert details["state"] == "done"
        assert details["result"] == summary
        assert details["settings"] == {"episodes": 2, "ticks": 40, "seed": 7, "clock": "fast"}
        assert await client.get("/history/none") == {}

    server.talk(talk)


def test_a_workflow_with_faults_is_refused_with_all_of_them(server: Server) -> None:
    broken = film()
    broken["nodes"]["adder"]["in"]["value"] = "film.frame"
    broken["nodes"]["film"]["set"]["colours"] = 0
    broken["nodes"]["gone"] = {"type": "NoSuchNode@1"}

    async def talk(client: Talk) -> None:
        refused = await client.post("/prompt", {"prompt": broken}, 400)
        assert refused["error"]["type"] == "prompt_outputs_failed_validation"
        assert set(refused["error"]) == {"type", "message", "details", "extra_info"}
        assert set(refused["node_errors"]) == {"adder", "film", "gone"}
        adder = refused["node_errors"]["adder"]
        assert [error["type"] for error in adder["errors"]] == ["return_type_mismatch"]
        assert adder["class_type"] == "service_nodes.Adder@1"
        assert adder["errors"][0]["extra_info"]["input_name"] == "value"
        assert {(fault["node"], fault["socket"]) for fault in refused["faults"]} == {
            ("adder", "value"),
            ("film", "colours"),
            ("gone", None),
        }
        assert (await client.post("/prompt", {}, 400))["error"]["type"] == "no_prompt"
        assert (await client.post("/prompt", {"prompt": {"1": {"class_type": "KSampler"}}}, 400))[
            "error"
        ]["type"] == "invalid_prompt"
        bad_entries: list[dict[str, Any]] = [
            {"extra_data": 3},
            {"extra_data": {"settings": {"ticks": 0}}},
            {"extra_data": {"settings": []}},
            {"prompt_id": 3},
        ]
        for bad in bad_entries:
            await client.post("/prompt", {"prompt": film(), **bad}, 400)
        assert await client.get("/prompt") == {"exec_info": {"queue_remaining": 0}}

    server.talk(talk)


def test_two_runs_at_once_and_a_queue_in_order(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            first, second = await client.run(film()), await client.run(film())
            await ticking(page, first)
            await ticking(page, second)
            third, fourth, front = [
                await client.run(film(ticks=5, clock="fast"), **more)
                for more in ({}, {"number": 1e6}, {"front": True})
            ]
            queue = await client.get("/queue")
            assert {item[1] for item in queue["queue_running"]} == {first, second}
            assert [item[1] for item in queue["queue_pending"]] == [front, third, fourth]
            assert (await client.get("/prompt"))["exec_info"]["queue_remaining"] == 5
            taken = {"prompt": film(), "prompt_id": first}
            assert (await client.post("/prompt", taken, 400))["error"][
                "type"
            ] == "invalid_prompt_id"
            assert (await client.post(f"/runs/{third}/pause", status=409))["error"][
                "type"
            ] == "not_yet"
            edit = {"workflow": film(ticks=6)}
            assert (await client.post(f"/runs/{third}/edit", edit, 409))["error"][
                "type"
            ] == "not_yet"
            await client.post("/queue", {"delete": [fourth]})
            await client.post("/interrupt", {"prompt_id": second})
            for prompt_id, wanted in ((second, "stopped"), (front, "done"), (third, "done")):
                assert (await client.outcome(page, prompt_id))["state"] == wanted
            assert (await client.get(f"/runs/{first}"))["state"] == "running"
            assert (await client.get(f"/runs/{fourth}"))["state"] == "stopped"
            await client.post("/interrupt")
            assert (await client.outcome(page, first))["state"] == "stopped"
            assert (await client.get(f"/history/{first}"))[first]["status"]["completed"] is False

    server.talk(talk)


def test_an_older_workflow_is_played_and_edited(server: Server) -> None:
    old = json.loads((DATA / "console1.json").read_text())
    old["run"] = {"clock": "realtime"}

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(old)
            await ticking(page, prompt_id)
            old["nodes"]["fighter"]["set"]["style"] = "defensive"
            changed = await client.post(f"/runs/{prompt_id}/edit", {"workflow": old})
            assert changed == {"changed": "fighter recreated"}
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(page, prompt_id))["state"] == "stopped"

    server.talk(talk)


# -- while it runs ---------------------------------------------------------------------------------


def test_pause_step_resume_and_stop(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(clock="fast"))
            await page.watch(prompt_id, "film")
            await ticking(page, prompt_id)
            await client.post(f"/runs/{prompt_id}/pause")
            await state(page, prompt_id, "paused")
            paused = await client.get(f"/runs/{prompt_id}")
            await client.post(f"/runs/{prompt_id}/step")
            stepped = await ticking(page, prompt_id, paused["ticks"])
            assert stepped["ticks"] == paused["ticks"] + 1
            await client.post(f"/runs/{prompt_id}/step", {"ticks": 10})
            await page.until("run", lambda data: data.get("ticks") == paused["ticks"] + 11)
            while not page.pictures or page.pictures[-1].about["tick"] != paused["ticks"] + 11:
                await page.picture()
            for ticks in (0, -1, True, "3", 1.5):
                await client.post(f"/runs/{prompt_id}/step", {"ticks": ticks}, 400)
            await client.post(f"/runs/{prompt_id}/resume")
            await ticking(page, prompt_id, paused["ticks"] + 100)
            await client.post(f"/runs/{prompt_id}/pause")
            await state(page, prompt_id, "paused")
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(page, prompt_id))["state"] == "stopped"
            assert (await client.post(f"/runs/{prompt_id}/resume", status=409))["error"][
                "type"
            ] == "over"

    server.talk(talk)


def test_a_pause_is_no_missed_deadline(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(clock="realtime"))
            await ticking(page, prompt_id, 20)
            await client.post(f"/runs/{prompt_id}/pause")
            await state(page, prompt_id, "paused")
            async with client.page("other") as other:  # much longer than a frame
                await other.until("status")
            slipped = [await _resumed(client, page, prompt_id) for _ in range(3)]
            await client.post(f"/runs/{prompt_id}/stop")
            deadlines = (await client.outcome(page, prompt_id))["summary"]["deadlines"]
            assert slipped == ["running"] * 3
            assert deadlines["drift_frames"] < 6, "the schedule began anew after each pause"

    server.talk(talk)


async def _resumed(client: Talk, page: Page, prompt_id: str) -> str:
    await client.post(f"/runs/{prompt_id}/resume")
    found = await state(page, prompt_id, "running")
    await client.post(f"/runs/{prompt_id}/pause")
    await state(page, prompt_id, "paused")
    return str(found["state"])


PAD = {
    "minibrains": 1,
    "run": {"clock": "realtime"},
    "nodes": {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}},
        "look": {"type": "Preview@2", "in": {"value": "console.frame"}},
    },
}


@pytest.mark.parametrize("paused", [False, True])
def test_the_game_of_a_run_is_saved_and_begun_from(server: Server, paused: bool) -> None:
    name = f"Mine {paused}"
    begun = json.loads(json.dumps(PAD))
    begun["nodes"]["console"]["set"]["states"] = [name]
    begun["run"] = {"ticks": 5}

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(PAD)
            save = f"/runs/{prompt_id}/save_state"
            await ticking(page, prompt_id)
            if paused:
                await client.post(f"/runs/{prompt_id}/pause")
                await state(page, prompt_id, "paused")
            saved = await client.post(save, {"node": "console", "name": name})
            file = server.data.parent / "home" / "games" / "Pad-Genesis" / f"{name}.state"
            assert saved == {"state": name, "game": "Pad-Genesis", "file": str(file)}
            written = file.read_bytes()
            refused = {
                "is there already": {"node": "console", "name": name},
                "cannot be the name of a save state": {"node": "console", "name": "../up"},
                "'look' is not a console of this run": {"node": "look", "name": "x"},
                "'nobody' is not a console of this run": {"node": "nobody", "name": "x"},
                "'node' or 'name' is missing": {"node": "console"},
                "'name' is not a text": {"node": "console", "name": 3},
            }
            for words, body in refused.items():
                assert words in (await client.post(save, body, 400))["error"]["message"]
            assert file.read_bytes() == written
            assert [path.name for path in file.parent.glob(".*")] == []
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(page, prompt_id))["state"] == "stopped"
            await client.post(save, {"node": "console", "name": "late"}, 409)
            await client.post("/runs/none/save_state", {"node": "console", "name": "x"}, 404)
            summary = (await client.outcome(page, await client.run(begun)))["summary"]
            assert summary["episodes"][0]["start"]["state"] == name

    server.talk(talk)


@pytest.mark.parametrize("paused", [False, True])
def test_a_running_graph_is_edited(server: Server, paused: bool) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.watch(prompt_id, values=("adder",))
            await ticking(page, prompt_id)
            if paused:
                await client.post(f"/runs/{prompt_id}/pause")
                await state(page, prompt_id, "paused")
            changed = film()
            changed["nodes"]["adder"]["set"] = {"add": 1e6}
            answer = await client.post(f"/runs/{prompt_id}/edit", {"workflow": changed})
            assert answer == {"changed": "adder.add = 1000000.0"}
            if paused:
                await client.post(f"/runs/{prompt_id}/step")
            await page.until("values", lambda data: data["values"].get("adder.number", 0) >= 1e6)
            broken = film()
            broken["nodes"]["adder"]["in"]["value"] = "film.frame"
            refused = await client.post(f"/runs/{prompt_id}/edit", {"workflow": broken}, 400)
            assert [(fault["node"], fault["socket"]) for fault in refused["faults"]] == [
                ("adder", "value")
            ]
            await client.post(f"/runs/{prompt_id}/edit", {}, 400)
            assert (await client.get(f"/runs/{prompt_id}"))["workflow"]["nodes"]["adder"][
                "set"
            ] == {"add": 1e6}
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": film()}, 409)

    server.talk(talk)


# -- when it fails ---------------------------------------------------------------------------------


def test_a_node_that_fails_is_named(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("mine") as page:
            prompt_id = await client.run(film(does="raise"), client_id="mine")
            said = await page.until("said")
            assert said == {"prompt_id": prompt_id, "node": None, "text": "troubled: now I raise"}
            failed = await page.until("failed")
            assert failed["node"] == "troubled"
            assert "as I was told" in failed["message"]
            assert (await client.outcome(page, prompt_id))["state"] == "failed"
            error = await page.until("execution_error")
            assert (error["node_id"], error["node_type"]) == (
                "troubled",
                "service_nodes.Troubled@1",
            )
            assert any("service_nodes.py" in line for line in error["traceback"])
            details = await client.get(f"/runs/{prompt_id}")
            assert details["nodes"]["troubled"]["state"] == "failed"
            assert details["error"]["message"] == failed["message"]
            assert (await client.get(f"/history/{prompt_id}"))[prompt_id]["status"][
                "status_str"
            ] == "error"

    server.talk(talk)


def test_a_run_that_cannot_open_is_a_failed_run(server: Server) -> None:
    workflow = {
        "minibrains": 1,
        "run": {"clock": "realtime"},
        "nodes": {"clock": {"type": "Every@1"}},
    }

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            assert "console" in (await page.until("failed"))["message"]
            assert (await client.outcome(page, prompt_id))["state"] == "failed"

    server.talk(talk)


def test_a_worker_that_dies_is_a_failed_run_with_its_last_words(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            other = await client.run(film())
            await ticking(page, other)
            prompt_id = await client.run(film(does="die"))
            message = (await page.until("failed"))["message"]
            assert "SIGKILL" in message
            assert "farewell from the worker" in message
            result = await client.outcome(page, prompt_id)
            folder = Path(result["summary"]["run_dir"])
            assert json.loads((folder / "summary.json").read_text())["error"]["message"] == message
            after = await client.run(film(ticks=5, clock="fast"))
            assert (await client.outcome(page, after))["state"] == "done"
            assert (await client.get(f"/runs/{other}"))["state"] == "running", (
                "the others have heard nothing of it"
            )
            await client.post(f"/runs/{other}/stop")
            await client.outcome(page, other)

    server.talk(talk)


def test_a_run_that_hangs_is_ended_by_the_second_stop(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(does="hang"))
            await page.until("said")
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.get(f"/runs/{prompt_id}"))["state"] == "stopping"
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(page, prompt_id))["state"] == "failed"
            after = await client.run(film(ticks=5, clock="fast"))
            assert (await client.outcome(page, after))["state"] == "done"

    server.talk(talk)


def test_freed_workers_are_replaced(server: Server) -> None:
    async def talk(client: Talk) -> None:
        await client.post("/free", {"unload_models": True})
        async with client.page() as page:
            prompt_id = await client.run(film(ticks=5, clock="fast"))
            assert (await client.outcome(page, prompt_id))["state"] == "done"

    server.talk(talk)


# -- history ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_history_survives_a_restart_and_runs_survive_a_killed_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--parallel", 1) as server:

        async def before(client: Talk) -> tuple[str, str, Json]:
            async with client.page() as page:
                done = await client.run(film(ticks=5, clock="fast"))
                await client.outcome(page, done)
                running = await client.run(film())
                await ticking(page, running)
                return done, running, await client.get("/history")

        done, running, history = server.talk(before)
        assert set(history) == {done}
        server.process.kill()
        server.process.wait()
    run = _folder(data, running)
    with serving(data, "--parallel", 1) as server:

        async def after(client: Talk) -> None:
            # a run of our own: by its end the orphaned worker has had its time
            async with client.page() as page:
                await client.outcome(page, await client.run(film(ticks=5, clock="fast")))
            kept = await client.get("/history")
            assert kept[done] == history[done]
            assert running in kept
            assert (await client.get(f"/runs/{running}"))["workflow"]["nodes"] == film()["nodes"]
            assert (await client.get(f"/runs/{done}"))["state"] == "done"
            assert set(await client.get("/history?max_items=1")) == {list(kept)[-1]}
            assert list(await client.get("/history?max_items=2&offset=0")) == list(kept)[:2]
            await client.get("/history?max_items=x", 400)
            await client.post("/history", {"delete": [done]})
            assert done not in await client.get("/history")
            await client.get(f"/runs/{done}", 404)
            await client.post("/history", {"clear": True})
            assert await client.get("/history") == {}

        server.talk(after)
        assert {path.name for path in (data / "runs").iterdir()} == set()
        assert len(list((data / "trash").iterdir())) == 3
        assert any(run.name in path.name for path in (data / "trash").iterdir())
        assert server.end() == 0


def _folder(data: Path, prompt_id: str) -> Path:
    return next(
        path
        for path in (data / "runs").iterdir()
        if json.loads((path / "request.json").read_text())["prompt_id"] == prompt_id
    )


def test_ctrl_c_ends_runs_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> str:
            async with client.page() as page:
                prompt_id = await client.run(film())
                await ticking(page, prompt_id)
                return prompt_id

        folder = _folder(server.data, server.talk(talk))
        assert server.end() == 0
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["state"] == "stopped"
        assert summary["ticks"] > 0


# -- the command -----------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_one_sentence(minibrains_process: Command) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = minibrains_process("serve", "--port", port, "--json")
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_sigterm_is_as_good_as_ctrl_c(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:
        assert set(server.announced) == {"address", "open", "host", "port", "data"}
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process.wait(TIMEOUT) == 0
