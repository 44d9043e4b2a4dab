"""Twenty minutes of runs and of pages that come and go:
what a server and its workers hold does not grow with them.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from minibrains.files import bundled_dir
from minibrains.graph.workflow import load_workflow
from tests.support.service_fixtures import Json, Server, Talk, film, serving, workers_of
from tests.support.timeouts import TIMEOUT

MINUTES = 20
WARM = 60
"""Runs after which all is there that a server keeps: 50 runs that are over, models, the workers'
caches."""
KEPT_PER_RUN = 4096
"""Bytes that a server may keep of each run: its id and its folder's path, in the history."""
NOISE = 8 << 20
"""Bytes. What malloc keeps of large answers differs by that from one moment to the next."""
TABLES = 2 << 24
"""Bytes that a worker takes for pictures: a table of all colours, filled where one occurs, and one
that malloc keeps."""


class Held(NamedTuple):
    """What a process holds."""

    resident: int
    """Bytes."""
    files: int
    threads: int


def held_by(pid: int) -> Held:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return Held(
        resident=int(status["VmRSS"].split()[0]) << 10,
        files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=int(status["Threads"]),
    )


@dataclass
class Soak:
    """Runs one after another, and pages beside them, until the time is over."""

    server: Server
    workflows: dict[str, Json]
    runs: int = 0
    connections: int = 0

    def work(self, seconds: float) -> None:
        """Play every workflow again and again for some seconds, while two pages come and go."""

        async def talk(client: Talk) -> None:
            until = time.monotonic() + seconds
            players = [self.play(client, name, until) for name in self.workflows]
            pages = [self.come_and_go(client, f"page {number}", until) for number in range(2)]
            await asyncio.gather(*players, *pages)

        self.server.talk(talk, timeout=seconds + TIMEOUT)

    def rest(self) -> dict[int, Held]:
        """Return what the server and its workers hold once nobody is connected."""
        time.sleep(2)  # until it has closed what its clients have closed
        return {pid: held_by(pid) for pid in [self.server.process.pid, *workers_of(self.server)]}

    async def play(self, client: Talk, name: str, until: float) -> None:
        """Play a workflow again and again; every second run is recorded."""
        async with client.page(name) as page:
            while time.monotonic() < until:
                record = self.runs % 2 == 0
                prompt_id = await client.run(
                    self.workflows[name], client_id=name, extra_data={"record": record}
                )
                outcome = await client.outcome(page, prompt_id)
                assert outcome["state"] == "done", outcome
                self.runs += 1

    async def come_and_go(self, client: Talk, name: str, until: float) -> None:
        """Open a page, watch what runs, read a little, leave."""
        dice = random.Random(name)
        while time.monotonic() < until:
            async with client.page(name) as page:
                self.connections += 1
                for run in await client.get("/runs"):
                    if run["state"] == "running":
                        await page.watch(
                            run["prompt_id"], "film", "console", values=("film.count",)
                        )
                for _ in range(dice.randrange(20)):
                    await page.next()


@pytest.mark.soak
def test_nothing_grows_in_twenty_minutes(tmp_path: Path) -> None:
    workflows = {
        "a film": film(ticks=600, clock="realtime"),
        "airstriker": _shortened("airstriker_random"),
        "pad": _shortened("pad"),
    }
    with serving(tmp_path / "data", "--parallel", 2) as server:
        soak = Soak(server, workflows)
        while soak.runs < WARM:
            soak.work(seconds=10)
        before, played = soak.rest(), soak.runs
        for minute in range(MINUTES):
            soak.work(seconds=60)
            print(
                f"minute {minute + 1}: {soak.runs} runs, {soak.connections} pages, "
                f"{held_by(server.process.pid)}"
            )
        after = soak.rest()
    assert after.keys() == before.keys(), "no worker died"
    for pid, held in after.items():
        assert held[1:] == before[pid][1:], "as many files and threads as before"
        kept = (soak.runs - played) * KEPT_PER_RUN if pid == server.process.pid else TABLES
        assert held.resident - before[pid].resident < kept + NOISE


def _shortened(name: str) -> Json:
    workflow = load_workflow(bundled_dir("workflows") / f"{name}.json")
    data: Json = workflow.to_json()
    return {**data, "run": {**data.get("run", {}), "episodes": 1, "ticks": 60, "clock": "realtime"}}
