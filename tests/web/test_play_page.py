"""`python -m server run --person`: a person plays a run of the command line in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.command import Command
from tests.support.contrast import least_contrast
from tests.support.editor_page import THEMES, end_transitions
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT


@contextmanager
def played(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `run --person`; yield its process and the address of its page."""
    with subprocess.Popen(
        [sys.executable, "-m", "server", "run", "sf2_human", "--person", "--json", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr
            yield process, next(_addresses(process.stderr.readline()))
        finally:
            process.kill()


def _addresses(line: str) -> Iterator[str]:
    yield from re.findall(r"http://127\.0\.0\.1:\d+/play\.html", line)


def _open(browser: Browser, address: str) -> Page:
    """Open the page in a tab of its own, once it plays."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(1000 * TIMEOUT)
    page.goto(address)
    expect(page.get_by_role("button", name="Pause (Escape)")).to_be_visible()
    return page


def _picture(page: Page) -> str:
    """Return what the page shows of the game, as a PNG in text."""
    found: str = page.evaluate("document.querySelector('#screen').toDataURL()")
    return found


def _await_picture(page: Page, is_wanted: Callable[[str], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not is_wanted(_picture(page)):
        assert time.monotonic() < end
        page.wait_for_timeout(20)


@pytest.mark.slow
def test_a_person_plays_and_records_a_run_of_the_command_line(
    browser: Browser, tmp_path: Path, minibrains: Command, screenshots: Path | None
) -> None:
    with played(tmp_path) as (process, address):
        page = _open(browser, address)
        expect(page.locator("#keys")).to_contain_text("START")
        page.keyboard.down("ArrowRight")
        _await_picture(page, lambda picture: len(picture) > 5000)

        # Escape releases the keys and pauses
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Play (G)")).to_be_visible()
        page.keyboard.press("Shift+R")
        expect(page.locator("#bar")).to_contain_text("paused, recording")
        still = _picture(page)
        page.keyboard.press("g")
        page.keyboard.down("ArrowLeft")
        _await_picture(page, lambda picture: picture != still)
        if screenshots is not None:
            page.screenshot(path=screenshots / "play-page.png")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            expect(page.locator("html")).to_have_attribute("data-theme", theme)
            end_transitions(page)
            assert least_contrast(page, "#bar") >= 4.5
            assert least_contrast(page, "#keys") >= 4.5

        page.keyboard.press("Escape")
        page.keyboard.press("k")
        expect(page.locator("#messages")).to_contain_text("clip-1.mp4")
        page.keyboard.press("Shift+R")
        expect(page.locator("#messages")).to_contain_text("The tape is in")

        # another page takes over, and a closed one pauses
        second = _open(browser, address)
        expect(page.locator("#messages")).to_contain_text("another page took over")
        second.get_by_role("button", name="End the run").click()
        expect(second.locator(".over")).to_contain_text("stopped")
        out, _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 130

    assert json.loads(out)["ticks"] > 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "clip-1.mp4").stat().st_size > 1000
    replayed = minibrains("replay", str(folder), "--json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["ticks"] > 0
    nodes = (folder / "run.tape").read_bytes()
    assert b"RIGHT" in nodes or b"LEFT" in nodes


@pytest.mark.slow
@pytest.mark.parametrize("opened", [False, True], ids=["no page", "a page that paused"])
def test_the_game_waits_for_the_page_and_ctrl_c_ends_it(
    opened: bool, browser: Browser, tmp_path: Path
) -> None:
    with played(tmp_path, "--episodes", "1") as (process, address):
        assert process.stderr
        while "plays Duel-Genesis" not in process.stderr.readline():
            assert process.poll() is None
        if opened:
            page = _open(browser, address)
            _await_picture(page, lambda picture: len(picture) > 5000)
            first = _picture(page)
            _await_picture(page, lambda picture: picture != first)
            page.keyboard.press("Escape")
            expect(page.get_by_role("button", name="Play (G)")).to_be_visible()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 130
        assert (json.loads(out)["ticks"] > 0) == opened


def test_only_what_has_a_pad_can_be_played(minibrains: Command) -> None:
    refused = minibrains("run", "sf2_scripted", "--person")
    assert refused.returncode == 2
    assert "give it a PersonPad" in refused.stderr
    refused = minibrains("run", "sf2_human", "--person", "--workers", "2")
    assert refused.returncode == 2
    assert "leave out --workers" in refused.stderr
