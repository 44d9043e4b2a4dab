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

from tests.support.editor_page import EditorPage, editor
from tests.support.paths import ROOT

expect.set_options(timeout=60_000)  # a busy machine is no fault


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    assert chromium, "Chromium is missing, which tests the editor: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
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
        server.communicate(timeout=30)


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[EditorPage]:
    with editor(browser, address) as page:
        yield page
        assert page.troubles == []
