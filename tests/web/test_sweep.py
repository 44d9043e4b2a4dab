"""A sweep in the editor: choose a widget and values, and see the table fill."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage

TRAINED, UNTRAINED = "vector_policy/duel.safetensors", "vector_policy/duel-untrained.safetensors"


@pytest.mark.slow
def test_a_widget_is_swept_and_its_table_fills(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("duel_vector")
    page.select("choose")
    page.press("Shift+S")
    dialog = page.page.get_by_role("dialog", name="Sweep")
    expect(dialog.get_by_label("Vary").first).to_have_value("choose.mode")
    values = dialog.get_by_label("Values").first
    values.fill("greedy, sample")
    dialog.get_by_label("Vary").nth(1).select_option("head")
    brains = dialog.get_by_label("Values").nth(1)
    expect(brains).to_have_value(UNTRAINED)
    brains.fill(f"{UNTRAINED}, {TRAINED}")
    dialog.get_by_label("States").fill("validation/Level4.*")
    dialog.get_by_label("Episodes of each").fill("3")
    dialog.get_by_role("button", name="Play").click()
    rows = dialog.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(dialog.get_by_role("status")).to_contain_text("12 of 12 episodes, done")
    for index, mode, brain in (
        (0, "greedy", UNTRAINED),
        (1, "greedy", TRAINED),
        (2, "sample", UNTRAINED),
        (3, "sample", TRAINED),
    ):
        cells = rows.nth(index).locator("td")
        expect(cells.nth(0)).to_have_text(mode)
        expect(cells.nth(1)).to_have_text(brain)
        expect(cells.nth(2)).to_have_text("3")
        expect(cells.nth(5)).to_contain_text(" to ")
    picture = dialog.get_by_alt_text("The share of episodes won")
    page.until("document.querySelector('.sweep-picture')?.naturalWidth > 1000")
    expect(picture).to_be_visible()
    assert least_contrast(page.page, "dialog") >= 4.5
    if screenshots is not None:
        page.page.screenshot(path=screenshots / "editor-sweep-light-1280x800.png")
