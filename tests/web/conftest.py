"""A browser, and the editor of a real server in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.support.editor_page import EditorPage, new_tab
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

expect.set_options(timeout=1000 * TIMEOUT)


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first of these that is installed is used. Chromium's headless shell takes least time: it has
the same engine, but no windows, menus and extensions."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = [program for name in BROWSERS if (program := shutil.which(name))]
    assert found, "Chromium is missing, which tests the editor: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def screenshots() -> Path | None:
    """Where screenshots are kept: $SCREENSHOTS; without it none are taken."""
    if "SCREENSHOTS" not in os.environ:
        return None
    folder = Path(os.environ["SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    assert (ROOT / "web/dist/index.html").is_file(), (
        "The editor is not built: pip install --editable ."
    )
    command = [
        sys.executable, "-m", "server", "serve", "--port", "0", "--json", "--data", str(data),
    ]  # fmt: skip
    server = subprocess.Popen(
        command,
        cwd=data,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert server.stdout
        yield json.loads(server.stdout.readline())["address"]
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=TIMEOUT)


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[EditorPage]:
    """The tab that the tests of a module share, because to open one takes as long as many tests."""
    with new_tab(browser) as tab:
        yield tab


@pytest.fixture
def page(tab: EditorPage, address: str) -> Iterator[EditorPage]:
    """The editor as somebody sees it who opens it for the first time.

    A test that opens a second tab or closes this one takes `editor` instead.
    """
    tab.forget(address)
    tab.page.emulate_media(color_scheme="light")
    yield tab.open(address)
    assert tab.errors == []
