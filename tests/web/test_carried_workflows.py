"""Clips and pictures that the editor makes of a real game, and the workflow that they carry."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.support.editor_page import EditorPage
from tests.support.paths import ROOT


@pytest.mark.slow
def test_the_last_seconds_are_kept_with_a_key_and_with_the_button(
    page: EditorPage, data: Path, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    page.set_many_episodes()
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


def opened_from(page: EditorPage, name: str, content: bytes) -> dict[str, Any]:
    """Drop a file on the empty canvas; return the workflow that it opens."""
    page.page.locator("#board").focus()
    page.page.keyboard.press("Control+a")
    page.page.keyboard.press("Delete")
    page.drop(name, content, page.at(300, 300))
    page.until("Object.keys(editor.workflow.nodes).length > 0")
    return page.workflow


def test_a_clip_opens_its_workflow_as_it_was_played(page: EditorPage, data: Path) -> None:
    page.start_with("duel_expert")
    page.set_many_episodes()
    page.run()
    page.frames("console", at_least=10)
    with page.page.expect_response("**/runs/*/edit"):
        page.set_widget("fighter", "style", "aggressive")
    played = page.workflow
    page.press("k")
    expect(page.message).to_contain_text("seconds are kept as")
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")
    clip = max((data / "runs").glob("*/clip-*.mp4"), key=lambda path: path.stat().st_mtime)
    assert opened_from(page, "Clip.MP4", clip.read_bytes())["nodes"] == played["nodes"]


def test_a_film_that_was_recorded_opens_its_workflow(page: EditorPage, data: Path) -> None:
    page.start_with("airstriker")
    played = page.workflow
    page.press("Shift+R")
    page.until("session.run?.tick > 10")
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped' && session.run.result")
    film = max((data / "runs").glob("*/clip.mp4"), key=lambda path: path.stat().st_mtime)
    assert opened_from(page, "clip.mp4", film.read_bytes())["nodes"] == played["nodes"]


@pytest.mark.slow
def test_a_picture_of_the_graph_and_one_of_the_game_open_the_workflow(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    page.run()
    page.frames("console", at_least=20)
    page.select("grey")
    view = page.ask("editor.board.view")
    pictures: dict[str, bytes] = {}
    for keys in ("Shift+P", "Shift+K"):
        watched = page.frames("console")
        with page.page.expect_download() as download:
            page.press(keys)
        assert page.ask("editor.board.view") == view
        page.frames("console", at_least=watched + 20)
        assert download.value.suggested_filename.endswith(".png")
        pictures[keys] = download.value.path().read_bytes()
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")

    boxes = page.ask("[...editor.board.boxes.values()]")
    width = max(x + w for x, _, w, _ in boxes) - min(x for x, *_ in boxes)
    graph, game = (Image.open(io.BytesIO(saved)).convert("RGB") for saved in pictures.values())
    assert graph.width == pytest.approx(width + 112, abs=2)
    assert game.size == (320, 224)
    for picture in (graph, game):
        assert len(picture.getcolors(1 << 24) or []) > 8
    shown = page.workflow
    for keys, saved in pictures.items():
        if screenshots is not None:
            (screenshots / f"picture-{keys}.png").write_bytes(saved)
        assert opened_from(page, "picture.png", saved) == shown
        assert not page.ask("editor.document.isSaved")


def test_what_carries_nothing_or_is_damaged_is_refused_in_words(page: EditorPage) -> None:
    page.start_with("duel_expert")
    before = page.workflow
    plain = (ROOT / "docs/images/airstriker.png").read_bytes()
    page.drop("plain.png", plain, page.at(300, 300))
    expect(page.message).to_contain_text("plain.png carries no workflow")
    page.drop("cut.png", plain[:400], page.at(300, 300))
    expect(page.message).to_contain_text("The file is damaged: its end is missing.")
    page.drop("odd.mp4", b"\0\0\0\x08ftyp\0\0\0\x05", page.at(300, 300))
    expect(page.message).to_contain_text("The file is damaged: its end is missing.")
    page.drop("strange.gif", b"GIF89a", page.at(300, 300))
    expect(page.message).to_contain_text("is neither a workflow (.json, .zip, .png, .mp4)")
    assert page.workflow == before
