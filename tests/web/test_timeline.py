"""A recorded run is opened on the page as a timeline, and shown at any of its ticks."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage


@pytest.mark.slow
def test_a_recorded_run_is_shown_at_any_tick(page: EditorPage, screenshots: Path | None) -> None:
    # a run of 250 ticks, recorded
    page.start_with("airstriker")
    page.deselect()
    settings = page.page.locator("#inspector")
    for name, value in (("episodes", 1), ("ticks", 250)):
        settings.get_by_label(name).fill(str(value))
        page.page.keyboard.press("Tab")
    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Record", exact=True).click()
    page.until("session.run?.state === 'done'")
    played = page.ask("session.run.id")

    # opened from the panel
    page.page.locator('[data-tab="runs"]').click()
    page.page.get_by_role("button", name="More for Airstriker").first.click()
    page.page.get_by_role("menuitem", name="Rewind").click()
    timeline = page.page.locator("#timeline")
    slider = timeline.get_by_label("Tick", exact=True)
    expect(slider).to_be_enabled()
    assert page.ask("session.run.rewinds") == played
    expect(timeline.locator("output")).to_contain_text("Tick 250 of 250: game 1 ended: limit")

    # from mark to mark: the first reward is on the wire, and one tick before it is not
    timeline.get_by_label("Marks to go to").select_option("reward")
    slider.fill("0")
    page.until("session.run.ticks === 0")
    timeline.get_by_role("button", name="The next mark").click()
    expect(timeline.locator("output")).to_contain_text("reward +20")
    page.until("session.run.values.get('console.reward') === '20'")
    at = page.ask("session.run.ticks")
    frames = page.frames("console", 1)
    if screenshots is not None:
        page.page.locator('[data-tab="runs"]').click()
        page.page.screenshot(path=screenshots / "editor-timeline-light-1280x800.png")
    assert least_contrast(page.page, "#timeline") >= 4.5
    page.page.locator("#board").focus()
    page.page.keyboard.press(",")
    page.until(f"session.run.ticks === {at - 1}")
    page.until("session.run.values.get('console.reward') === '0'")
    page.frames("console", frames + 1)
    page.page.keyboard.press(".")
    page.until("session.run.values.get('console.reward') === '20'")

    # with another run on the page it is closed
    if page.page.locator("#panel").is_hidden():
        page.page.locator('[data-tab="runs"]').click()
    page.page.locator(f'[data-run="{played}"]').click()
    expect(timeline).to_be_hidden()
    page.until("session.run.state === 'done'")
