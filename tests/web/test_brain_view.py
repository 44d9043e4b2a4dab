"""The editor shows what is inside a brain."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from minibrains.brain_file import read_header
from minibrains.files import bundled_dir
from nodes.language.pretrained import VLMBrain
from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage


def test_a_brain_is_looked_into_with_the_keyboard_alone(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("sf2_pixels")
    page.select("head")
    page.page.get_by_role("button", name="Look inside").press("Enter")
    dialog = page.page.locator("dialog")
    facts = dialog.locator(".facts")
    title = read_header(bundled_dir("models") / "policy_head/duel.safetensors").metadata["title"]
    expect(dialog.get_by_role("heading").first).to_have_text(title)
    for text in ("policy_head, version 1", "MIT", "duel_clone", "validation agreement 0.8"):
        expect(facts).to_contain_text(text)
    more = dialog.get_by_text("Other entries of the header")
    more.press("Enter")
    expect(dialog.get_by_text("fighter_colors_sha256")).to_be_visible()
    more.press("Enter")
    row = dialog.locator("tr", has_text="convolution0.weight")
    expect(row).to_contain_text("f1648 × 6 × 4 × 4")
    expect(row.locator(".bars i")).to_have_count(32)
    expect(row).to_contain_text("mean")
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-brain-{theme}-1280x800")
        assert least_contrast(page.page, "dialog") >= 4.5
    parent = dialog.get_by_role("button", name="fighter_colors/duel.safetensors")
    parent.press("Enter")
    expect(dialog).to_contain_text("fighter_colors, version 1")
    expect(dialog).to_have_count(1)
    page.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_the_list_of_files_opens_brains(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.press("Control+o")
    page.page.locator('[data-brain="action_table/sf2.safetensors"]').press("Enter")
    dialog = page.page.locator("dialog")
    expect(dialog).to_contain_text("None: this brain was not derived")
    expect(dialog.locator("tr", has_text="rows").locator(".bars i")).to_have_count(32)


def test_a_model_says_how_much_memory_it_takes(page: EditorPage) -> None:
    page.start_with("sf2_ram_text")
    page.select("strategist")
    button = page.page.get_by_role("button", name="Look inside")
    button.focus()
    page.page.keyboard.press("Shift+T")  # which shows everything on the right anew
    expect(button).to_be_focused()
    button.press("Enter")
    header = read_header(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
    sizes = VLMBrain.memory_sizes(header.tensors)
    facts = page.page.locator("dialog .facts")
    expect(facts).to_contain_text(
        f"Memory{sizes['f32']:,} bytes in f32, {sizes['bf16']:,} bytes in bf16"
    )
