"""Keeping the last seconds of what was shown of a game as a clip."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest

from minibrains.errors import RunError
from minibrains.files import bundled_dir
from minibrains.video import WORKFLOW_BOX
from server.http.previews import Encoder
from server.http.recent_pictures import MEMORY, SECONDS, RecentPictures
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving

RATE = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


def carried(clip: Path) -> Any:
    """Return the workflow in the last box of a clip; check that the boxes fill the file."""
    data, at = clip.read_bytes(), 0
    boxes = []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        boxes.append(data[at : at + size])
        at += size
    assert at == len(data)
    assert boxes[-1][4:24] == b"uuid" + WORKFLOW_BOX.bytes
    return json.loads(boxes[-1][24:])


def frames_of(clip: Path, width: int, height: int) -> np.ndarray:
    """Return the frames of a clip at the size of the game: uint8 [frames, h, w, 3]."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(clip)]
    command += ["-vf", f"scale={width}:{height}:flags=neighbor"]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    read = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return np.frombuffer(read.stdout, np.uint8).reshape(-1, height, width, 3)


def flat(value: int, width: int = 32) -> np.ndarray:
    """A picture of one grey."""
    return np.full((24, width, 3), value, np.uint8)


def noise(seed: int) -> np.ndarray:
    """A picture that cannot be compressed, in 256 greys."""
    grey = np.random.default_rng(seed).integers(0, 256, (512, 512), np.uint8)
    return np.repeat(grey[:, :, None], 3, 2)


# -- through the service ---------------------------------------------------------------------------


def airstriker(clock: str = "realtime") -> Json:
    workflow: Json = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    return {**workflow, "run": {"clock": clock}}


async def shown(page: Page, prompt_id: str, pictures: int) -> None:
    """Wait until a page was shown some pictures of the console."""
    await page.watch(prompt_id, "console")
    for _ in range(pictures):
        await page.picture()


@pytest.mark.parametrize("clock", ["realtime", "fast"])
def test_what_was_shown_is_kept_with_the_workflow_as_it_is_played(
    server: Server, clock: str
) -> None:
    workflow = airstriker(clock)

    async def talk(client: Talk) -> list[Json]:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await shown(page, prompt_id, 30)
            first = await client.post(f"/runs/{prompt_id}/clip")
            workflow["title"] = "changed meanwhile"
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": workflow})
            await client.post(f"/runs/{prompt_id}/pause")
            second = await client.post(f"/runs/{prompt_id}/clip")
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(page, prompt_id))["state"] == "stopped"
            await client.post(f"/runs/{prompt_id}/clip", status=409)
            listed = await client.get(f"/runs/{prompt_id}/files")
            assert {first["file"], second["file"]} <= {file["path"] for file in listed["files"]}
            return [first, second]

    kept = server.talk(talk, timeout=60)
    assert [clip["file"] for clip in kept] == ["clip-1.mp4", "clip-2.mp4"]
    paths = [server.data / "runs" / clip["folder"] / clip["file"] for clip in kept]
    assert carried(paths[0])["nodes"] == airstriker()["nodes"]
    assert "title" not in carried(paths[0]) or carried(paths[0])["title"] != "changed meanwhile"
    assert carried(paths[1])["title"] == "changed meanwhile"
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(paths[0]))
    assert frames >= 20 or clock == "fast"
    assert seconds == pytest.approx(kept[0]["seconds"], abs=0.1)
    moving = frames_of(paths[0], 320, 224)
    assert (moving[0] != moving[-1]).any()


def test_a_run_that_showed_no_game_says_why_there_is_no_clip(server: Server) -> None:
    async def talk(client: Talk) -> str:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.watch(prompt_id, "film")
            await page.until("run", lambda data: data.get("ticks", 0) > 0)
            await page.picture()
            refusal = await client.post(f"/runs/{prompt_id}/clip", status=400)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            return str(refusal["error"]["message"])

    assert "a clip needs a console" in server.talk(talk)

    async def nobody(client: Talk) -> None:
        await client.post("/runs/nobody/clip", status=404)

    server.talk(nobody)


# -- what is kept ----------------------------------------------------------------------------------


def test_each_picture_stays_as_long_as_it_was_shown_but_not_a_pause(tmp_path: Path) -> None:
    recent, encoder = RecentPictures(), Encoder()
    for when, value in [(0.0, 10), (0.1, 90), (0.2, 170), (60.0, 250)]:
        recent.add(when - 50, encoder.encode(flat(value)))
    assert recent.write_clip(tmp_path / "clip.mp4", 10.0) == pytest.approx(0.1)
    for when, value in [(60.1, 90), (60.3, 170), (75.3, 40)]:
        recent.add(when - 50, encoder.encode(flat(value)))
    assert recent.write_clip(tmp_path / "clip.mp4", 10.0) == pytest.approx(0.9)
    values = [round(float(frame.mean())) for frame in frames_of(tmp_path / "clip.mp4", 32, 24)]
    assert values == pytest.approx([250, 90, 90, *[170] * 5, 40], abs=3)


def test_only_the_last_seconds_are_kept_within_the_limit_of_memory(tmp_path: Path) -> None:
    recent, encoder = RecentPictures(), Encoder()
    for tick in range(round(2 * SECONDS * 10)):
        recent.add(tick / 10, encoder.encode(flat(tick % 200)))
    assert recent.write_clip(tmp_path / "clip.mp4", 10.0) == pytest.approx(SECONDS + 0.1)
    large = RecentPictures()
    for tick in range(2 * MEMORY // (512 * 512)):
        large.add(tick / RATE, encoder.encode(noise(tick % 8)))
    seconds = large.write_clip(tmp_path / "large.mp4", RATE)
    assert 0.9 * MEMORY <= round(seconds * RATE) * 512 * 512 <= MEMORY


def test_rich_pictures_and_a_change_of_size(tmp_path: Path) -> None:
    recent, encoder = RecentPictures(), Encoder()
    recent.add(0.0, encoder.encode(flat(10, width=64)))
    many = np.arange(24 * 32 * 3, dtype=np.uint32).reshape(24, 32, 3).astype(np.uint8)
    recent.add(0.1, encoder.encode(many))
    recent.add(0.2, encoder.encode(flat(200)))
    assert recent.write_clip(tmp_path / "clip.mp4", 10.0) == pytest.approx(0.2)
    first, last = frames_of(tmp_path / "clip.mp4", 32, 24)
    assert abs(first.astype(int) - many).mean() < 60
    assert last.mean() == pytest.approx(200, abs=3)


def test_there_is_no_clip_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nothing was shown of a game yet"):
        RecentPictures().write_clip(tmp_path / "clip.mp4", RATE)
    assert list(tmp_path.iterdir()) == []
