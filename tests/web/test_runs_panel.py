"""The editor tells runs apart, and opens what they left."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage, editor
from tests.support.service_fixtures import serving


def play(page: EditorPage, ticks: int) -> str:
    """Play as fast as possible to the end; returns the run's id."""
    page.deselect()
    page.page.locator("#inspector").get_by_label("ticks").fill(str(ticks))
    page.page.keyboard.press("Tab")
    page.page.locator('[data-clock="fast"]').click()
    before = page.ask("session.run?.id ?? null")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.until(f"session.run && session.run.id !== {before!r}".replace("None", "null"))
    page.until("['done', 'failed'].includes(session.run.state)")
    run: str = page.ask("session.run.id")
    return run


@pytest.mark.slow
def test_runs_are_told_apart_found_and_opened(
    browser: Browser, tmp_path: Path, screenshots: Path | None
) -> None:
    with serving(tmp_path / "data") as server, editor(browser, server.address) as page:
        page.start_with("airstriker_pixels")
        page.page.locator('[data-tab="runs"]').click()
        first = play(page, 90)
        second = play(page, 300)
        row = page.page.locator(f'[data-run="{first}"]')
        other = page.page.locator(f'[data-run="{second}"]')
        for each in (row, other):
            expect(each).to_contain_text("done, ")
            expect(each).to_contain_text("score ")
        loaded = "[...document.querySelectorAll('.run-picture')].every((i) => i.naturalWidth > 0)"
        page.until(f"document.querySelectorAll('.run-picture').length === 2 && {loaded}")
        # found by text
        search = page.page.get_by_label("Filter runs")
        search.fill("nothing like it")
        expect(row).to_be_hidden()
        expect(page.page.get_by_text("No run of this name.")).to_be_visible()
        search.fill("PIXELS done")
        expect(row).to_be_visible()
        for theme in page.in_each_theme():
            page.screenshot(screenshots, f"editor-runs-{theme}-1280x800")
            assert least_contrast(page.page, "#panel") >= 4.5
        # its results and files, with the keyboard alone
        row.focus()
        page.page.keyboard.press("Tab")
        page.page.keyboard.press("Enter")
        page.page.get_by_role("menuitem", name="Results and files").press("Enter")
        dialog = page.page.locator("dialog")
        expect(dialog.locator(".facts")).to_contain_text("Ticks90")
        picture = dialog.locator('img[alt="seen.png"]')
        expect(picture).to_have_js_property("complete", value=True)
        link = dialog.get_by_role("link", name="workflow.json")
        with page.page.context.expect_page() as opened:
            link.press("Enter")
        expect(opened.value.locator("body")).to_contain_text('"minibrains": 1')
        opened.value.close()
        for theme in page.in_each_theme():
            page.screenshot(screenshots, f"run-{theme}")
            assert least_contrast(page.page, "dialog") >= 4.5
        dialog.get_by_role("button", name="Open its workflow").press("Enter")
        page.page.get_by_role("button", name="Discard").press("Enter")
        page.until("editor.workflow.run.ticks === 90")
        assert page.errors == []


@pytest.mark.slow
def test_the_clip_of_a_run_is_played(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server, editor(browser, server.address) as page:
        page.start_with("airstriker_random")
        film = page.add("video writer", 300, 620)
        page.wire("console.frame", f"{film}.frame")
        page.page.locator('[data-tab="runs"]').click()
        run = play(page, 60)
        page.page.locator(f'[data-run="{run}"]').focus()
        page.page.keyboard.press("Tab")
        page.page.keyboard.press("Enter")
        page.page.get_by_role("menuitem", name="Results and files").press("Enter")
        clip = page.page.locator("dialog video")
        expect(clip).to_have_attribute("src", re.compile(r"\.mp4$"))
        address = f"{server.address}{clip.get_attribute('src')}"
        answer = page.page.request.get(address)
        assert answer.headers["content-type"] == "video/mp4"
        assert len(answer.body()) > 1000
        assert page.errors == []


def test_a_failed_run_says_why_in_the_list(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server, editor(browser, server.address) as page:
        failing = {
            "minibrains": 1,
            "title": "a film",
            "nodes": {
                "film": {"type": "service_nodes.Film@1"},
                "troubled": {
                    "type": "service_nodes.Troubled@1",
                    "set": {"does": "raise"},
                    "in": {"count": "film.count"},
                },
            },
        }
        page.start_with("")
        page.open_workflow(failing)
        page.page.locator('[data-tab="runs"]').click()
        run = play(page, 90)
        row = page.page.locator(f'[data-run="{run}"]')
        expect(row.locator(".reason")).to_contain_text("as I was told")
        expect(page.page.locator(".run-picture")).to_have_count(0)
        assert page.errors == []


@pytest.mark.slow
def test_more_runs_are_queued_with_the_next_seeds(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    page.page.locator('[data-tab="runs"]').click()
    page.page.locator('[data-clock="realtime"]').click()
    page.run()
    page.until("session.run?.tick > 0")
    shown = page.ask("session.run.id")
    for seed in (1, 2, 3, 4):
        page.press("Control+Shift+Enter")
        expect(page.message).to_have_text(f"A run with seed {seed} is in the queue: see Runs.")
    assert page.ask("session.run.id") == shown

    # the last of them, which does not begin meanwhile
    pending = page.page.evaluate("fetch('api/queue').then((answer) => answer.json())")
    last = pending["queue_pending"][-1][1]
    row = page.page.locator(f'.run-row:has([data-run="{last}"])')
    row.hover()
    row.get_by_role("button", name="Take out of the queue").click()
    expect(row).to_have_count(0)

    clear = "fetch('api/queue', { method: 'POST', body: JSON.stringify({ clear: true }) })"
    page.page.evaluate(f"async () => {{ await {clear}; }}")
    page.page.get_by_role("button", name="Stop").first.click()
    page.until("session.run.state === 'stopped'")


def test_a_recorded_run_is_downloaded_with_its_tape(page: EditorPage, tmp_path: Path) -> None:
    page.start_with("airstriker_random")
    page.page.locator("#inspector").get_by_label("ticks").fill("60")
    page.page.keyboard.press("Tab")
    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Record").click()
    page.until("session.run?.state === 'done'")
    run = page.ask("session.run.id")

    page.page.locator('[data-tab="runs"]').click()
    row = page.page.locator(f'.run-row:has([data-run="{run}"])')
    row.hover()
    row.get_by_role("button", name="More for").click()
    with page.page.expect_download() as download:
        page.page.get_by_role("menuitem", name="Download with brains and tape").click()
    download.value.save_as(tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert {"workflow.json", "run.tape"} <= set(archive.namelist())
