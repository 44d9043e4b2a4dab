"""What a server takes over from one that is gone: its queue, its folder,
and what it left half written.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from minibrains.graph.workflow import parse_workflow
from minibrains.run.folder import RunFolder
from tests.support.command import Command
from tests.support.service_fixtures import Page, Talk, film, serving, workers_of
from tests.support.timeouts import TIMEOUT


async def ticking(page: Page, prompt_id: str) -> None:
    await page.until(
        "run", lambda data: data["prompt_id"] == prompt_id and data.get("ticks", 0) > 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_is_played_by_the_next_server(
    tmp_path: Path, end: signal.Signals
) -> None:
    data = tmp_path / "data"
    short = film(ticks=5, clock="fast")
    with serving(data, "--parallel", 1) as server:

        async def before(client: Talk) -> tuple[str, list[str], str]:
            async with client.page() as page:
                running = await client.run(film())
                await ticking(page, running)
                first = await client.run(
                    short, client_id="me", extra_data={"settings": {"seed": 7}, "name": "mine"}
                )
                second = await client.run(short)
                cancelled = await client.run(short)
                stopped = await client.run(short)
                last = await client.run(short, number=1000)
                front = await client.run(short, front=True)
                await client.post("/queue", {"delete": [cancelled]})
                await client.post(f"/runs/{stopped}/stop")
                return running, [front, first, second, last], cancelled

        running, waiting, cancelled = server.talk(before)
        server.process.send_signal(end)
        server.process.wait(TIMEOUT)

    with serving(data, "--parallel", 1) as server:

        async def after(client: Talk) -> None:
            newest = await client.run(short)
            order = [*waiting[:3], newest, waiting[3]]
            while (await client.get("/prompt"))["exec_info"]["queue_remaining"]:
                await asyncio.sleep(0.05)
            history = await client.get("/history")
            assert list(history) == [running, *order]
            assert all(history[prompt_id]["state"] == "done" for prompt_id in order)
            assert history[running]["state"] == ("failed" if end == signal.SIGKILL else "stopped")
            assert history[waiting[1]]["result"]["seed"] == 7
            assert history[waiting[1]]["result"]["run_dir"].endswith("-mine")
            assert history[waiting[1]]["prompt"][3]["name"] == "mine"
            await client.get(f"/runs/{cancelled}", 404)

        server.talk(after)
    assert list((data / "queue").iterdir()) == []


@pytest.mark.slow
def test_a_run_that_had_begun_is_not_tried_again(tmp_path: Path) -> None:
    """As if the server had been killed between the run folder and the end of the wait."""
    data = tmp_path / "data"
    with serving(data, "--parallel", 1) as server:

        async def before(client: Talk) -> str:
            async with client.page() as page:
                await ticking(page, await client.run(film()))
                return await client.run(film(ticks=5, clock="fast"))

        waiting = server.talk(before)
        server.process.kill()
        server.process.wait()
    (request,) = (data / "queue").iterdir()
    begun = data / "runs" / "20260101-000000-begun"
    begun.mkdir()
    (begun / "request.json").write_text(f'{{"prompt_id": "{waiting}"}}')
    (data / "queue" / "000000000000.json").write_text("{")
    with serving(data, "--parallel", 1) as server:

        async def after(client: Talk) -> None:
            assert (await client.get("/queue"))["queue_pending"] == []
            assert (await client.get(f"/runs/{waiting}"))["state"] == "failed"

        server.talk(after)
    assert not request.exists()


@pytest.mark.slow
def test_a_run_whose_folder_was_half_made_is_played_and_stands_once_in_the_history(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    short = film(ticks=5, clock="fast")
    with serving(data, "--parallel", 1) as server:

        async def before(client: Talk) -> list[str]:
            async with client.page() as page:
                running = await client.run(film())
                await ticking(page, running)
                return [running, await client.run(short)]

        order = server.talk(before)
        server.process.kill()
        server.process.wait(TIMEOUT)
    # what is left if it is killed between the folder of a run and the file that says whose it is
    RunFolder(data / "runs", parse_workflow(short))

    with serving(data) as server:

        async def after(client: Talk) -> None:
            while (await client.get("/prompt"))["exec_info"]["queue_remaining"]:
                await asyncio.sleep(0.05)
            history = await client.get("/history")
            assert [(run, item["state"]) for run, item in history.items()] == [
                (order[0], "failed"),
                (order[1], "done"),
            ]

        server.talk(after)


@pytest.mark.slow
def test_the_history_keeps_its_order_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, order = tmp_path / "data", []

    async def play(client: Talk) -> None:
        async with client.page() as page:
            for _ in range(12):  # more than ten a second, so that folders are numbered
                order.append(await client.run(film(ticks=5, clock="fast")))
                await client.outcome(page, order[-1])

    async def look(client: Talk) -> None:
        assert list(await client.get("/history")) == order

    for zone in ("UTC-5", "UTC+5"):  # so it is ten hours earlier the second time
        monkeypatch.setenv("TZ", zone)
        with serving(data, "--parallel", 1) as server:
            server.talk(look)
            server.talk(play)
    with serving(data) as server:
        server.talk(look)


def test_of_requests_with_one_id_at_once_one_is_accepted(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            body = {"prompt": film(ticks=5, clock="fast"), "prompt_id": "mine"}

            async def ask() -> int:
                async with client.session.post("/prompt", json=body) as answer:
                    return answer.status

            statuses = await asyncio.gather(*(ask() for _ in range(8)))
            assert sorted(statuses) == [200] + [400] * 7

        server.talk(talk)


@pytest.mark.slow
def test_a_second_server_on_a_data_folder_is_refused(
    tmp_path: Path, minibrains_process: Command
) -> None:
    data = tmp_path / "data"
    with serving(data, "--parallel", 1) as server:
        done = minibrains_process("serve", "--port", 0, "--data", data)
        assert done.returncode == 2
        assert f"process {server.process.pid}, at {server.address}" in done.stderr
        assert "Traceback" not in done.stderr
        server.process.kill()
        server.process.wait()
    with serving(data, "--parallel", 1) as server:
        assert server.end() == 0
    with serving(data, "--parallel", 1) as server:
        assert server.end() == 0


def test_what_a_killed_server_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    half = [
        "workflows/mine/.duel.json.a1b2c3_4", "models/.upload.a1b2c3_4", "uploads/.a.png.a1b2c3_4",
        "runs/one/.summary.json.a1b2c3_4", "runs/one/pictures/0011.partial",
        "queue/.000000000001.json.a1b2c3_4",
    ]  # fmt: skip
    whole = [
        "workflows/.hidden.json", "workflows/mine/duel.json", "workflows/.git.settings",
        "models/.hidden.safetensors", "runs/one/pictures/0011.png", "runs/one/.hidden",
    ]  # fmt: skip
    fresh = "runs/one/.error.txt.a1b2c3_4"
    for name in (*half, *whole, fresh):
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        if name != fresh:
            os.utime(path, (time.time() - 3600, time.time() - 3600))
    with serving(data, "--parallel", 1):
        assert not any((data / name).exists() for name in half)
        assert all((data / name).exists() for name in whole)
        assert (data / fresh).exists(), "a worker that ends may be writing it"


def test_a_killed_server_leaves_nothing_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                await ticking(page, await client.run(film()))

        server.talk(talk)
        server.process.kill()
        server.process.wait()
    assert [path.name for path in temporary.iterdir() if path.name.startswith("minibrains")] == []


def test_cancelled_runs_are_forgotten_in_time(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                running = await client.run(film())
                await ticking(page, running)
                for _ in range(60):
                    await client.run(film())
                await client.post("/queue", {"clear": True})
                assert len(await client.get("/runs")) == 51

        server.talk(talk)


def test_a_cut_line_does_not_cost_the_episodes_before_it(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--parallel", 1) as server:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                prompt_id = await client.run(
                    film(ticks=20), extra_data={"settings": {"episodes": 100_000}}
                )
                await page.until(
                    "run",
                    lambda data: data["prompt_id"] == prompt_id and data.get("episode", 0) > 2,
                )
                (worker,) = workers_of(server)
                os.kill(worker, signal.SIGSTOP)
                (folder,) = (server.data / "runs").iterdir()
                with (folder / "episodes.jsonl").open("a") as file:
                    file.write('{"episode": 3, "sco')
                os.kill(worker, signal.SIGKILL)
                result = await client.outcome(page, prompt_id)
                assert result["state"] == "failed"
                assert len(result["summary"]["episodes"]) >= 2

        server.talk(talk)
