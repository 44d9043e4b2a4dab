"""A server in a process of its own and the editor in Chromium, as a user has them,
for `bench editor`.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from minibrains.errors import MinibrainsError, RunError
from minibrains.packages import install_command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_TIMEOUT: Final = 30.0
"""Seconds after which waiting for something fails."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium without a window. Raises MinibrainsError if it, or Playwright, is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MinibrainsError(
            f"bench editor needs Playwright, which is missing: {install_command('playwright')}"
        ) from None
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        raise MinibrainsError(
            "bench editor needs Chromium, which is not on PATH; on Debian: apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Server:
    """A server that starts a second worker only for forks, so that every run after the first has a
    warm one."""

    def __init__(self, address: str) -> None:
        self.address = address

    def ask(self, path: str, body: Any = None) -> Any:
        """Send a GET, or a POST if there is a body.

        Raises RunError with the server's error message.
        """
        data = None
        if body is not None:
            data = json.dumps(body).encode()
        request = Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urlopen(request, timeout=_TIMEOUT) as answer:
                return json.loads(answer.read() or "null")
        except HTTPError as error:
            raise RunError(
                f"the server refused {path}: {error.read().decode(errors='replace')[:500]}"
            ) from None

    def save(self, name: str, workflow: Mapping[str, Any]) -> None:
        """Save a workflow under a name."""
        self.ask(f"userdata/{quote(f'workflows/{name}.json', safe='')}", workflow)

    def start(self, workflow: Mapping[str, Any], record: bool = False, **settings: Any) -> str:
        """Request a run; return its id."""
        extra = {"settings": {**workflow.get("run", {}), **settings}, "record": record}
        return str(self.ask("prompt", {"prompt": workflow, "extra_data": extra})["prompt_id"])

    def stop(self, run: str) -> None:
        """Stop a run after its current tick."""
        self.ask(f"runs/{run}/stop", {})

    def summary(self, run: str) -> dict[str, Any]:
        """Return a run's summary once it is over.

        Raises RunError if it failed, or does not end in time.
        """
        end = time.monotonic() + _TIMEOUT
        while time.monotonic() < end:
            there = self.ask(f"runs/{run}")
            if there["state"] == "failed":
                raise RunError(f"a run of the benchmark failed: {there['error']}")
            if there["state"] in ("done", "stopped") and there["result"]:
                summary: dict[str, Any] = there["result"]
                return summary
            time.sleep(0.05)
        raise RunError(f"a run of the benchmark did not end within {_TIMEOUT:.0f} s")


@contextmanager
def serving(data: Path, pack: Path) -> Iterator[Server]:
    """Start a server on a free port, with the nodes of one more file."""
    command = [sys.executable, "-m", "server", "serve", "--port", "0", "--json", "--parallel", "2"]
    command += ["--data", str(data), "--pack", str(pack)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            line = process.stdout.readline()
            if not line:
                raise RunError("the server of the benchmark did not start; its output is above")
            yield Server(json.loads(line)["address"])
        finally:
            process.send_signal(signal.SIGINT)


class Tab:
    """The editor in one tab.

    `ask` and `measure` take JavaScript, with `editor` and `session` at hand.
    """

    def __init__(self, page: Page) -> None:
        self.page = page

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.measure(f"return {expression};")

    def measure(self, body: str, *values: Any) -> Any:
        """Run the body of an async function,
        in which `values` are defined and `frame()` waits for the next frame.
        """
        parts = "const { editor, session } = globalThis.minibrains ?? {};"
        frame = "const frame = () => new Promise(requestAnimationFrame);"
        return self.page.evaluate(f"async (values) => {{ {parts} {frame} {body} }}", list(values))

    def until(self, condition: str) -> None:
        """Wait until an expression is true. Raises RunError if that takes too long."""
        end = time.monotonic() + _TIMEOUT
        while not self.ask(condition):
            if time.monotonic() > end:
                raise RunError(
                    f"the editor in Chromium did not get this far within {_TIMEOUT:.0f} s: "
                    f"{condition}"
                )
            self.page.wait_for_timeout(20)

    def open(self, name: str) -> float:
        """Click a file in the list of files; return the seconds until it is drawn."""
        self.until(f"document.querySelector('[data-file=\"{name}.json\"]')")
        milliseconds = self.measure(
            """const [file] = values, begun = performance.now();
            document.querySelector(`[data-file="${file}"]`).click();
            while (editor.document.file !== file) await frame();
            await frame();  // in which it is drawn
            await frame();  // which begins when that has been shown
            return performance.now() - begun;""",
            f"{name}.json",
        )
        return float(milliseconds) / 1e3

    def show_files(self, shown: bool) -> None:
        """Show or hide the list of files."""
        if (self.page.locator("[data-file]").count() > 0) != shown:
            self.page.locator('[data-tab="files"]').click()


@contextmanager
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    """Open the editor as a first visitor, show the list of files,
    and close the editor at the end of the `with` block.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        found = Tab(context.new_page())
        found.page.goto(address)
        found.until("session?.connected")
        found.page.locator(".gallery").wait_for()
        found.page.keyboard.press("Escape")
        found.show_files(True)
        yield found
    finally:
        context.close()
