"""The command palette: every command, found by its name, with keys of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage


def find(page: EditorPage, text: str) -> None:
    page.press("Control+k")
    expect(page.page.get_by_label("Search commands")).to_be_focused()
    page.page.keyboard.type(text)


@pytest.mark.slow
def test_a_game_is_played_paused_and_kept_by_the_names_of_commands(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    page.set_many_episodes()
    find(page, "run")
    expect(page.page.locator('[data-command="Stop"]')).to_have_attribute("aria-disabled", "true")
    page.page.keyboard.press("Enter")
    page.frames("console", at_least=20)
    page.press("Control+k")
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-commands-{theme}-1280x800")
        assert least_contrast(page.page, ".palette") >= 4.5
    page.page.keyboard.type("clip")
    page.page.keyboard.press("Enter")
    expect(page.message).to_contain_text("seconds are kept as")
    find(page, "pause")
    page.page.keyboard.press("Enter")
    expect(page.status).to_contain_text("Paused")
    find(page, "view note")
    expect(page.page.locator(".palette .empty")).to_have_text("There is no such command.")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Escape")
    expect(page.page.locator(".palette")).to_have_count(0)
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")


def test_a_command_gets_keys_of_ones_own_which_are_kept(page: EditorPage) -> None:
    page.start_with("duel_expert")
    find(page, "mute")
    page.page.keyboard.press("F2")
    expect(page.page.get_by_label("New keys")).to_be_focused()
    page.page.keyboard.press("b")
    expect(page.page.locator("dialog")).to_contain_text("“Bypass” has these keys, and loses them.")
    assert least_contrast(page.page, "dialog") >= 4.5
    page.page.get_by_role("button", name="Use them").press("Enter")
    expect(page.page.locator('[data-command="Mute"] kbd')).to_have_text("B")
    expect(page.page.locator('[data-command="Bypass"]')).to_have_count(0)  # "mute" is searched
    page.page.keyboard.press("Escape")
    page.page.reload()
    page.ready()
    page.select("fighter")
    page.press("m")
    assert "mode" not in page.workflow["nodes"]["fighter"]
    page.press("b")
    assert page.workflow["nodes"]["fighter"]["mode"] == "mute"
    page.press("?")
    expect(page.page.locator("dialog dl", has_text="Mute")).to_contain_text("MuteB")
    page.page.keyboard.press("Escape")
    find(page, "bypass")
    page.page.keyboard.press("F2")
    page.page.get_by_role("button", name="Reset the keys of all commands").press("Enter")
    expect(page.page.locator('[data-command="Bypass"] kbd')).to_have_text("B")
