"""Clips and pictures that the editor makes of a real game, and the workflow that they carry."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.editor_page import EditorPage, editor


def test_the_last_seconds_are_kept_with_a_key_and_with_the_button(
    page: EditorPage, data: Path, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    clip = page.page.get_by_role("button", name="Clip", exact=True)
    expect(clip).to_be_hidden()
    page.run()
    page.frames("console", at_least=40)
    page.press("k")
    expect(page.message).to_contain_text("seconds are kept as clip-1.mp4.")
    page.screenshot(screenshots, "editor-clip-light-1280x800")
    with page.page.expect_download() as download:
        page.message.get_by_role("button", name="Download").press("Enter")
    (kept,) = (data / "runs").glob("*/clip-1.mp4")
    assert download.value.path().read_bytes() == kept.read_bytes()
    clip.click()
    expect(page.message).to_contain_text("seconds are kept as clip-2.mp4.")
    page.page.get_by_role("button", name="Stop").click()
    expect(clip).to_be_hidden()
