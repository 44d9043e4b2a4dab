"""The editor shows what a run does while a real game is played: budgets, and values on wires."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage
from tests.support.paths import ROOT


@pytest.mark.slow
def test_budgets_name_the_slowest_node_and_show_what_is_held(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("sf2_realtime")
    page.set_many_episodes()
    page.run()
    budget = page.page.locator("#budget button")
    expect(budget).to_contain_text(
        re.compile(r"of 16\.\d ms a tick; slowest: \w+, .+ (µs|ms); .*deadlines? missed")
    )
    page.until("session.run.budget.nodes.get('strategist').thought.includes(true)")
    page.until("session.run.budget.nodes.get('strategist').us.length === 60")
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-budgets-{theme}-1280x800")
        assert least_contrast(page.page, "#budget") >= 4.5
    page.press("p")
    expect(page.status).to_contain_text("Paused")
    slowest = page.ask("session.run.budget.slowest.node")
    budget.press("Enter")
    assert page.ask("editor.selection") == [slowest]
    expect(page.page.locator("#inspector .ticks")).to_contain_text("On the last 60 ticks")
    page.press("t")
    expect(budget).to_be_hidden()
    page.press("t")
    expect(budget).to_be_visible()
    page.page.get_by_role("button", name="Stop").click()
    expect(budget).to_be_hidden()


@pytest.mark.slow
def test_wires_show_what_they_carry_and_stand_still_while_paused(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    page.run()
    page.until("editor.board.wireValue('head.logits') !== null")
    page.until("editor.board.wireValue('stack.frames')?.text === 'float32[4 84 84]'")
    picture = page.page.locator('.screen[data-wire="grey"]')
    page.until("Number(document.querySelector('[data-wire=grey]')?.dataset.frames ?? 0) > 2")
    expect(page.page.locator('.screen[data-wire="console"]')).to_have_count(0)
    before = page.ask("session.run.values.get('console.variables')")
    page.until(f"session.run.values.get('console.variables') !== {before!r}")
    page.screenshot(screenshots, "editor-wires-light-1280x800")
    page.press("p")
    expect(page.status).to_contain_text("Paused")
    page.at_rest("[...session.run.values]")
    page.at_rest("document.querySelector('[data-wire=grey]').dataset.frames")
    page.press("w")
    expect(picture).to_have_count(0)
    assert page.ask("editor.board.wireValue('head.logits')") is None
    page.press("w")
    page.until("editor.board.wireValue('head.logits') !== null")
    page.page.reload()
    page.ready()
    assert page.ask("session.view.shows('wires')")
    page.page.get_by_role("button", name="Stop").click()


def test_a_value_is_red_once_its_node_no_longer_runs(page: EditorPage) -> None:
    lives = {
        "type": "Variable@1",
        "set": {"name": "lives"},
        "in": {"variables": "console.variables"},
    }
    workflow = {
        "minibrains": 1,
        "run": {"clock": "realtime", "episodes": 1000},
        "nodes": {
            "console": {"type": "RetroEmulator@3", "set": {"game": "Airstriker-Genesis-v0"}},
            "first_tick": {"type": "Every@1", "set": {"ticks": 60_000}},
            "once": {**lives, "when": "first_tick.now"},
            "always": lives,
            "log": {"type": "Log@1", "in": {"value": "once.number"}},
            "log_too": {"type": "Log@1", "in": {"value": "always.number"}},
        },
    }
    page.start_with("")
    page.open_workflow(workflow)
    page.run()
    page.until("editor.board.wireValue('once.number')?.freshness === 'stale'")
    page.until("editor.board.wireValue('always.number')?.freshness === 'live'")
    page.page.get_by_role("button", name="Stop").click()


@pytest.mark.slow
def test_previews_show_numbers_pads_texts_and_probabilities(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker_pixels")
    workflow = page.workflow
    workflow["run"]["episodes"] = 1000
    shown = {
        "course": ("score.number", [440, 600, 288]),
        "pad": ("sink.pad", [760, 760, 288]),
        "policy": ("head.logits", [1080, 760, 288]),
    }
    for name, (source, at) in shown.items():
        workflow["nodes"][name] = {"type": "Preview@2", "in": {"value": source}}
        workflow["layout"][name] = at
    page.open_workflow(workflow)
    page.press("f")
    page.run()
    views = {name: page.page.locator(f'[data-preview="{name}"]') for name in shown}
    expect(views["course"].locator(".plot small")).to_contain_text("ticks")
    expect(views["policy"].locator(".shares li")).to_have_count(6)
    page.until("document.querySelector('[data-preview=pad] .down') !== null")
    expect(views["pad"].locator("li").filter(has_text="START")).to_be_visible()
    page.until("session.run.tick > 200")
    page.press("p")
    expect(page.status).to_contain_text("Paused")
    for theme in page.in_each_theme():
        page.screenshot(screenshots, f"editor-previews-{theme}-1280x800")
        assert least_contrast(page.page, "#screens") >= 4.5
    assert page.page.locator("[data-node=course].lit").count() == 0
    narrow = views["course"].bounding_box()
    assert narrow
    page.select("course")
    for _ in range(6):
        page.press("Shift+ArrowRight")
    page.until("editor.board.widthOf('course') === 576")
    width = "document.querySelector('[data-preview=course]').getBoundingClientRect().width"
    page.until(f"{width} > {1.9 * narrow['width']}")
    page.page.get_by_role("button", name="Stop").click()


@pytest.mark.slow
def test_a_run_is_recorded_and_filmed_with_the_keyboard_alone(
    page: EditorPage, data: Path, screenshots: Path | None
) -> None:
    page.start_with("duel_expert")
    page.press("Shift+R")
    record = page.page.get_by_role("button", name="Record")
    expect(record).to_have_attribute("aria-pressed", "true")
    page.until("session.run?.recorded && session.run.tick > 60")
    page.screenshot(screenshots, "record")
    page.page.reload()  # it is known to be recorded after a reload, too
    page.ready()
    expect(record).to_have_attribute("aria-pressed", "true")
    page.press("Shift+R")  # the tape ends, and the run goes on
    expect(record).to_have_attribute("aria-pressed", "false")
    assert page.ask("session.run.state") == "running"
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped' && session.run.result")
    (clip,) = (data / "runs").glob("*/clip.mp4")
    replayed = subprocess.run(
        [sys.executable, "-m", "server", "replay", str(clip.parent), "--json"],
        cwd=data,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(replayed.stdout)["equal"]
    assert clip.stat().st_size > 1000
    # from the middle of a run
    page.run()
    page.until("session.run?.state === 'running' && session.run.tick > 60")
    expect(record).to_have_attribute("aria-pressed", "false")
    page.press("Shift+R")
    expect(record).to_have_attribute("aria-pressed", "true")
    seen = page.ask("session.run.ticks")
    page.until(f"session.run.ticks > {seen} + 60")
    page.press("Shift+R")
    expect(page.message).to_contain_text("The tape is kept, and the game goes on.")
    page.page.get_by_role("button", name="Stop").click()
    page.until("session.run.state === 'stopped'")
    page.page.get_by_role("button", name="Rewind").click()
    page.until(f"session.timeline?.last > {seen} && session.timeline.difference === null")
    page.page.get_by_role("button", name="Stop").click()
