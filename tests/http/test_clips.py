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
from server.http import recent_pictures
from server.http.previews import Encoder
from server.http.recent_pictures import SECONDS, RecentPictures
from tests.support.service_fixtures import Json, Page, Server, Talk, film, serving
from tests.support.timeouts import TIMEOUT

RATE = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


def carried(clip: Path) -> Any:
    """Return the workflow in the last box of a clip; check that the boxes fill the file."""
    data = clip.read_bytes()
    box = b""
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big")
        box = data[start : start + size]
        start += size
    assert start == len(data)

    head, content = box[4:24], box[24:]
    assert head == b"uuid" + WORKFLOW_BOX.bytes
    return json.loads(content)


def frames_of(clip: Path, width: int, height: int) -> np.ndarray:
    """Return the frames of a clip at the size of the game: uint8 [frames, h, w, 3]."""
    command = [imageio_ffmpeg.get_ffmpeg_exe()]
    command += ["-v", "error"]
    command += ["-i", str(clip)]
    command += ["-vf", f"scale={width}:{height}:flags=neighbor"]
    command += ["-f", "rawvideo"]
    command += ["-pix_fmt", "rgb24"]
    command += ["-"]
    read = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    pixels = np.frombuffer(read.stdout, np.uint8)
    return pixels.reshape(-1, height, width, 3)


def flat(value: int, width: int = 32) -> np.ndarray:
    """A picture of one grey."""
    return np.full((24, width, 3), value, np.uint8)


def noise(seed: int) -> np.ndarray:
    """A picture that cannot be compressed, in 256 greys."""
    rng = np.random.default_rng(seed)
    grey = rng.integers(0, 256, (512, 512, 1), np.uint8)
    return np.repeat(grey, 3, axis=2)


# -- through the service ---------------------------------------------------------------------------


def airstriker(clock: str = "realtime") -> Json:
    path = bundled_dir("workflows") / "airstriker.json"
    workflow: Json = json.loads(path.read_text())
    workflow["run"] = {"clock": clock, "episodes": 1000}
    return workflow


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
            run = f"/runs/{prompt_id}"
            await shown(page, prompt_id, 30)
            first = await client.post(f"{run}/clip")

            workflow["title"] = "changed meanwhile"
            await client.post(f"{run}/edit", {"workflow": workflow})
            await client.post(f"{run}/pause")
            second = await client.post(f"{run}/clip")

            await client.post(f"{run}/stop")
            outcome = await client.outcome(page, prompt_id)
            assert outcome["state"] == "stopped"
            await client.post(f"{run}/clip", status=409)

            listed = await client.get(f"{run}/files")
            names = {file["path"] for file in listed["files"]}
            assert {first["file"], second["file"]} <= names
            return [first, second]

    first, second = server.talk(talk, timeout=TIMEOUT)
    assert first["file"] == "clip-1.mp4"
    assert second["file"] == "clip-2.mp4"

    runs = server.data / "runs"
    first_path = runs / first["folder"] / first["file"]
    second_path = runs / second["folder"] / second["file"]
    first_workflow = carried(first_path)
    assert first_workflow["nodes"] == airstriker()["nodes"]
    assert first_workflow.get("title") != "changed meanwhile"
    assert carried(second_path)["title"] == "changed meanwhile"

    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(first_path))
    assert frames >= 20 or clock == "fast"
    assert seconds == pytest.approx(first["seconds"], abs=0.1)
    moving = frames_of(first_path, 320, 224)
    assert (moving[0] != moving[-1]).any()


def test_a_run_that_showed_no_game_says_why_there_is_no_clip(server: Server) -> None:
    async def talk(client: Talk) -> str:
        async with client.page() as page:
            prompt_id = await client.run(film())
            await page.watch(prompt_id, "film")
            await page.until("run", lambda data: data.get("ticks", 0) > 0)
            await page.picture()

            refusal = await client.post(f"/runs/{prompt_id}/clip", status=400)
            message = refusal["error"]["message"]

            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(page, prompt_id)
            return str(message)

    assert "a clip needs a console" in server.talk(talk)

    async def nobody(client: Talk) -> None:
        await client.post("/runs/nobody/clip", status=404)

    server.talk(nobody)


# -- what is kept ----------------------------------------------------------------------------------


def test_each_picture_stays_as_long_as_it_was_shown_but_not_a_pause(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    recent = RecentPictures()
    encoder = Encoder()

    before_a_pause = [(0.0, 10), (0.1, 90), (0.2, 170)]
    after_it = (60.0, 250)
    for when, value in [*before_a_pause, after_it]:
        recent.add(when - 50, encoder.encode(flat(value)))
    assert recent.write_clip(clip, 10.0) == pytest.approx(0.1)

    before_another = [(60.1, 90), (60.3, 170)]
    after_that = (75.3, 40)
    for when, value in [*before_another, after_that]:
        recent.add(when - 50, encoder.encode(flat(value)))
    assert recent.write_clip(clip, 10.0) == pytest.approx(0.9)

    values: list[int] = []
    for frame in frames_of(clip, 32, 24):
        values.append(round(float(frame.mean())))
    assert values == pytest.approx([250, 90, 90, *[170] * 5, 40], abs=3)


def test_only_the_last_seconds_are_kept_within_the_limit_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = 4 << 20
    monkeypatch.setattr(recent_pictures, "MEMORY", memory)
    encoder = Encoder()

    recent = RecentPictures()
    for tick in range(round(2 * SECONDS * 10)):
        picture = flat(tick % 200)
        recent.add(tick / 10, encoder.encode(picture))
    seconds = recent.write_clip(tmp_path / "clip.mp4", 10.0)
    assert seconds == pytest.approx(SECONDS + 0.1)

    large = RecentPictures()
    bytes_each = 512 * 512
    for tick in range(2 * memory // bytes_each):
        picture = noise(tick % 8)
        large.add(tick / RATE, encoder.encode(picture))
    seconds = large.write_clip(tmp_path / "large.mp4", RATE)
    pictures = round(seconds * RATE)
    assert 0.9 * memory <= pictures * bytes_each <= memory


def test_rich_pictures_and_a_change_of_size(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    recent = RecentPictures()
    encoder = Encoder()
    wide = flat(10, width=64)
    rich = np.arange(24 * 32 * 3, dtype=np.uint32).astype(np.uint8).reshape(24, 32, 3)
    bright = flat(200)

    recent.add(0.0, encoder.encode(wide))
    recent.add(0.1, encoder.encode(rich))
    recent.add(0.2, encoder.encode(bright))
    assert recent.write_clip(clip, 10.0) == pytest.approx(0.2)

    first, last = frames_of(clip, 32, 24)
    assert abs(first.astype(int) - rich).mean() < 60
    assert last.mean() == pytest.approx(200, abs=3)


def test_there_is_no_clip_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nothing was shown of a game yet"):
        RecentPictures().write_clip(tmp_path / "clip.mp4", RATE)
    assert list(tmp_path.iterdir()) == []
