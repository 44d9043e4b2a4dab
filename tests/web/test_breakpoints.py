"""A breakpoint is set on a wire, pauses the run and is named; the run is then slowed down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.editor_page import EditorPage


@pytest.mark.slow
def test_a_run_is_paused_at_a_value_and_slowed_down(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    page.page.locator('[data-clock="realtime"]').click()

    # a condition that is none is not taken; the right one is in the file, and survives a renaming
    page.select("console")
    outputs = page.page.locator("#inspector").get_by_text("Outputs", exact=True)
    outputs.click()
    condition = page.page.locator("#inspector").get_by_label("reward pauses when")
    condition.fill("a reward")
    condition.press("Tab")
    assert "breakpoints" not in page.workflow
    condition.fill("> 0")
    condition.press("Tab")
    assert page.workflow["breakpoints"] == {"console.reward": "> 0"}
    page.deselect()

    # the run is paused with the reward on the wire
    page.run()
    page.until("session.run?.state === 'paused'")
    expect(page.status).to_contain_text("Paused")
    expect(page.status).to_contain_text("console.reward > 0")
    page.until("session.run.values.get('console.reward') === '20'")
    page.frames("console", 1)
    page.screenshot(screenshots, "editor-breakpoint-light-1280x800")

    # on it goes, slower, to the next reward
    at = page.ask("session.run.ticks")
    speed = page.page.get_by_label("Speed", exact=True)
    speed.select_option("1/2 speed")
    page.until("session.run.speed === 0.5")
    page.press("p")
    page.until(f"session.run.ticks > {at} && session.run.state === 'paused'")
    expect(page.status).to_contain_text("console.reward > 0")

    # taken out while it is paused, it pauses no more
    page.select("console")
    condition.fill("")
    with page.page.expect_response("**/runs/*/breakpoints"):
        condition.press("Tab")
    assert "breakpoints" not in page.workflow
    page.deselect()
    at = page.ask("session.run.ticks")
    speed.select_option("Full speed")
    page.press("p")
    page.until(f"session.run.ticks > {at + 60} && session.run.state === 'running'")
    page.press("Control+.")
    page.until("session.run.state === 'stopped'")


def test_a_breakpoint_is_set_on_a_wire(page: EditorPage) -> None:
    page.start_with("airstriker")
    page.ask("editor.board.fit()")
    x, y = page.socket("console.reward", "out")
    page.page.mouse.click(x + 16, y, button="right")
    page.page.get_by_role("menuitem", name="Pause at a value").click()
    page.page.get_by_label("Condition").fill("less")
    page.page.get_by_role("button", name="Set breakpoint").click()
    expect(page.message).to_contain_text("“less” is not a condition")
    assert "breakpoints" not in page.workflow

    page.page.mouse.click(x + 16, y, button="right")
    page.page.get_by_role("menuitem", name="Pause at a value").click()
    expect(page.page.get_by_label("Condition")).to_have_value("< 0")
    page.page.get_by_role("button", name="Set breakpoint").click()
    page.until("editor.workflow.breakpoints?.['console.reward'] === '< 0'")

    # it goes with its node, and one undo takes it back
    page.select("console")
    page.press("Delete")
    page.until("editor.workflow.breakpoints === undefined")
    page.press("Control+z")
    page.until("editor.workflow.breakpoints?.['console.reward'] === '< 0'")
    page.press("Control+z")
    page.until("editor.workflow.breakpoints === undefined")


@pytest.mark.slow
def test_one_node_after_the_other_shows_what_it_computes(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    page.run()
    page.until("session.run?.tick > 20")
    page.press("p")
    page.until("session.run.state === 'paused'")
    ticks = page.ask("session.run.ticks")
    while ticks % 8:  # on one tick in eight the network is asked
        page.press(".")
        ticks += 1
        page.until(f"session.run.ticks === {ticks}")

    # the page follows the nodes, and shows the inputs and outputs of each
    nodes: list[str] = []
    while "choose" not in nodes:
        at = page.ask("JSON.stringify(session.run.at)")
        page.press("i")
        page.until(f"JSON.stringify(session.run.at) !== {at!r}")
        nodes.append(page.ask("session.run.at.node"))
        page.until(f"editor.selection.join() === {nodes[-1]!r}")
    assert nodes[0] == "console"
    values = page.page.locator("#values")
    assert {"grey", "head"} < set(nodes)
    expect(values).to_contain_text(f"Within tick {ticks}: choose has run")
    expect(values.locator('[data-value="outputs.action"]')).to_have_text(re.compile(r"^[0-5]"))
    expect(page.status).to_contain_text("choose has run")
    if screenshots is not None:
        page.page.screenshot(path=screenshots / "editor-nodes-light-1280x800.png")

    # a step ends the tick
    page.press(".")
    page.until(f"session.run.ticks === {ticks + 1} && session.run.at === null")
    expect(values).to_contain_text("paused")
    page.page.locator("button.stop").click()
    page.until("session.run.state === 'stopped'")
