"""An agent is built on an empty canvas, watched, and sent to another machine as one file."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from minibrains.files import bundled_dir
from nodes.actions.sink import ActionTable
from tests.support.editor_page import EditorPage, editor
from tests.support.service_fixtures import serving

ACTION_TABLE = "action_table/sf2.safetensors"


def choose_brain(page: EditorPage, node: str, brain: str) -> None:
    """Choose a brain in the list that its field on the node opens."""
    page.page.mouse.click(*page.part(node))
    page.page.get_by_role("menuitemradio", name=brain).click()
    assert page.workflow["nodes"][node]["brain"] == brain


def follow(page: EditorPage, output: str, type_: str, x: float, y: float) -> str:
    """Drag from an output onto the empty canvas, and choose the next node; return its id."""
    before = set(page.workflow["nodes"])
    page.drag(page.socket(output, "out"), page.at(x, y))
    page.choose(type_)
    new: str
    (new,) = set(page.workflow["nodes"]) - before
    return new


def play_fast(page: EditorPage) -> str:
    """Play to the end; return the hash of the pads."""
    page.page.locator('[data-clock="fast"]').click()
    page.run()
    page.until("session.run?.state === 'done' && session.run.result")
    assert page.ask("session.run.result.episodes.map((each) => each.won)") == [True]
    pads: str = page.ask("session.run.result.actions_sha256")
    return pads


@pytest.mark.slow
def test_from_an_empty_canvas_to_another_machine(
    page: EditorPage, browser: Browser, tmp_path: Path, screenshots: Path | None
) -> None:
    # a console, and its game
    page.start_with("")
    console = page.add("retro", 60, 60)
    page.set_widget(console, "game", "Duel-Genesis")
    page.set_widget(console, "states", "Level4.KazeVsBron")
    page.until(f"editor.board.startPicture('{console}') !== null")
    page.screenshot(screenshots, "first-console-light-1280x800")

    # what it sees
    features = follow(page, f"{console}.variables", "GameFeatures", 420, 60)
    vector = follow(page, f"{features}.fight", "FightVector", 420, 330)
    choose_brain(page, vector, "fight_vector/duel.safetensors")

    # how it decides, twice a second
    head = follow(page, f"{vector}.vector", "VectorPolicy", 420, 500)
    choose_brain(page, head, "vector_policy/duel.safetensors")
    page.select(head)
    page.page.locator("#inspector").get_by_text("When it runs").click()
    every = page.page.locator("#inspector").get_by_label("every", exact=True)
    every.fill("30")
    every.press("Tab")
    expect(every).to_be_visible()  # what was opened stays open
    page.deselect()
    sampler = follow(page, f"{head}.logits", "ActionSampler", 700, 60)

    # what it does
    sink = follow(page, f"{sampler}.action", "EmulatorSink", 700, 330)
    choose_brain(page, sink, ACTION_TABLE)
    page.wire(f"{features}.facing", f"{sink}.facing")
    page.wire(f"{sink}.pad", f"{console}.pad1")
    shown = follow(page, f"{head}.logits", "Preview", 700, 500)
    page.press("f")
    page.until("editor.isChecked && editor.faults.length === 0")
    page.screenshot(screenshots, "first-agent-light-1280x800")

    # what it sees and thinks, in a run that goes on until it is stopped
    page.deselect()
    page.page.get_by_label("episodes").fill("1000")
    page.page.get_by_label("episodes").press("Tab")
    page.page.locator('[data-clock="realtime"]').click()
    page.run()
    page.until("session.run?.tick > 120")
    page.select(vector)
    page.press("v")
    values = page.page.locator("#values")
    expect(values).to_contain_text("vector")
    likeliest = page.page.locator(f'[data-preview="{shown}"] .shares li').first
    expect(likeliest).to_have_class("best")
    table = ActionTable.load(bundled_dir("models") / ACTION_TABLE).names
    named = [f"{number} {name}" for number, name in enumerate(table)]
    assert likeliest.locator(".share-name").text_content() in named
    page.screenshot(screenshots, "first-thoughts-light-1280x800")
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")
    page.press("v")

    # it wins
    page.deselect()
    page.page.get_by_label("episodes").fill("1")
    page.page.get_by_label("episodes").press("Tab")
    pads = play_fast(page)

    # one file, and another machine, which knows nothing of it
    page.page.locator('#rail [data-tab="files"]').click()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Download with all brains").click()
    content = Path(download.value.path()).read_bytes()
    with serving(tmp_path / "other") as server, editor(browser, server.address) as other:
        other.start_with("")
        other.drop("agent.zip", content, other.at(20, 20))
        expect(other.message).to_contain_text("was imported with")
        assert play_fast(other) == pads
        other.screenshot(screenshots, "first-elsewhere-light-1280x800")
