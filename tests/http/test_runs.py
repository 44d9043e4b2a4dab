"""Runs as a client has them: queue, control, edits, history,
and what happens when something dies.
"""

from __future__ import annotations

import asyncio
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
    """Wait until a run is in a state."""
    return await page.until(
        "run", lambda data: data["prompt_id"] == prompt_id and data.get("state") == wanted
    )


async def ticking(page: Page, prompt_id: str, beyond: int = 0) -> Json:
    """Wait until a run has ticked, or has gone beyond a tick."""
    return await page.until(
        "run", lambda data: data["prompt_id"] == prompt_id and data.get("ticks", 0) > beyond
    )


async def ended(client: Talk, page: Page, prompt_id: str) -> str:
    """Wait until a run is over; return the state in which it ended."""
    result = await client.outcome(page, prompt_id)
    return str(result["state"])


async def refusal(client: Talk, path: str, body: Json | None = None, status: int = 400) -> str:
    """Return the type of the error with which a request is refused."""
    answer = await client.post(path, body, status)
    return str(answer["error"]["type"])


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
        assert result["state"] == "done"

        summary = result["summary"]
        assert summary["ticks"] == 80
        assert len(summary["episodes"]) == 2
        assert summary["seed"] == 7
        assert summary["clock"] == "fast"

        folder = Path(summary["run_dir"])
        assert folder.parent == server.data / "runs"
        assert folder.name.endswith("-mine")
        assert json.loads((folder / "summary.json").read_text()) == summary
        assert (folder / "run.tape").stat().st_size > 0

        history = await client.get("/history")
        item = history[prompt_id]
        alone = await client.get(f"/history/{prompt_id}")
        assert alone[prompt_id] == item
        _, its_id, workflow, its_extra, *_ = item["prompt"]
        assert its_id == prompt_id
        assert workflow == json.loads((folder / "workflow.json").read_text())
        assert its_extra == extra
        assert item["result"] == summary
        assert await client.get("/history/none") == {}

        details = await client.get(f"/runs/{prompt_id}")
        assert details["state"] == "done"
        assert details["result"] == summary
        assert details["settings"] == extra["settings"]

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
        (error,) = adder["errors"]
        assert error["type"] == "return_type_mismatch"
        assert error["extra_info"]["input_name"] == "value"
        assert adder["class_type"] == "service_nodes.Adder@1"

        sockets = {(fault["node"], fault["socket"]) for fault in refused["faults"]}
        assert sockets == {("adder", "value"), ("film", "colours"), ("gone", None)}

    server.talk(talk)


def test_what_is_no_request_for_a_run_is_refused(server: Server) -> None:
    of_comfyui = {"1": {"class_type": "KSampler"}}
    wrong: list[dict[str, Any]] = [
        {"extra_data": 3},
        {"extra_data": {"settings": {"ticks": 0}}},
        {"extra_data": {"settings": []}},
        {"prompt_id": 3},
    ]

    async def talk(client: Talk) -> None:
        assert await refusal(client, "/prompt", {}) == "no_prompt"
        assert await refusal(client, "/prompt", {"prompt": of_comfyui}) == "invalid_prompt"
        for entries in wrong:
            await client.post("/prompt", {"prompt": film(), **entries}, 400)
        assert await client.get("/prompt") == {"exec_info": {"queue_remaining": 0}}

    server.talk(talk)


def test_two_runs_at_once_and_a_queue_in_order(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            first = await client.run(film())
            second = await client.run(film())
            await ticking(page, first)
            await ticking(page, second)

            # three more wait
            short = film(ticks=5, clock="fast")
            third = await client.run(short)
            fourth = await client.run(short, number=1e6)
            front = await client.run(short, front=True)
            queue = await client.get("/queue")
            assert {item[1] for item in queue["queue_running"]} == {first, second}
            assert [item[1] for item in queue["queue_pending"]] == [front, third, fourth]
            prompt = await client.get("/prompt")
            assert prompt["exec_info"]["queue_remaining"] == 5

            # what cannot be done now
            taken = {"prompt": film(), "prompt_id": first}
            assert await refusal(client, "/prompt", taken) == "invalid_prompt_id"
            assert await refusal(client, f"/runs/{third}/pause", status=409) == "not_yet"
            edit = {"workflow": film(ticks=6)}
            assert await refusal(client, f"/runs/{third}/edit", edit, 409) == "not_yet"

            # the second is interrupted, and those that wait are played in its place
            await client.post("/queue", {"delete": [fourth]})
            await client.post("/interrupt", {"prompt_id": second})
            assert await ended(client, page, second) == "stopped"
            assert await ended(client, page, front) == "done"
            assert await ended(client, page, third) == "done"
            assert await client.state(first) == "running"
            assert await client.state(fourth) == "stopped"

            # without an id, what runs is interrupted
            await client.post("/interrupt")
            assert await ended(client, page, first) == "stopped"
            history = await client.get(f"/history/{first}")
            assert history[first]["status"]["completed"] is False

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
            assert changed == {"changed": "fighter replaced"}
            old["nodes"]["view"] = {"type": "Preview@2", "in": {"value": "console.frame"}}
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": old})
            (item,) = (await client.get("/queue"))["queue_running"]
            assert list(item[2]["nodes"]) == item[4] == list(old["nodes"])
            await client.post(f"/runs/{prompt_id}/stop")
            assert await ended(client, page, prompt_id) == "stopped"

    server.talk(talk)


# -- while it runs ---------------------------------------------------------------------------------


def test_pause_step_resume_and_stop(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(clock="fast"))
            run = f"/runs/{prompt_id}"
            await page.watch(prompt_id, "film")
            await ticking(page, prompt_id)

            # pause
            await client.post(f"{run}/pause")
            await state(page, prompt_id, "paused")
            paused = (await client.get(run))["ticks"]

            # one step, then ten, after which the newest picture is shown
            await client.post(f"{run}/step")
            stepped = await ticking(page, prompt_id, paused)
            assert stepped["ticks"] == paused + 1
            await client.post(f"{run}/step", {"ticks": 10})
            await page.until("run", lambda data: data.get("ticks") == paused + 11)
            while not page.pictures or page.pictures[-1].about["tick"] != paused + 11:
                await page.picture()
            for ticks in (0, -1, True, "3", 1.5):
                await client.post(f"{run}/step", {"ticks": ticks}, 400)

            # resume
            await client.post(f"{run}/resume")
            await ticking(page, prompt_id, paused + 100)

            # stop, while it is paused
            await client.post(f"{run}/pause")
            await state(page, prompt_id, "paused")
            await client.post(f"{run}/stop")
            assert await ended(client, page, prompt_id) == "stopped"
            assert await refusal(client, f"{run}/resume", status=409) == "over"

    server.talk(talk)


PAUSE = 4
"""Seconds: much longer than a busy machine is late."""


def test_a_pause_is_no_missed_deadline(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(clock="realtime"))
            await ticking(page, prompt_id, 20)
            # so slow that a busy machine is in time
            await client.post(f"/runs/{prompt_id}/pause")
            await state(page, prompt_id, "paused")
            await client.post(f"/runs/{prompt_id}/speed", {"speed": 0.1})
            await client.post(f"/runs/{prompt_id}/resume")
            await state(page, prompt_id, "running")

            await client.post(f"/runs/{prompt_id}/pause")
            await state(page, prompt_id, "paused")
            await asyncio.sleep(PAUSE)  # what is tested is that this time does not count
            for _ in range(3):
                await client.post(f"/runs/{prompt_id}/resume")
                await state(page, prompt_id, "running")
                await client.post(f"/runs/{prompt_id}/pause")
                await state(page, prompt_id, "paused")

            await client.post(f"/runs/{prompt_id}/stop")
            result = await client.outcome(page, prompt_id)
            deadlines = result["summary"]["deadlines"]
            late = deadlines["slipped_s"] + deadlines["drift_frames"] / deadlines["rate"]
            assert late < PAUSE / 2, "the schedule began anew after each pause"

    server.talk(talk)


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
    file = server.data.parent / "home" / "games" / "Pad-Genesis" / f"{name}.state"
    from_state = json.loads(json.dumps(PAD))
    from_state["nodes"]["console"]["set"]["states"] = [name]
    from_state["run"] = {"ticks": 5}
    refused = {
        "is there already": {"node": "console", "name": name},
        "cannot be the name of a save state": {"node": "console", "name": "../up"},
        "'look' is not a console of this run": {"node": "look", "name": "x"},
        "'nobody' is not a console of this run": {"node": "nobody", "name": "x"},
        "'node' or 'name' is missing": {"node": "console"},
        "'name' is not a text": {"node": "console", "name": 3},
    }

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(PAD)
            save = f"/runs/{prompt_id}/save_state"
            await ticking(page, prompt_id)
            if paused:
                await client.post(f"/runs/{prompt_id}/pause")
                await state(page, prompt_id, "paused")

            saved = await client.post(save, {"node": "console", "name": name})
            assert saved == {"state": name, "game": "Pad-Genesis", "file": str(file)}
            written = file.read_bytes()

            # what is refused changes nothing
            for words, body in refused.items():
                answer = await client.post(save, body, 400)
                assert words in answer["error"]["message"]
            assert file.read_bytes() == written
            assert [path.name for path in file.parent.glob(".*")] == []

            # a run that is over, or that there never was
            await client.post(f"/runs/{prompt_id}/stop")
            assert await ended(client, page, prompt_id) == "stopped"
            await client.post(save, {"node": "console", "name": "late"}, 409)
            await client.post("/runs/none/save_state", {"node": "console", "name": "x"}, 404)

            # a run that begins from the state
            result = await client.outcome(page, await client.run(from_state))
            (episode,) = result["summary"]["episodes"]
            assert episode["start"]["state"] == name

    server.talk(talk)


@pytest.mark.parametrize("paused", [False, True])
def test_a_running_graph_is_edited(server: Server, paused: bool) -> None:
    changed = film()
    changed["nodes"]["adder"]["set"] = {"add": 1e6}
    broken = film()
    broken["nodes"]["adder"]["in"]["value"] = "film.frame"

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film())
            edit = f"/runs/{prompt_id}/edit"
            await page.watch(prompt_id, values=("adder",))
            await ticking(page, prompt_id)
            if paused:
                await client.post(f"/runs/{prompt_id}/pause")
                await state(page, prompt_id, "paused")

            # an edit
            answer = await client.post(edit, {"workflow": changed})
            assert answer == {"changed": "adder.add = 1000000.0"}
            if paused:
                await client.post(f"/runs/{prompt_id}/step")
            await page.until("values", lambda data: data["values"].get("adder.number", 0) >= 1e6)

            # one that is refused
            refused = await client.post(edit, {"workflow": broken}, 400)
            (fault,) = refused["faults"]
            assert (fault["node"], fault["socket"]) == ("adder", "value")
            await client.post(edit, {}, 400)
            details = await client.get(f"/runs/{prompt_id}")
            assert details["workflow"]["nodes"]["adder"]["set"] == {"add": 1e6}

            # one that is too late
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            await client.post(edit, {"workflow": film()}, 409)

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
            assert await ended(client, page, prompt_id) == "failed"

            error = await page.until("execution_error")
            assert error["node_id"] == "troubled"
            assert error["node_type"] == "service_nodes.Troubled@1"
            assert "service_nodes.py" in "".join(error["traceback"])

            details = await client.get(f"/runs/{prompt_id}")
            assert details["nodes"]["troubled"]["state"] == "failed"
            assert details["error"]["message"] == failed["message"]
            history = await client.get(f"/history/{prompt_id}")
            assert history[prompt_id]["status"]["status_str"] == "error"

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
            failed = await page.until("failed")
            assert "console" in failed["message"]
            assert await ended(client, page, prompt_id) == "failed"

    server.talk(talk)


def test_a_worker_that_dies_is_a_failed_run_with_its_last_words(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            other = await client.run(film())
            await ticking(page, other)

            prompt_id = await client.run(film(does="die"))
            failed = await page.until("failed")
            message = failed["message"]
            assert "SIGKILL" in message
            assert "farewell from the worker" in message

            result = await client.outcome(page, prompt_id)
            folder = Path(result["summary"]["run_dir"])
            summary = json.loads((folder / "summary.json").read_text())
            assert summary["error"]["message"] == message

            # the others have heard nothing of it
            after = await client.run(film(ticks=5, clock="fast"))
            assert await ended(client, page, after) == "done"
            assert await client.state(other) == "running"
            await client.post(f"/runs/{other}/stop")
            await client.outcome(page, other)

    server.talk(talk)


def test_a_run_that_hangs_is_ended_by_the_second_stop(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(film(does="hang"))
            await page.until("said")
            await client.post(f"/runs/{prompt_id}/stop")
            assert await client.state(prompt_id) == "stopping"
            await client.post(f"/runs/{prompt_id}/stop")
            assert await ended(client, page, prompt_id) == "failed"

            after = await client.run(film(ticks=5, clock="fast"))
            assert await ended(client, page, after) == "done"

    server.talk(talk)


def test_freed_workers_are_replaced(server: Server) -> None:
    async def talk(client: Talk) -> None:
        await client.post("/free", {"unload_models": True})
        async with client.page() as page:
            prompt_id = await client.run(film(ticks=5, clock="fast"))
            assert await ended(client, page, prompt_id) == "done"

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

            # what was there is still there
            kept = await client.get("/history")
            assert kept[done] == history[done]
            assert running in kept
            details = await client.get(f"/runs/{running}")
            assert details["workflow"]["nodes"] == film()["nodes"]
            assert await client.state(done) == "done"

            # a part of it
            ids = list(kept)
            assert list(await client.get("/history?max_items=1")) == ids[-1:]
            assert list(await client.get("/history?max_items=2&offset=0")) == ids[:2]
            await client.get("/history?max_items=x", 400)

            # it is thrown away
            await client.post("/history", {"delete": [done]})
            assert done not in await client.get("/history")
            await client.get(f"/runs/{done}", 404)
            await client.post("/history", {"clear": True})
            assert await client.get("/history") == {}

        server.talk(after)
        assert list((data / "runs").iterdir()) == []
        thrown_away = [path.name for path in (data / "trash").iterdir()]
        assert len(thrown_away) == 3
        assert any(run.name in name for name in thrown_away)
        assert server.end() == 0


def _folder(data: Path, prompt_id: str) -> Path:
    """Return the folder of a run."""
    for path in (data / "runs").iterdir():
        request = json.loads((path / "request.json").read_text())
        if request["prompt_id"] == prompt_id:
            return path
    raise AssertionError(f"there is no folder of the run {prompt_id}")


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
    message = json.loads(done.stdout)["error"]["message"]
    assert f"cannot listen on 127.0.0.1:{port}" in message
    assert "Traceback" not in done.stderr


def test_sigterm_is_as_good_as_ctrl_c(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:
        assert set(server.announced) == {"address", "open", "host", "port", "data"}
        os.kill(server.process.pid, signal.SIGTERM)
        assert server.process.wait(TIMEOUT) == 0
