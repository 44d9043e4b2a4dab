"""The editor shows what a run does while a real game is played: budgets, and values on wires."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage, editor


def run(page: EditorPage) -> None:
    page.page.get_by_role("button", name="Run", exact=True).click()


def keep(page: EditorPage, screenshots: Path | None, name: str) -> None:
    if screenshots is not None:
        page.page.screenshot(path=screenshots / f"{name}.png")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_budgets_name_the_slowest_node_and_show_what_is_held(
    browser: Browser, address: str, theme: str, screenshots: Path | None
) -> None:
    with editor(browser, address, color_scheme=theme) as page:
        page.start_with("sf2_realtime")
        run(page)
        budget = page.page.locator("#budget button")
        expect(budget).to_contain_text(
            re.compile(r"of 16\.\d ms a tick; slowest: \w+, .+ (µs|ms); .*deadlines? missed")
        )
        page.until("session.run.budget.nodes.get('strategist').thought.includes(true)")
        page.until("session.run.budget.nodes.get('strategist').us.length === 60")
        keep(page, screenshots, f"editor-budgets-{theme}-1280x800")
        assert least_contrast(page.page, "#budget") >= 4.5
        page.press("p")
        expect(page.status).to_contain_text("Paused")
        slowest = page.ask("session.run.budget.slowest.node")
        budget.press("Enter")
        assert page.ask("editor.selection") == [slowest]
        expect(page.page.locator("#inspector .ticks")).to_contain_text("On the last 60 ticks")
        page.press("t")
        expect(budget).to_be_hidden()
        page.press("t")
        expect(budget).to_be_visible()
        page.page.get_by_role("button", name="Stop").click()
        expect(budget).to_be_hidden()
        assert page.troubles == []
