"""The editor shows inputs and outputs of a node in full, while a real game is played."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage

PIXELS = """(() => {
    const shown = document.querySelector("#values .value-picture canvas");
    const canvas = new OffscreenCanvas(shown.width, shown.height);
    const context = canvas.getContext("2d");
    context.drawImage(shown, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return Array.from({ length: data.length / 4 }, (_, i) => [...data.slice(4 * i, 4 * i + 3)]);
})()"""
"""[red, green, blue] of each pixel of the picture beside the values."""


def value_of(page: EditorPage, socket: str) -> Locator:
    """The body of a value, such as "inputs.prompt"."""
    return page.page.locator(f'#values [data-value="{socket}"]')


@pytest.mark.slow
def test_what_the_strategist_is_asked_and_answers_is_read_in_full(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("sf2_ram_text")
    page.set_many_episodes()
    page.select("strategist")
    page.press("v")
    expect(value_of(page, "inputs.prompt")).to_have_text("Nothing was delivered yet.")
    page.run()
    expect(value_of(page, "outputs.text")).not_to_have_text("Nothing was delivered yet.")
    expect_thinking_times(page)
    shares = value_of(page, "outputs.probabilities").locator("li")
    expect(shares.first).to_contain_text("%")
    picture = page.page.locator("#values canvas")
    page.until("Number(document.querySelector('#values canvas').dataset.frames ?? 0) > 0")
    page.press("p")
    expect(page.status).to_contain_text("Paused")
    assert len(value_of(page, "inputs.prompt").inner_text()) > 80
    answers = shares.locator(".share-name").all_text_contents()
    best = value_of(page, "outputs.probabilities").locator(".best .share-name")
    expect(value_of(page, "outputs.text")).to_have_text(best.inner_text())
    percents = shares.locator(".share-percent").all_text_contents()
    assert sum(float(percent.split()[0]) for percent in percents) == pytest.approx(100, abs=3)
    assert len(answers) > 1
    box = picture.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (128, 96)
    # frozen, once the last picture has come
    page.at_rest("document.querySelector('#values').innerText")
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-values-{theme}-1280x800")
        assert least_contrast(page.page, "#values") >= 4.5
    page.page.get_by_role("button", name="Stop").click()
    expect(page.page.locator("#values header")).to_contain_text("The run is over")
    expect(value_of(page, "outputs.text")).to_have_text(best.inner_text())
    page.select("console")
    expect(page.page.locator("#inspector .bars")).to_have_count(0)


def expect_thinking_times(page: EditorPage) -> None:
    """Expect a histogram of how long the model thought beside the settings of its node."""
    bars = page.page.locator("#inspector .bars")
    told = re.compile(
        r"^\d+ thoughts?: half took less than [\d.]+ ms, 95 % less than [\d.]+ ms, "
        r"all less than [\d.]+ ms$"
    )
    expect(bars).to_have_attribute("aria-label", told)
    title = re.compile(r"^[\d.]+ ms to [\d.]+ ms: \d+$")
    expect(bars.locator("i").first).to_have_attribute("title", title)


@pytest.mark.slow
def test_numbers_flags_and_logits_of_a_network(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    page.select("head")
    page.press("v")
    page.run()
    shares = value_of(page, "outputs.logits").locator("li")
    expect(shares.first).to_contain_text("%")
    expect(value_of(page, "inputs.frames")).to_have_text("float32[4 84 84]")
    page.screenshot(screenshots, "values-logits")
    page.select("console")
    expect(value_of(page, "outputs.variables")).to_contain_text("score")
    page.until("Number(document.querySelector('#values canvas').dataset.frames ?? 0) > 0")
    page.page.get_by_role("button", name="Stop").click()


def test_the_values_are_shown_and_sized_with_the_keyboard_alone(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.press("l")
    page.page.keyboard.press("End")
    page.page.keyboard.press("Home")
    page.page.keyboard.press("v")
    values = page.page.locator("#values")
    expect(values).to_be_visible()
    edge = page.page.get_by_role("separator", name="Height of the values")
    edge.focus()
    height = int(edge.get_attribute("aria-valuenow") or 0)
    edge.press("ArrowUp")
    expect(edge).to_have_attribute("aria-valuenow", str(height + 24))
    expect(values).to_have_css("height", f"{height + 24}px")
    page.press("v")
    expect(values).to_be_hidden()
    assert page.ask("editor.selection.length") == 1


def test_nothing_is_asked_for_in_full_unless_it_is_shown(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.run()
    page.select("fighter")
    page.until("session.run?.tick > 100")
    assert page.ask("session.run.outputs.size") == 0
    page.press("v")
    page.until("session.run.outputs.get('fighter.pad') !== undefined")
    page.page.get_by_role("button", name="Stop").click()


@pytest.mark.slow
def test_masks_are_shown_as_a_picture(page: EditorPage) -> None:
    page.start_with("sf2_pixels")
    page.select("fighters")
    page.press("v")
    page.run()
    expect(page.page.locator("#values .value-picture small")).to_contain_text("320 × 224")
    # before its first tick, a node shows what it will be given
    page.until("Number(document.querySelector('#values canvas').dataset.tick) > 0")
    colours = Counter(map(tuple, page.ask(PIXELS)))
    colours.pop((255, 0, 255), None)  # where one stands before the other
    assert colours.keys() == {(0, 0, 0), (0, 0, 255), (255, 0, 0)}
    assert colours[0, 0, 255] > 300, "the own fighter is blue"
    assert colours[255, 0, 0] > 300, "the other one is red"
    page.page.get_by_role("button", name="Stop").first.click()
