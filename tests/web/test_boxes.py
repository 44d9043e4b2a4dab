"""Boxes: made of nodes, opened, shown live inside, unpacked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from minibrains import RunSpec
from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage

EYES = ("grey", "small", "stack")


def make_box(page: EditorPage, nodes: tuple[str, ...], title: str) -> None:
    """Select nodes, and put them into a box, with the keyboard alone."""
    page.ask(f"editor.board.select({list(nodes)!r})")
    page.press("Shift+g")
    field = page.page.get_by_label("Title", exact=True)
    field.fill(title)
    field.press("Enter")
    page.until(f"Object.values(editor.workflow.nodes).some(({{ title }}) => title === '{title}')")


def test_a_box_is_made_opened_and_unpacked(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("airstriker_pixels")
    page.until("editor.isChecked")
    before = page.workflow
    make_box(page, EYES, "Eyes")
    page.until("editor.isChecked && editor.faults.length === 0")
    box = page.workflow["nodes"]["eyes"]
    assert box == {"type": "defs/eyes", "title": "Eyes", "in": {"frame": "console.frame"}}
    assert page.workflow["nodes"]["head"]["in"] == {"frames": "eyes.frames"}
    assert page.workflow["nodes"]["seen"]["in"] == {"value": "eyes.frame"}
    page.press("Control+z")
    page.until("!('defs' in editor.workflow)")
    assert page.workflow == before
    page.press("Control+Shift+z")
    page.until("'eyes' in editor.workflow.nodes")

    # a double click opens it, and Escape leads back to it
    page.open_box("eyes")
    crumbs = page.page.get_by_role("navigation", name="Boxes")
    expect(crumbs).to_contain_text("Eyes")
    assert set(page.workflow["nodes"]) == {
        *(f"eyes/{node}" for node in EYES),
        "eyes/:in",
        "eyes/:out",
    }
    for theme in page.in_each_theme():
        assert least_contrast(page.page, "[aria-label='Boxes']") >= 4.5
        assert least_contrast(page.page, "#inspector") >= 4.5
        page.screenshot(screenshots, f"editor-box-{theme}-1280x800")
    page.press("Escape")
    page.until("editor.path === '' && editor.selection.join() === 'eyes'")

    # its nodes are back where they were
    page.press("Shift+u")
    page.until("!('defs' in editor.workflow)")
    assert page.workflow["nodes"] == before["nodes"]
    assert page.workflow["layout"] == before["layout"]


def test_the_inside_is_edited_and_shown_on_the_box(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    make_box(page, EYES, "Eyes")
    page.press("o")
    page.until("editor.path === 'eyes'")
    inspector = page.page.locator("#inspector")

    # sockets are renamed, with what leads to them
    field = inspector.get_by_label("outputs frames")
    field.fill("seen")
    field.press("Tab")
    page.until("editor.document.workflow.nodes.head.in.frames === 'eyes.seen'")
    field = inspector.get_by_label("inputs frame", exact=True)
    field.fill("not one")
    field.press("Tab")
    expect(page.message).to_contain_text("A name has only letters")

    # another output, by the keyboard
    inspector.get_by_label("new output comes from").select_option("eyes/grey.frame")
    page.until("editor.document.workflow.defs.eyes.outputs.frame_2 === 'grey.frame'")

    # a widget is shown on the box, and set there
    page.select("eyes/small")
    inspector.get_by_role("button", name="Show width on the box").click()
    expect(inspector.get_by_role("button", name="width is on the box as width")).to_be_visible()
    page.page.get_by_role("navigation", name="Boxes").get_by_role("button").click()
    page.until("editor.path === ''")
    page.set_widget("eyes", "width", "80")
    assert page.workflow["nodes"]["eyes"]["set"] == {"width": 80}
    assert page.workflow["defs"]["eyes"]["widgets"] == {"width": "small.width"}

    # a fault inside is shown on the box, and leads to its node
    page.ask("editor.enter('eyes')")
    page.set_widget("eyes/small", "height", "0")
    page.ask("editor.setWidget('eyes/small', 'height', 'high', true)")
    page.until("editor.faults.some(({ node }) => node === 'eyes/small')")
    page.press("Shift+o")
    page.until("editor.path === ''")
    page.page.locator("#fault button").click()
    page.until("editor.path === 'eyes' && editor.selection.join() === 'eyes/small'")


def test_what_somebody_types_stays_whatever_changes_meanwhile(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    make_box(page, EYES, "Eyes")
    page.ask("editor.enter('eyes')")
    field = page.page.locator("#inspector").get_by_label("outputs frames")
    field.fill("seen")
    page.ask("editor.setPart('eyes', 'sight', 7)")
    field.press("Tab")
    page.until("editor.document.workflow.nodes.head.in.frames === 'eyes.seen'")
    expect(page.page.locator("#inspector").get_by_label("outputs seen")).to_have_value("seen")
    assert page.workflow["defs"]["eyes"]["version"] == 7

    # what changed meanwhile is shown once nobody types any more
    inspector = page.page.locator("#inspector")
    inspector.get_by_label("outputs seen").focus()
    page.ask("editor.setPart('eyes', 'sight', 8)")
    expect(inspector).to_contain_text("Box, version 7")
    page.page.locator("#board").focus()
    expect(inspector).to_contain_text("Box, version 8")


@pytest.mark.slow
def test_a_run_is_live_inside_of_a_box(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("airstriker")
    nodes = page.ask("Object.keys(editor.workflow.nodes).filter((id) => id !== 'console')")
    make_box(page, tuple(nodes), "Agent")
    make_box(page, ("agent", "console"), "All")
    page.until("editor.isChecked && editor.faults.length === 0")
    page.set_many_episodes()
    page.run()
    page.until("session.run?.state === 'running'")
    page.ask("editor.enter('all')")
    page.until("session.run.ticks > 30")
    page.frames("all/console", 5)
    page.ask("editor.enter('all/agent')")
    node = page.ask("Object.keys(editor.workflow.nodes).find((id) => !id.includes(':'))")
    page.until(f"session.run.nodes.get('{node}')?.runs > 0")
    page.until("session.run.budget.nodes.size > 1")

    # an edit inside reaches the run, which goes on
    page.ask("editor.enter('all')")
    page.select("all/console")
    at = page.ask("session.run.ticks")
    page.ask("editor.toggleMode('mute', ['all/agent'])")
    page.until(f"session.run.ticks > {at + 60} && session.run.state === 'running'")
    page.until("!session.run.nodes.has(Object.keys(editor.document.workflow.nodes)[0])")
    page.press("Control+.")
    page.until("session.run.state === 'stopped'")


def test_a_box_is_saved_as_a_part_inserted_and_updated(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    make_box(page, EYES, "Eyes")

    def save(name: str) -> None:
        page.press("Control+k")
        search = page.page.get_by_role("combobox", name="Search commands")
        search.fill("Save the box as a part")
        search.press("Enter")
        field = page.page.get_by_label("Name", exact=True)
        field.fill(name)
        field.press("Enter")

    save("sight")
    expect(page.message).to_have_text("Saved as the part sight, version 1.")
    assert page.workflow["defs"]["eyes"]["part"] == "sight"
    page.until("editor.parts.length === 1")

    # inserted from the palette, the workflow has a copy of it
    page.press("a")
    page.page.get_by_role("combobox", name="Search nodes").fill("sight")
    option = page.page.locator(".palette-option").first
    expect(option).to_contain_text("parts")
    page.page.keyboard.press("Enter")
    page.until("editor.workflow.nodes.eyes_2?.type === 'defs/eyes'")

    # a newer version is noticed, and replaces the copy
    page.ask("editor.enter('eyes')")
    page.ask("editor.setWidget('eyes/small', 'width', 60, true)")
    page.ask("editor.enter('')")
    save("sight")
    expect(page.message).to_have_text("Saved as the part sight, version 2.")
    page.ask("editor.setPart('eyes', 'sight', 1)")
    page.until("editor.parts[0].defs.eyes.version === 2")
    page.select("eyes")
    inspector = page.page.locator("#inspector")
    expect(inspector).to_contain_text("The part sight has version 2; this copy is version 1.")
    inspector.get_by_role("button", name="Update from the part").click()
    page.until("editor.workflow.defs.eyes.version === 2")
    expect(inspector).not_to_contain_text("this copy is version")

    # another part is not overwritten
    page.ask("editor.setPart('eyes', 'other', 1)")
    save("sight")
    expect(page.message).to_contain_text("There is a part sight already")


def test_what_a_command_changed_in_one_of_two_boxes_is_inside_of_that_one(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    make_box(page, EYES, "Eyes")
    page.until("editor.isChecked")
    boxed = page.workflow
    boxed["nodes"]["others"] = boxed["nodes"]["eyes"]
    changed = RunSpec(boxed, widgets={"others/small.width": 42}).load_workflow()
    assert "others/small" in changed.raw["nodes"]

    page.drop("changed.json", json.dumps(changed.to_json()).encode(), page.at(20, 20))
    page.page.get_by_role("button", name="Discard").click()
    page.until("'others' in editor.workflow.nodes && editor.isChecked")
    assert set(page.workflow["nodes"]) == set(boxed["nodes"])
    page.open_box("others")
    assert page.workflow["nodes"]["others/small"]["set"]["width"] == 42
    page.press("Escape")
    page.open_box("eyes")
    assert page.workflow["nodes"]["eyes/small"]["set"]["width"] != 42
