"""What was acknowledged is still there after a power cut, at whatever moment that came."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from select import select
from typing import Any

import aiohttp

from minibrains.files import bundled_dir
from tests.support.crash_states import Files, Promises, find_broken, read_calls, record
from tests.support.service_fixtures import Json, Page, Talk, film, serving
from tests.support.timeouts import TIMEOUT

BRAIN = (bundled_dir("models") / "action_table/airstriker.safetensors").read_bytes()
PICTURE = b"\x89PNG, as far as anybody looks"


def holds_file(name: str, data: bytes) -> Callable[[Files], bool]:
    return lambda files: files.get(name) == data


def holds_workflow(name: str, title: str) -> Callable[[Files], bool]:
    return lambda files: _json(files.get(name, b"")).get("title") == title


def is_gone(name: str) -> Callable[[Files], bool]:
    return lambda files: not any(file == name or file.startswith(f"{name}/") for file in files)


def is_kept(prompt_id: str) -> Callable[[Files], bool]:
    """Whether a request waits, or has begun: then it is in its run folder."""
    return lambda files: waits(files, prompt_id) or folder_of(files, prompt_id) is not None


def waits(files: Files, prompt_id: str) -> bool:
    requests = [
        _json(data)
        for name, data in files.items()
        if name.startswith("queue/") and name.endswith(".json")
    ]
    return any(request.get("prompt_id") == prompt_id for request in requests)


def folder_of(files: Files, prompt_id: str) -> str | None:
    for name, data in files.items():
        if (
            name.startswith("runs/")
            and name.endswith("/request.json")
            and _json(data).get("prompt_id") == prompt_id
        ):
            return name.removesuffix("/request.json")
    return None


def has_summary(prompt_id: str, tape: bool) -> Callable[[Files], bool]:
    def holds(files: Files) -> bool:
        folder = folder_of(files, prompt_id)
        has_tape = len(files.get(f"{folder}/run.tape", b"")) > 100
        return "state" in _json(files.get(f"{folder}/summary.json", b"")) and has_tape == tape

    return holds


def _json(data: bytes) -> Mapping[str, Any]:
    try:
        return dict(json.loads(data))
    except ValueError:
        return {}


async def save_and_move(client: Talk, promises: Promises) -> None:
    async def save(file: str, title: str) -> None:
        with promises.asking(
            file, f"{file} is {title!r}", holds_workflow(f"workflows/{file}", title)
        ):
            await client.post(
                f"/userdata/workflows%2F{file.replace('/', '%2F')}", {**film(), "title": title}
            )

    for file in ("first.json", "below/second.json", "third.json"):
        await save(file, "new")
        await save(file, "saved over")
    with promises.asking(
        "first.json",
        "first.json is called moved.json",
        holds_workflow("workflows/moved.json", "saved over"),
    ):
        await client.post("/userdata/workflows%2Ffirst.json/move/workflows%2Fmoved.json")
    with promises.asking("first.json", "there is no first.json", is_gone("workflows/first.json")):
        await save("moved.json", "saved after a move")
    with promises.asking("third.json", "third.json is deleted", is_gone("workflows/third.json")):
        await client.ask("DELETE", "/userdata/workflows%2Fthird.json", 204)
    await save("third.json", "made again")


async def upload(client: Talk, promises: Promises) -> None:
    for path, part, name, place, data in (
        ("/upload/brain", "file", "table.safetensors", "models/table.safetensors", BRAIN),
        ("/upload/image", "image", "picture.png", "uploads/picture.png", PICTURE),
    ):
        form = aiohttp.FormData()
        form.add_field(part, data, filename=name)
        with promises.asking(name, f"{name} is uploaded", holds_file(place, data)):
            async with client.session.post(path, data=form) as answer:
                assert answer.status == 200, await answer.text()


async def queue_and_play(client: Talk, page: Page, promises: Promises) -> None:
    async def ask(prompt_id: str, workflow: Json, **extra: Any) -> None:
        with promises.asking(
            prompt_id, f"{prompt_id} is in the queue, or has begun", is_kept(prompt_id)
        ):
            await client.run(workflow, prompt_id=prompt_id, extra_data=extra)

    await ask("played", film(ticks=50, clock="fast"))
    with promises.asking(
        "summary", "a run that is over has its summary", has_summary("played", tape=False)
    ):
        await client.outcome(page, "played")
    await ask("recorded", film(), record=True)
    for number in range(3):
        await ask(f"waits {number}", film(ticks=5, clock="fast"))
    with promises.asking(
        "waits 0", "a cancelled run does not wait", lambda files: not waits(files, "waits 0")
    ):
        await client.post("/queue", {"delete": ["waits 0"]})
    await page.until(
        "run", lambda data: data["prompt_id"] == "recorded" and data.get("ticks", 0) > 100
    )
    with promises.asking(
        "tape",
        "a run that was recorded and stopped has its tape",
        has_summary("recorded", tape=True),
    ):
        await client.post("/runs/recorded/stop")
        await client.outcome(page, "recorded")
    await client.outcome(page, "waits 2")
    with promises.asking(
        "waits 1",
        "a run is cleared from the history",
        lambda files: folder_of(files, "waits 1") is None,
    ):
        await client.post("/history", {"delete": ["waits 1"]})


def _open_tracer(pid: int) -> int:
    """Open the process that records the calls of another;
    it can be read from once that has ended.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("TracerPid:"))
    return os.pidfd_open(int(line.split()[1]))


def test_what_was_acknowledged_outlives_a_power_cut(tmp_path: Path) -> None:
    data, traces, promises = tmp_path / "data", tmp_path / "traces", Promises()
    data.mkdir()
    traces.mkdir()

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            await save_and_move(client, promises)
            await upload(client, promises)
            await queue_and_play(client, page, promises)

    with serving(data, "--parallel", 1, under=record(traces)) as server:
        server.talk(talk)
        tracer = _open_tracer(server.process.pid)
        server.process.kill()
        server.process.wait()
    assert select([tracer], [], [], TIMEOUT)[0], "it ends with the last worker"
    os.close(tracer)
    assert find_broken(read_calls(traces), data, promises) == {}
