"""Notes, colours and collapsed nodes: kept in the file, they change nothing of what is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from minibrains.files import bundled_dir
from minibrains.graph.workflow import load_workflow
from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage


def note(page: EditorPage, text: str, colour: str = "none") -> None:
    """Write a note with the keyboard alone."""
    page.press("n")
    expect(page.page.get_by_label("Text", exact=True)).to_be_focused()
    page.page.keyboard.type(text)
    page.page.keyboard.press("Tab")
    page.page.keyboard.type(colour)
    page.page.get_by_label("Colour", exact=True).press("Enter")
    page.page.get_by_role("button", name="Done").press("Enter")
    expect(page.page.locator("dialog")).to_have_count(0)


@pytest.mark.slow
def test_looks_are_given_with_the_keyboard_and_leave_the_run_and_its_hash_alone(
    page: EditorPage, data: Path, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    page.set_many_episodes()
    before = page.workflow
    page.run()
    page.frames("console", at_least=5)
    page.page.keyboard.press("Escape")
    note(page, "The reflex plays without looking: it is here to be beaten.", "teal")
    (frame,) = page.workflow["groups"]
    assert (frame["title"], frame["colour"]) == ("Note", "teal")
    page.select("score")
    page.press("c")
    page.select("reflex")
    page.press("Shift+C")
    page.page.get_by_role("menuitemradio", name="purple").press("Enter")
    layout = page.workflow["layout"]
    assert layout["score"] == [*before["layout"]["score"], None, {"collapsed": True}]
    assert layout["reflex"][3] == {"colour": "purple"}
    assert page.workflow["nodes"] == before["nodes"]
    page.until("editor.board.wireSources.includes('console')")  # its wire is still there
    watched = page.frames("console")
    page.frames("console", at_least=watched + 5)
    page.deselect()
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-looks-{theme}-1280x800")
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")
    assert page.ask("session.run.messages") == []
    page.save_as("looks")
    saved = load_workflow(data / "workflows" / "looks.json")
    original = load_workflow(bundled_dir("workflows") / "airstriker.json")
    assert not saved.faults
    assert saved.hash({}) == original.with_run(saved.run).hash({})
    page.select("score")
    page.press("c")
    assert page.workflow["layout"]["score"] == before["layout"]["score"]
    page.press("Shift+ArrowRight")
    page.until("editor.board.wireSources.includes('console')")
    for _ in range(4):
        page.press("Control+z")
    assert page.workflow["layout"] == before["layout"]


def test_notes_are_read_changed_and_removed_in_the_list(page: EditorPage) -> None:
    page.start_with("duel_expert")
    note(page, "first")
    note(page, "second", "orange")
    one, other = (frame["bounds"] for frame in page.workflow["groups"])
    across = abs(one[0] - other[0]) >= one[2]
    assert across or abs(one[1] - other[1]) >= one[3]  # they do not lie on each other
    page.press("l")
    page.page.keyboard.press("End")
    last = page.page.get_by_role("option", name="Note Note: second")
    expect(last).to_be_focused()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Control+a")
    page.page.keyboard.type("changed\nwith a second line")
    assert least_contrast(page.page, "dialog") >= 4.5
    page.page.get_by_role("button", name="Done").press("Enter")
    assert page.workflow["groups"][1]["text"] == "changed\nwith a second line"
    page.page.locator('[data-group="1"]').focus()
    page.page.keyboard.press("Delete")
    assert [frame["text"] for frame in page.workflow["groups"]] == ["first"]
    page.press("Control+z")
    assert len(page.workflow["groups"]) == 2


def test_a_note_is_dragged_and_a_wire_is_dropped_on_a_collapsed_node(page: EditorPage) -> None:
    page.start_with("duel_expert")
    note(page, "drag me")
    (frame,) = page.workflow["groups"]
    x, y, *_ = frame["bounds"]
    start = page.ask(f"editor.board.toClient([{x} + 60, {y} + 12])")
    page.drag(start, (start[0] + 64, start[1] + 32))
    (moved,) = page.workflow["groups"]
    assert moved["bounds"] != frame["bounds"]
    assert moved["text"] == "drag me"
    page.drag(page.socket("fighter.variables", "in"), page.at(620, 640))
    assert "in" not in page.workflow["nodes"]["fighter"]
    page.select("fighter")
    page.press("c")
    page.drag(page.socket("console.variables", "out"), page.node("fighter"))
    page.until("editor.workflow.nodes.fighter.in !== undefined")
    assert page.workflow["nodes"]["fighter"]["in"] == {"variables": "console.variables"}
    assert json.dumps(page.workflow["layout"]["fighter"]).endswith('{"collapsed": true}]')
