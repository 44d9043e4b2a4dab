"""The gallery shows the workflows of one's own beside the shipped ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import editor
from tests.support.service_fixtures import serving


@pytest.mark.slow
def test_what_was_saved_is_shown_with_its_game_and_opened_with_the_keyboard(
    browser: Browser, tmp_path: Path, screenshots: Path | None
) -> None:
    data = tmp_path / "data"
    with (
        serving(data) as server,
        editor(browser, server.address) as page,
    ):
        page.start_with("hello")
        page.save_as("no game")
        page.page.locator('[data-tab="files"]').click()
        page.page.get_by_role("button", name="Gallery").click()
        page.start_with("airstriker")
        page.set_many_episodes()
        page.run()
        page.frames("console", at_least=30)
        page.save_as("sweeps")
        page.page.get_by_role("button", name="Stop").click()
        played = page.workflow
        page.until("session.run.state === 'stopped'")
        page.page.get_by_role("button", name="Gallery").press("Enter")
        yours = page.page.get_by_role("region", name="Yours").locator(".card")
        expect(yours).to_have_count(2)
        page.until("document.querySelector('[data-saved^=sweeps] img').naturalWidth === 320")
        expect(yours.last.locator("canvas.map")).to_be_visible()
        for theme in page.in_each_theme():
            page.screenshot(screenshots, f"editor-yours-{theme}-1280x800")
            assert least_contrast(page.page, ".gallery") >= 4.5
        picture = (data / "workflows" / "sweeps.png").read_bytes()
        assert len(Image.open(io.BytesIO(picture)).convert("RGB").getcolors() or []) > 4
        page.page.keyboard.press("Tab")  # Close
        page.page.keyboard.press("Tab")
        page.page.keyboard.press("Tab")
        expect(yours.last).to_be_focused()
        page.page.keyboard.press("Enter")
        page.until("editor.document.file === 'no game.json'")
        page.drop("sweeps.png", picture, page.at(300, 300))
        page.until(f"Object.keys(editor.workflow.nodes).length === {len(played['nodes'])}")
        assert page.workflow == played
        assert page.errors == []
