"""kill -9, at a hundred moments: what a run or a service had acknowledged is there afterwards.

Moments are drawn from numbered seeds. A test that fails prints its number; `-k` with it repeats
that one.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from types import NoneType
from typing import Any

import aiohttp
import pytest

from minibrains.tape.recording import FILE, read_events
from tests.support.paths import DATA
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving, workers_of

PACK = DATA / "soak_nodes.py"
RUNS = 50
LIVES = 50
"""How often the service is killed."""
QUEUED = 40
TIMEOUT = 60.0


def thinking(witness: Path) -> Json:
    """A game on which a node thinks all the time,
    and one who writes down every thought when it arrives.
    """
    return {
        "minibrains": 1,
        "nodes": {
            "console": {"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}},
            "frame": {
                "type": "Variable@1",
                "set": {"name": "frame"},
                "in": {"variables": "console.variables"},
            },
            "thinks": {
                "type": "soak_nodes.Thinks@1",
                "in": {"number": "frame.number"},
                "every": 3,
                "busy": "continue",
            },
            "witness": {
                "type": "soak_nodes.Witness@1",
                "set": {"file": str(witness)},
                "in": {"number": "thinks.number"},
            },
            "log": {"type": "Log@1", "in": {"value": "thinks.number"}},
        },
    }


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(RUNS))
def test_a_recorded_run_that_is_killed_keeps_what_it_had_played(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    witness = tmp_path / "witness"
    file = tmp_path / "thinks.json"
    file.write_text(json.dumps(thinking(witness)))
    arguments = ["--pack", PACK, "--record", "--ticks", 200, "--episodes", 100_000, "--seed", seed]
    command = [sys.executable, "-m", "server", "run", file, *arguments]
    with subprocess.Popen(
        [*map(str, command)], cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True
    ) as run:
        await_until(lambda: witness.exists() and witness.stat().st_size > 0)
        time.sleep(dice.uniform(0.0, 1.0))
        run.kill()
    witnessed = list(map(float, witness.read_text().splitlines()))
    (folder,) = (tmp_path / "runs").iterdir()
    results = []
    ended = 0
    events, _ = read_events(folder / FILE)
    for event in events:
        if event.kind == "result":
            results.append(event.value)
        elif event.kind == "episode" and "ended" in event.value:
            ended += 1
    assert results[: len(witnessed)] == witnessed, "what was played is on the tape"
    rows = (folder / "episodes.jsonl").read_bytes().splitlines()
    lines = (folder / "log.jsonl").read_bytes().splitlines()
    for line in rows + lines:
        assert json.loads(line), "no line is cut"
    assert len(rows) in (ended - 1, ended), "an episode's row follows its end on the tape"
    if seed % 10 == 0:
        replay = [sys.executable, "-m", "server", "replay", str(folder), "--pack", str(PACK)]
        done = subprocess.run(replay, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "equal" in done.stdout


class Acknowledged:
    """What a server has answered before it was killed, and what it was asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        """Workflow -> the newest title that was sent."""
        self.saved: dict[str, int] = {}
        """Workflow -> the newest title that was acknowledged."""
        self.queued: list[str] = []
        """Short runs, in their order."""
        self.over: set[str] = set()

    async def save(self, client: Talk, name: str) -> None:
        for title in range(1_000_000):
            self.asked[name] = title
            await client.post(f"/userdata/workflows%2F{name}.json", {**film(), "title": str(title)})
            self.saved[name] = title

    async def queue(self, client: Talk) -> None:
        for number in range(QUEUED):
            prompt_id = f"short {number:02}"
            await client.run(
                film(ticks=5, clock="fast"),
                prompt_id=prompt_id,
                extra_data={"record": number % 2 == 0},
            )
            self.queued.append(prompt_id)

    async def listen(self, page: Page) -> None:
        while True:
            data = await page.until("result")
            assert data["state"] == "done", data
            self.over.add(data["prompt_id"])


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(LIVES))
def test_a_service_that_is_killed_keeps_what_it_had_acknowledged(seed: int, tmp_path: Path) -> None:
    data = tmp_path / "data"
    known = Acknowledged()
    with serving(data, "--parallel", 2) as server:
        workers = server.talk(
            lambda client: work_until_killed(client, server, known, random.Random(seed))
        )
    assert known.saved
    await_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    with serving(
        data, "--parallel", 1
    ) as server:  # one at a time, so that their order is to be seen
        server.talk(lambda client: look(client, known))
    for folder in ("workflows", "queue", "models"):
        assert list((data / folder).glob(".*")) == [], "no half-written file is left"
    for tape in data.glob(f"runs/*/{FILE}"):
        events, _ = read_events(tape)
        assert events, "each can be read up to where it was cut"


async def work_until_killed(
    client: Talk, server: Server, known: Acknowledged, dice: random.Random
) -> list[int]:
    """Save, queue and listen until the server is gone; return the processes of its workers."""
    async with client.page() as page:
        await client.run(film(), prompt_id="long", extra_data={"record": True})
        await page.until(
            "run", lambda data: data["prompt_id"] == "long" and data.get("ticks", 0) > 0
        )
        tasks = [
            asyncio.create_task(known.save(client, "first")),
            asyncio.create_task(known.save(client, "second")),
            asyncio.create_task(known.queue(client)),
            asyncio.create_task(known.listen(page)),
        ]
        await asyncio.sleep(dice.uniform(0.1, 2.0))
        workers = workers_of(server)
        server.process.kill()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        assert isinstance(end, (aiohttp.ClientError, AssertionError, NoneType))
    return workers


async def look(client: Talk, known: Acknowledged) -> None:
    for name, title in known.saved.items():
        found = await client.get(f"/userdata/workflows%2F{name}.json")
        assert title <= int(found["title"]) <= known.asked[name]
    while (await client.get("/prompt"))["exec_info"]["queue_remaining"]:
        await asyncio.sleep(0.05)
    history = await client.get("/history")
    short = []
    failed = set()
    for prompt_id, item in history.items():
        if prompt_id != "long":
            short.append(prompt_id)
        if item["state"] == "failed":
            failed.add(prompt_id)
    unanswered = short[len(known.queued) :]
    assert short == [*known.queued, *unanswered], (
        "all in their order, and at most the one that was being asked for"
    )
    assert len(unanswered) <= 1
    assert "long" in failed
    assert len(failed) <= 2, "what was running"
    assert not failed & known.over


def await_until(holds: Any) -> None:
    end = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
