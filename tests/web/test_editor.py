"""The editor in Chromium, against a real server."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import APIResponse, Browser, FloatRect, Route, expect

from minibrains.files import bundled_dir
from tests.support.command import Command
from tests.support.editor_page import EditorPage, editor
from tests.support.paths import DATA, ROOT
from tests.support.service_fixtures import serving
from tests.support.timeouts import TIMEOUT

VIEW = "editor.board.view.area"
HOSTILE = (
    '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>'
    "\"'`${globalThis.pwned=1}javascript:pwned=1"
)


@pytest.mark.slow
def test_wire_an_agent_with_the_mouse_run_it_save_it_and_run_it_headless(
    page: EditorPage, data: Path, summary: Callable[..., dict[str, Any]]
) -> None:
    page.start_with("")
    console = page.add("retro", 60, 60)
    fighter = page.add("scripted fighter", 480, 60)
    page.press("f")
    page.wire(f"{console}.variables", f"{fighter}.variables")
    page.wire(f"{fighter}.pad", f"{console}.pad1")
    assert page.workflow["nodes"][console]["in"] == {"pad1": f"{fighter}.pad"}
    assert page.workflow["nodes"][fighter]["in"] == {"variables": f"{console}.variables"}
    page.set_widget(console, "game", "Duel-Genesis")
    page.set_widget(console, "states", "Level4.KazeVsBron")
    page.set_widget(fighter, "style", "aggressive")
    page.page.get_by_label("seed").fill("7")
    page.page.get_by_label("seed").press("Tab")
    page.set_many_episodes()

    page.page.get_by_role("button", name="Run", exact=True).click()
    expect(page.status).to_contain_text("Running")
    page.frames(console, at_least=20)
    first = page.picture(console)
    seen = page.frames(console)
    page.frames(console, at_least=seen + 30)
    assert page.picture(console) != first
    page.page.get_by_role("button", name="Stop").click()
    expect(page.status).to_contain_text("Stopped")

    page.deselect()
    page.page.get_by_label("episodes").fill("1")
    page.page.get_by_label("ticks").fill("600")
    page.page.get_by_label("ticks").press("Tab")
    page.save_as("my duel")
    page.page.reload()
    page.ready()
    assert page.ask("editor.document.isSaved")

    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.until("session.run?.state === 'done' && session.run.result")
    live = page.ask("session.run.result")
    headless = summary(data / "workflows" / "my duel.json")
    assert headless["seed"] == 7
    assert live["actions_sha256"] == headless["actions_sha256"]
    page.status.click()
    expect(page.page.locator("dialog .facts")).to_contain_text(headless["actions_sha256"])


def test_a_wrong_wire_is_refused_and_says_why(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.until("editor.isChecked")  # which also says what fits where
    before = page.workflow
    page.wire("console.frame", "fighter.variables")
    expect(page.message).to_contain_text(
        "console.frame gives frame u8[h w 3], but fighter.variables takes variables."
    )
    assert page.workflow == before


def test_a_wire_whose_sizes_do_not_fit_through_the_graph_is_taken_back(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    page.set_widget("small", "width", "40")
    expect(page.page.locator(".fault")).to_contain_text("head")
    page.press("Control+z")
    expect(page.page.locator(".fault")).to_be_empty()
    random = page.add("random policy", 300, 560)
    page.set_widget(random, "actions", "99")
    before = page.workflow["nodes"]["gate"]["in"]
    page.wire(f"{random}.action", "gate.action")
    expect(page.message).to_contain_text("gate.action")
    expect(page.message).to_contain_text("index[99]")
    assert page.workflow["nodes"]["gate"]["in"] == before


def test_a_wire_is_judged_by_what_flows_through_generic_nodes(page: EditorPage) -> None:
    page.start_with("duel_expert")
    knee = page.add("reroute", 620, 640)
    page.wire("console.reward", f"{knee}.value")
    page.until(f"editor.linking.outputs['{knee}.value'] === 'number'")
    before = page.workflow
    page.wire(f"{knee}.value", "console.pad2")
    expect(page.message).to_contain_text(f"{knee}.value gives number, but console.pad2 takes pad.")
    assert page.workflow == before
    page.wire("console.frame", f"{knee}.value")
    page.until(f"editor.linking.outputs['{knee}.value']?.startsWith('frame')")
    page.drag(page.socket(f"{knee}.value", "out"), page.at(800, 700))
    options = page.page.locator(".palette-option b")
    expect(options.filter(has_text="Grayscale")).to_be_visible()
    assert "Score" not in options.all_text_contents()


def test_a_wire_that_closes_a_loop_within_a_tick_is_refused(page: EditorPage) -> None:
    page.start_with("duel_expert")
    first = page.add("changed", 320, 620)
    second = page.add("changed", 620, 660)
    page.ask("editor.board.fit()")
    page.wire(f"{first}.value", f"{second}.value")
    page.until(f"editor.linking.before.{second}?.includes('{first}')")
    before = page.workflow
    page.wire(f"{second}.value", f"{first}.value")
    expect(page.message).to_contain_text("closes a loop")
    assert page.workflow == before


def test_a_socket_says_what_it_is(page: EditorPage) -> None:
    page.start_with("duel_expert")
    x, y = page.socket("console.reward", "out")
    page.page.mouse.move(x - 10, y)
    words = "of the last frame, in the unit of the game's scenario"
    expect(page.page.locator("#board")).to_have_attribute("title", f"reward: number\n{words}")
    page.page.mouse.move(*page.at(620, 640))
    expect(page.page.locator("#board")).to_have_attribute("title", "")
    page.select("console")
    expect(page.page.locator("#inspector")).to_contain_text("names of the buttons held")
    page.page.locator("#inspector summary", has_text="Outputs").click()
    expect(page.page.locator("#inspector")).to_contain_text(words)


def test_a_wire_released_on_empty_canvas_offers_what_fits(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.until("editor.isChecked")
    page.drag(page.socket("console.frame", "out"), page.at(620, 640))
    options = page.page.locator(".palette-option b")
    expect(options.filter(has_text="Grayscale")).to_be_visible()
    assert "ScriptedFighter" not in options.all_text_contents()
    page.choose("preview")
    assert page.workflow["nodes"]["preview"]["in"] == {"value": "console.frame"}
    page.press("Control+z")
    assert "preview" not in page.workflow["nodes"]


def test_the_palette_finds_games_and_adds_a_console_with_one(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.until("editor.games.names.length > 0")
    added = page.add("meadow-gb", 620, 640)
    entry = page.workflow["nodes"][added]
    assert entry == {"type": "RetroEmulator@3", "set": {"game": "Meadow-GbAdvance"}}


def test_a_wire_dragged_off_its_input_is_gone_and_undo_is_one_step(page: EditorPage) -> None:
    page.start_with("duel_expert")
    before = page.workflow
    page.drag(page.socket("fighter.variables", "in"), page.at(620, 640))
    assert "in" not in page.workflow["nodes"]["fighter"]
    page.drag(page.node("score"), page.at(620, 600))
    moved = page.workflow["layout"]["score"]
    assert moved != before["layout"]["score"]
    assert all(value % 8 == 0 for value in moved)
    page.press("Control+z")
    assert page.workflow["layout"] == before["layout"]
    page.press("Control+z")
    assert page.workflow == before
    page.press("Control+Shift+z")
    assert "in" not in page.workflow["nodes"]["fighter"]


def test_a_node_dropped_on_a_wire_stands_in_it(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    grey = page.add("reroute", 120, 660)
    page.ask("editor.board.fit()")
    (x1, y1), (x2, y2) = page.socket("grey.frame", "out"), page.socket("small.frame", "in")
    page.page.mouse.move(*page.node(grey))
    page.drag(page.node(grey), ((x1 + x2) / 2, (y1 + y2) / 2))
    assert page.workflow["nodes"][grey]["in"] == {"value": "grey.frame"}
    assert page.workflow["nodes"]["small"]["in"] == {"frame": f"{grey}.value"}


def test_copy_and_paste_between_tabs(browser: Browser, address: str) -> None:
    with editor(browser, address) as page:
        page.start_with("duel_expert")
        page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.press("Control+a")
        page.press("Control+c")
        other = EditorPage(page.page.context.new_page()).open(address)
        before = len(other.workflow["nodes"])
        other.press("Control+v")
        other.until(f"Object.keys(editor.workflow.nodes).length === {before + 3}")
        assert other.workflow["nodes"]["console_2" if before else "console"]["in"] == {
            "pad1": "fighter_2.pad" if before else "fighter.pad"
        }
        assert other.errors == []


def test_groups_mute_and_bypass(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    page.select("grey")
    page.hold("Shift")
    page.page.mouse.click(*page.node("small"))
    page.release("Shift")
    page.press("Control+g")
    (group,) = page.workflow["groups"]
    assert group["title"] == "Group"
    page.press("b")
    assert [page.workflow["nodes"][id_].get("mode") for id_ in ("grey", "small", "stack")] == [
        "bypass",
        "bypass",
        None,
    ]
    page.press("b")
    assert "mode" not in page.workflow["nodes"]["grey"]
    x, y, *_ = group["bounds"]
    page.page.mouse.click(*page.ask(f"editor.board.toClient([{x} + 40, {y} + 16])"), button="right")
    page.page.get_by_role("menuitem", name="Mute its nodes").click()
    assert [page.workflow["nodes"][id_].get("mode") for id_ in ("grey", "small", "stack")] == [
        "mute",
        "mute",
        None,
    ]


@pytest.mark.slow
def test_mute_and_bypass_look_different(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("airstriker_pixels")
    for theme in page.in_each_theme():
        _compare_modes(page, 1.0, theme, screenshots)
        _compare_modes(page, 0.38, theme, screenshots)


def test_a_field_that_is_too_small_to_be_painted_is_not_clicked(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")

    def click_at(scale: float) -> Any:
        page.ask(f"editor.board.zoom({scale} / editor.board.view.scale)")
        page.ask("editor.board.centre(editor.board.boxes.get('head'))")
        page.page.mouse.click(*page.part("head", "compiled"))
        page.until("editor.selection.includes('head')")
        return page.workflow["nodes"]["head"].get("set", {}).get("compiled")

    assert click_at(0.38) is None
    assert click_at(1.0) is True


def test_a_narrow_screen_shows_everything(browser: Browser, address: str) -> None:
    with editor(browser, address, viewport={"width": 390, "height": 844}) as page:
        page.start_with("airstriker_pixels")
        for name in ("Run", "Record"):
            page.page.get_by_role("button", name=name, exact=True).click(trial=True)
        for clock in ("fast", "realtime"):
            page.page.locator(f'[data-clock="{clock}"]').click(trial=True)
        page.ask("editor.board.select(['small'])")
        width = page.page.locator("#inspector").get_by_label("width", exact=True)
        width.fill("80")
        width.press("Tab")
        assert page.workflow["nodes"]["small"]["set"]["width"] == 80


def test_a_dropped_file_closes_the_gallery(page: EditorPage) -> None:
    expect(page.page.locator("dialog.gallery")).to_be_visible()
    text = (bundled_dir("workflows") / "airstriker.json").read_text()
    page.open_workflow(json.loads(text))
    expect(page.page.locator("dialog.gallery")).to_have_count(0)


def _compare_modes(page: EditorPage, scale: float, theme: str, screenshots: Path | None) -> None:
    page.ask(f"editor.board.zoom({scale} / editor.board.view.scale)")
    page.ask("editor.board.centre(editor.board.boxes.get('small'))")
    looks: dict[str, Image.Image] = {}
    for key, mode in (("", "run"), ("m", "mute"), ("b", "bypass")):
        page.select("small")
        if key:
            page.press(key)
        page.deselect()
        assert page.workflow["nodes"]["small"].get("mode", "run") == mode
        looks[mode] = _look_of(page, "small")
        if screenshots is not None:
            looks[mode].save(screenshots / f"mode-{mode}-{theme}-{scale}.png")
    for one, other in itertools.combinations(looks, 2):
        changed = _share_of_changed_pixels(looks[one], looks[other])
        assert changed > 0.1, (theme, scale, one, other, changed)
    page.press("Control+z")
    page.press("Control+z")


def _look_of(page: EditorPage, node: str) -> Image.Image:
    """A picture of a node as it is painted now."""
    page.page.mouse.move(*page.at(10, 10))
    page.ask("editor.board.redraw()")
    two_frames = "(done) => requestAnimationFrame(() => requestAnimationFrame(done))"
    page.page.evaluate(f"() => new Promise({two_frames})")
    x, y, width, height = page.ask(
        "((box) => [...editor.board.toClient(box), "
        "box[2] * editor.board.view.scale, box[3] * editor.board.view.scale])"
        f"(editor.board.boxes.get('{node}'))"
    )
    clip = FloatRect(x=x, y=y, width=width, height=height)
    return Image.open(io.BytesIO(page.page.screenshot(clip=clip))).convert("RGB")


def _share_of_changed_pixels(one: Image.Image, other: Image.Image) -> float:
    """The share of pixels that differ visibly."""
    difference = ImageChops.difference(one, other).convert("L")
    counts = difference.histogram()
    return sum(counts[8:]) / sum(counts)


def test_an_agent_is_wired_with_the_keyboard_alone(page: EditorPage) -> None:
    page.start_with("")
    for type_ in ("retro", "scripted"):
        page.press("a")
        page.choose(type_)
    page.press("l")
    items = page.page.locator(".node-list li")
    expect(items.last).to_be_focused()  # the one that was added last is selected
    page.page.keyboard.press("ArrowUp")
    expect(items.first).to_be_focused()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.page.get_by_label("variables comes from").select_option("retro_emulator.variables")
    assert page.workflow["nodes"]["scripted_fighter"]["in"] == {
        "variables": "retro_emulator.variables"
    }
    # until the server has looked at it anew, it also says what was missing
    last = page.page.locator(".node-list li").last
    expect(last).to_have_attribute(
        "aria-label", "scripted_fighter, ScriptedFighter, variables from retro_emulator"
    )
    last.focus()
    page.page.keyboard.press("l")
    expect(last).not_to_be_visible()
    expect(page.page.locator("#board")).to_be_focused()


def test_nodes_that_are_added_with_the_keyboard_lie_beside_each_other(page: EditorPage) -> None:
    page.start_with("")
    for type_ in ("retro", "scripted", "grayscale", "grayscale", "resize", "preview"):
        page.press("a")
        page.choose(type_)
    page.page.locator('[data-tab="nodes"]').click()
    page.page.get_by_label("Filter node types").fill("score")
    page.page.get_by_label("Filter node types").press("Tab")
    page.page.keyboard.press("Enter")
    boxes = page.ask("[...editor.board.boxes.values()].map((box) => [...box])")
    assert len(boxes) == 7
    for one, other in itertools.combinations(boxes, 2):
        assert _are_apart(one, other)
    # the last one is in view
    assert _is_within(page.ask("[...editor.board.boxes.get('score')]"), page.ask(VIEW))


def test_a_large_workflow_opens_at_a_scale_that_can_be_read(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("sf2_ram_text")
    assert page.ask("editor.board.view.scale") == pytest.approx(0.6)
    # it begins in the upper left, with the console
    left, top, _, _ = page.ask(VIEW)
    boxes = page.ask("[...editor.board.boxes.values()].map((box) => [...box])")
    assert left < min(box[0] for box in boxes)
    assert top < min(box[1] for box in boxes)
    assert _is_within(page.ask("[...editor.board.boxes.get('console')]"), page.ask(VIEW))
    if screenshots is not None:
        page.page.screenshot(path=screenshots / "sf2-opened.png")
    page.page.reload()
    page.ready()
    assert page.ask("editor.board.view.scale") == pytest.approx(0.6)
    # everything is one key away, and a small workflow is shown whole
    page.press("f")
    assert page.ask("editor.board.view.scale") < 0.5
    page.page.locator('[data-tab="files"]').click()
    page.page.get_by_role("button", name="Gallery", exact=True).click()
    page.start_with("duel_expert")
    page.until("editor.workflow.nodes.fighter !== undefined")
    page.page.locator('[data-tab="files"]').click()
    for box in page.ask("[...editor.board.boxes.values()].map((box) => [...box])"):
        assert _is_within(box, page.ask(VIEW))


def test_a_stale_save_is_refused_and_shows_what_changed(
    page: EditorPage, address: str, data: Path, browser: Browser
) -> None:
    page.start_with("hello")
    page.save_as("shared")
    with editor(browser, address) as other:
        expect(other.page.locator(".gallery")).to_be_visible()
        other.page.keyboard.press("Escape")
        other.page.locator('[data-tab="files"]').click()
        other.page.locator('[data-file="shared.json"]').click()
        other.until("editor.document.file === 'shared.json'")
        other.set_widget("clock", "ticks", "30")
        other.press("Control+s")
        expect(other.message).to_have_text("Saved as shared.json.")
    page.set_widget("clock", "ticks", "90")
    page.press("Control+s")
    dialog = page.page.locator("dialog")
    expect(dialog).to_contain_text("shared.json was changed elsewhere")
    expect(dialog).to_contain_text("ticks: 30 → 90")
    left = "(element) => element.getBoundingClientRect().left"
    assert dialog.get_by_role("button", name="Cancel").evaluate(left) > dialog.evaluate(left), (
        "it is not cut"
    )
    page.page.get_by_role("button", name="Close").click()
    assert json.loads((data / "workflows/shared.json").read_text())["nodes"]["clock"]["set"] == {
        "ticks": 30
    }
    page.press("Control+s")
    page.page.get_by_role("button", name="Replace with mine").click()
    page.until("editor.document.isSaved")
    assert json.loads((data / "workflows/shared.json").read_text())["nodes"]["clock"]["set"] == {
        "ticks": 90
    }
    # Chromium itself reports the refusal
    page.errors[:] = [line for line in page.errors if "412" not in line]


def test_keys_belong_to_what_has_the_focus(page: EditorPage) -> None:
    page.start_with("hello")
    page.select("clock")
    page.page.locator('[data-tab="files"]').focus()
    for key in ("Delete", "Backspace", "m", "b"):
        page.page.keyboard.press(key)
    assert "clock" in page.workflow["nodes"]
    assert "mode" not in page.workflow["nodes"]["clock"]
    page.select("log")  # a press on the canvas gives it the focus again
    page.page.keyboard.press("Delete")
    assert "log" not in page.workflow["nodes"]
    page.press("l")
    page.page.locator('.node-list [data-id="clock"]').click()
    page.page.locator('.node-list [data-id="clock"]').focus()
    page.page.keyboard.press("Delete")
    assert page.workflow["nodes"] == {}


def test_a_node_that_is_deleted_while_it_is_pressed_is_not_selected(page: EditorPage) -> None:
    page.start_with("hello")
    page.page.mouse.move(*page.node("clock"))
    page.page.mouse.down()
    page.ask("editor.remove(['clock'], [])")
    page.page.mouse.up()
    assert page.ask("editor.selection") == []
    page.select("log")


def test_opening_theirs_can_be_undone(page: EditorPage, data: Path) -> None:
    page.start_with("hello")
    page.save_as("theirs")
    file = data / "workflows/theirs.json"
    theirs = json.loads(file.read_text())
    theirs["nodes"]["clock"]["set"] = {"ticks": 30}
    file.write_text(json.dumps(theirs))
    page.set_widget("clock", "ticks", "90")
    page.press("Control+s")
    page.page.get_by_role("button", name="Open theirs").click()
    page.until("editor.document.isSaved")
    assert page.workflow["nodes"]["clock"]["set"] == {"ticks": 30}
    page.press("Control+z")
    assert page.workflow["nodes"]["clock"]["set"] == {"ticks": 90}
    assert not page.ask("editor.document.isSaved")
    page.errors[:] = [line for line in page.errors if "412" not in line]


def test_a_slow_save_does_not_name_what_was_opened_meanwhile(page: EditorPage) -> None:
    page.start_with("hello")
    page.save_as("slow")
    page.set_widget("clock", "ticks", "90")
    held: list[Route] = []
    page.page.route("**/userdata/workflows%2Fslow.json", lambda route: held.append(route))
    with page.page.expect_request("**/userdata/workflows%2Fslow.json"):
        page.press("Control+s")
    page.page.keyboard.press("Escape")
    page.drop(
        "other.json",
        json.dumps({"minibrains": 1, "nodes": {}, "title": "Other"}).encode(),
        page.at(20, 20),
    )
    page.page.get_by_role("button", name="Discard").click()
    page.until("editor.workflow.title === 'Other'")
    held[0].continue_()
    expect(page.message).to_have_text("Saved as slow.json.")
    assert page.ask("editor.document.file") is None


def test_messages_are_two_and_over_when_something_works(page: EditorPage) -> None:
    page.start_with("hello")
    for name in ("one.txt", "two.txt", "three.txt"):
        page.drop(name, b"", page.at(20, 20))
    expect(page.page.locator(".message")).to_have_count(2)
    expect(page.message).to_contain_text("three.txt")
    page.save_as("quiet")
    expect(page.page.locator(".message")).to_have_count(1)


def test_nodes_are_pasted_at_the_pointer_and_never_onto_others(page: EditorPage) -> None:
    page.start_with("hello")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.select("clock")
    page.press("Control+c")
    page.page.mouse.move(*page.at(60, 500))
    place = page.ask(f"editor.board.fromClient({list(page.at(60, 500))})")
    for count in range(1, 4):
        page.press("Control+v")
        page.until(
            "Object.keys(editor.workflow.nodes).filter((id) => "
            f"id.startsWith('clock')).length === {count + 1}"
        )
    assert page.workflow["layout"]["clock_2"][:2] == [round(place[0]), round(place[1])]
    boxes = list(dict(page.ask("[...editor.board.boxes]")).values())
    for i, (x, y, w, h) in enumerate(boxes):
        assert all(
            x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
            for x2, y2, w2, h2 in boxes[:i]
        )


def test_unknown_nodes_and_missing_brains_open_and_keep_all_they_had(
    page: EditorPage, data: Path
) -> None:
    page.start_with("")
    workflow = {
        "minibrains": 1,
        "title": "Strange",
        "extra": {"mine": [1]},
        "nodes": {
            "a": {
                "type": "pack.Gone@3",
                "set": {"depth": 2},
                "in": {"y": "clock.now"},
                "brain": "gone/x.safetensors",
            },
            "clock": {"type": "Every@1"},
            "sink": {
                "type": "EmulatorSink@1",
                "brain": "nowhere/table.safetensors",
                "in": {"action": "a.best"},
            },
        },
        "layout": {"a": [80, 80]},
    }
    page.open_workflow(workflow)
    expect(page.page.locator(".fault")).to_contain_text("pack.Gone")
    page.ask("editor.board.select(['a'])")
    expect(page.page.locator("#inspector")).to_contain_text(
        "is not installed here. Everything it had is kept"
    )
    page.ask("editor.board.select(['sink'])")
    expect(page.page.locator("#inspector .faults")).to_contain_text("nowhere/table.safetensors")
    page.save_as("strange")
    saved = json.loads((data / "workflows/strange.json").read_text())
    assert saved == workflow


def test_a_brain_dropped_on_a_node_becomes_its_brain(page: EditorPage, data: Path) -> None:
    page.start_with("airstriker")
    table = (ROOT / "models/action_table/airstriker.safetensors").read_bytes()
    page.drop("mine.safetensors", table, page.node("reflex"))
    expect(page.message).to_contain_text("reflex takes a brain of kind")
    page.drop("mine.safetensors", table, page.node("sink"))
    expect(page.message).to_contain_text("sink has the brain")
    assert "mine" in page.workflow["nodes"]["sink"]["brain"]
    page.drop("broken.safetensors", b"nonsense", page.node("sink"))
    expect(page.page.locator(".message.error").last).to_contain_text("broken.safetensors")
    # Chromium itself reports the refusal
    page.errors[:] = [line for line in page.errors if "400" not in line]


def test_a_workflow_is_downloaded_with_its_brains_and_opened_again(
    page: EditorPage, data: Path
) -> None:
    page.start_with("airstriker")
    page.page.locator('#rail [data-tab="files"]').click()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Download with all brains").click()
    archive = download.value
    assert archive.suggested_filename.endswith(".zip")
    content = Path(archive.path()).read_bytes()

    page.drop("shared.zip", content, page.at(20, 20))
    expect(page.message).to_contain_text("was imported with")
    file = page.ask("editor.document.file")
    assert (data / "workflows" / file).is_file()
    assert set(page.workflow["nodes"]["sink"]["brain"]) == {"file", "sha256"}
    page.drop("broken.zip", b"PK", page.at(20, 20))
    expect(page.page.locator(".message.error").last).to_contain_text("broken.zip")
    page.errors[:] = [line for line in page.errors if "400" not in line]


def test_a_file_of_this_computer_is_chosen(page: EditorPage, tmp_path: Path) -> None:
    page.start_with("hello")
    path = tmp_path / "chosen.json"
    path.write_text(json.dumps({"minibrains": 1, "nodes": {}, "title": "Chosen"}))
    page.page.locator('#rail [data-tab="files"]').click()
    with page.page.expect_file_chooser() as chooser:
        page.page.get_by_role("button", name="Open a file of this computer").click()
    chooser.value.set_files(path)
    page.until("editor.workflow.title === 'Chosen'")


@pytest.mark.parametrize("together", [True, False])
def test_a_dropped_brain_is_what_the_workflow_means_though_its_name_is_taken(
    page: EditorPage, data: Path, together: bool
) -> None:
    """Dropped with the workflow that names it, or later;
    a node that is pinned to the other one keeps it.
    """
    models = ROOT / "models/action_table"
    table, other = (
        (models / name).read_bytes() for name in ("airstriker.safetensors", "combos57.safetensors")
    )
    (data / "models/mine.safetensors").write_bytes(other)
    pin = {"file": "mine.safetensors", "sha256": hashlib.sha256(other).hexdigest()}
    sink = {"type": "EmulatorSink@1", "brain": "mine.safetensors"}
    workflow = {
        "minibrains": 1,
        "nodes": {"sink": sink, "pinned": {**sink, "brain": pin}},
        "layout": {},
    }
    page.start_with("")
    if together:
        page.drop_all(
            {"mine.safetensors": table, "work.json": json.dumps(workflow).encode()}, page.at(20, 20)
        )
    else:
        page.open_workflow(workflow)
        page.drop("mine.safetensors", table, page.at(20, 20))
    expect(page.message).to_contain_text(
        "Another brain is called mine.safetensors. sink has this one now."
    )
    assert page.workflow["nodes"]["sink"]["brain"] == "mine (1).safetensors"
    assert page.workflow["nodes"]["pinned"]["brain"] == pin
    assert (data / "models/mine (1).safetensors").read_bytes() == table


def test_a_fault_stands_on_its_node_in_words_and_nothing_runs(page: EditorPage) -> None:
    page.start_with("")
    page.add("scripted", 200, 200)
    page.page.get_by_role("button", name="Run", exact=True).click()
    expect(page.message).to_contain_text("It cannot run yet. scripted_fighter: variables")
    page.ask("editor.board.select(['scripted_fighter'])")
    expect(page.page.locator("#inspector .notice.bad")).to_contain_text("variables")
    page.errors[:] = [line for line in page.errors if "400" not in line]


@pytest.mark.slow
def test_what_a_cache_saved_is_said_at_the_node(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    page.select("head")
    said = page.page.locator("#inspector .savings")
    for found in ("", "airstriker-untrained.safetensors in memory"):
        page.page.get_by_role("button", name="Run", exact=True).click()
        expect(page.status).to_contain_text("Running")
        expect(said).to_contain_text(found)
        page.page.get_by_role("button", name="Stop").first.click()
        expect(page.status).to_contain_text("Stopped")
    expect(said).to_contain_text(re.compile(r"Found in a cache, which saved \d+ ms"))
    page.select("console")
    expect(said).to_have_text("")
    assert page.errors == []


def test_closing_the_page_does_not_stop_a_run_and_coming_back_shows_it(
    browser: Browser, address: str
) -> None:
    with editor(browser, address) as page:
        page.start_with("duel_expert")
        page.page.get_by_role("button", name="Run", exact=True).click()
        expect(page.status).to_contain_text("Running")
        run = page.ask("session.run.id")
        context = page.page.context
        page.page.close()
        again = EditorPage(context.new_page()).open(address)
        expect(again.status).to_contain_text("Running")
        assert again.ask("session.run.id") == run
        again.frames("console", at_least=5)
        again.page.get_by_role("button", name="Pause").click()
        expect(again.status).to_contain_text("Paused")
        again.page.get_by_role("button", name="Resume").click()
        expect(again.status).to_contain_text("Running")
        again.page.locator('[data-tab="runs"]').click()
        expect(again.page.locator(f'[data-run="{run}"]')).to_contain_text("running")
        again.page.get_by_role("button", name="Stop").first.click()
        expect(again.status).to_contain_text("Stopped")
        expect(again.page.locator(f'[data-run="{run}"]')).not_to_contain_text("running")
        assert again.errors == []


def test_a_late_answer_does_not_bring_a_run_that_ended_back_to_the_list(page: EditorPage) -> None:
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        """Keep the first answer that has the run in it until the run is over."""
        answer = route.fetch()
        if held or not answer.json()["queue_running"]:
            route.fulfill(response=answer)
        else:
            held.append((route, answer))

    page.start_with("duel_expert")
    page.page.get_by_role("button", name="Run", exact=True).click()
    expect(page.status).to_contain_text("Running")
    page.page.route("**/queue", hold)
    page.page.locator('[data-tab="runs"]').click()
    while not held:
        page.page.wait_for_timeout(20)
    page.page.get_by_role("button", name="Stop").first.click()
    row = page.page.locator(f'[data-run="{page.ask("session.run.id")}"]')
    expect(row).to_contain_text("stopped")
    ((route, answer),) = held
    with page.page.expect_request_finished(lambda request: request == route.request):
        route.fulfill(response=answer)
    expect(row).to_contain_text("stopped")
    assert page.errors == []


def test_nothing_is_sent_of_a_run_that_is_no_longer_shown(page: EditorPage, address: str) -> None:
    page.start_with("duel_expert")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.frames("console", at_least=5)
    run = f"{address}runs/{page.ask('session.run.id')}"
    (worker,) = page.page.workers
    worker.evaluate("""() => {
        const send = WebSocket.prototype.send;
        globalThis.said = [];
        WebSocket.prototype.send = function (text) {
            said.push(JSON.parse(text));
            send.call(this, text);
        };
    }""")
    page.page.locator('[data-tab="files"]').click()
    page.page.get_by_role("button", name="New workflow").click()

    def play_on(ticks: int) -> int:
        """The pictures that were taken until so many ticks later."""
        end = page.page.request.get(run).json()["ticks"] + ticks
        while page.page.request.get(run).json()["ticks"] < end:
            page.page.wait_for_timeout(30)
        return int(worker.evaluate("() => said.filter(({ type }) => type === 'ack').length"))

    taken = play_on(120)
    assert play_on(60) == taken
    page.page.request.post(f"{run}/stop")


def test_a_number_out_of_range_is_refused_in_words(page: EditorPage) -> None:
    page.start_with("airstriker")
    page.set_widget("console", "noop_max", "7")
    page.set_widget("console", "noop_max", "-5")
    expect(page.message).to_have_text("noop_max must be a whole number from 0 to 30. It stays 7.")
    assert page.workflow["nodes"]["console"]["set"]["noop_max"] == 7


def test_a_new_workflow_begins_at_full_size(page: EditorPage) -> None:
    scale = "editor.board.toClient([1, 0])[0] - editor.board.toClient([0, 0])[0]"
    page.start_with("sf2_ram_text")
    assert page.ask(scale) < 0.7
    page.page.locator('[data-tab="files"]').click()
    page.page.get_by_role("button", name="New workflow").click()
    page.until("Object.keys(editor.workflow.nodes).length === 0")
    assert page.ask(scale) == 1


def test_a_workflow_without_a_console_runs_as_it_is(page: EditorPage) -> None:
    page.start_with("hello")
    expect(page.page.locator('[data-clock="realtime"]')).to_be_disabled()
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.until("session.run?.state === 'done' && session.run.result")
    assert page.ask("session.run.result.clock") == "fast"


def test_the_clock_is_that_of_the_file_and_one_switch_changes_it(
    page: EditorPage, data: Path
) -> None:
    page.start_with("airstriker")
    realtime, fast = (
        page.page.locator(f'[data-clock="{clock}"]') for clock in ("realtime", "fast")
    )
    expect(realtime).to_have_attribute("aria-pressed", "true")
    fast.click()
    expect(fast).to_have_attribute("aria-pressed", "true")
    page.page.get_by_label("ticks").fill("300")
    page.page.get_by_label("ticks").press("Tab")
    page.save_as("quick")
    assert json.loads((data / "workflows/quick.json").read_text())["run"]["clock"] == "fast"
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.until("session.run?.state === 'done' && session.run.result")
    assert page.ask("session.run.result.clock") == "fast"
    page.press("Control+z")  # of the ticks
    page.press("Control+z")
    expect(realtime).to_have_attribute("aria-pressed", "true")


def test_a_run_that_was_thrown_away_is_not_waited_for(page: EditorPage, address: str) -> None:
    page.start_with("hello")
    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.until("session.run?.result")
    page.page.request.post(f"{address}history", data={"delete": [page.ask("session.run.id")]})
    page.page.reload()
    page.ready()
    expect(page.message).to_have_text("The run that was shown here is no longer there.")
    expect(page.page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    # Chromium itself reports the refusal
    page.errors[:] = [line for line in page.errors if "404" not in line]


@pytest.mark.slow
def test_a_change_of_a_run_that_waits_is_made_when_it_ticks(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        serving(tmp_path / "data", "--parallel", "1") as server,
        editor(browser, server.address) as page,
    ):
        page.start_with("duel_expert")
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.frames("console", at_least=2)
        first = page.ask("session.run.id")
        page.ask("session.start()")
        page.until(f"session.run.id !== {json.dumps(first)} && session.run.state === 'queued'")
        page.set_widget("fighter", "style", "zoner")
        page.until(
            "editor.faults.length === 0 && editor.workflow.nodes.fighter.set.style === 'zoner'"
        )
        page.ask(f"session.control('stop', {json.dumps(first)})")
        page.frames("console", at_least=2)
        details = f"{server.address}runs/{page.ask('session.run.id')}"
        page.until("session.run.state === 'running'")
        end = time.monotonic() + TIMEOUT
        while (
            page.page.request.get(details)
            .json()["workflow"]["nodes"]["fighter"]["set"]
            .get("style")
            != "zoner"
        ):
            assert time.monotonic() < end
            page.page.wait_for_timeout(30)
        page.ask("session.control('stop')")


@pytest.mark.slow
def test_a_server_killed_in_mid_run_comes_back_with_all_that_was_saved(
    browser: Browser, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with serving(data) as server:
        port = server.announced["port"]
        with editor(browser, server.address) as page:
            page.start_with("duel_expert")
            page.save_as("mine")
            saved = (data / "workflows/mine.json").read_bytes()
            page.page.get_by_role("button", name="Run", exact=True).click()
            page.frames("console", at_least=5)
            run = page.ask("session.run.id")
            server.process.kill()
            expect(page.status).to_contain_text("Disconnected; reconnecting")
            with serving(data, "--port", port):
                page.until("session.connected")
                assert (data / "workflows/mine.json").read_bytes() == saved
                assert page.ask("editor.document.isSaved")
                page.page.locator('[data-tab="runs"]').click()
                expect(page.page.locator(f'[data-run="{run}"]')).to_be_visible()


@pytest.mark.slow
def test_a_worker_killed_in_mid_run_is_a_failed_run_in_words_and_the_next_one_plays(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        serving(tmp_path / "data", "--parallel", 1) as server,
        editor(browser, server.address) as page,
    ):
        page.start_with("duel_expert")
        page.until("editor.board.startPicture('console')")  # drawn in a child process as well
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.frames("console", at_least=5)
        first = page.ask("session.run.id")
        children = subprocess.run(
            ["pgrep", "-P", str(server.process.pid), "-f", "spawn_main"],
            capture_output=True,
            text=True,
        )
        for worker in children.stdout.split():
            os.kill(int(worker), signal.SIGKILL)
        expect(page.status).to_contain_text("Failed")
        expect(page.page.locator(".message.error").last).to_contain_text("SIGKILL")
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.until(f"session.run?.id !== '{first}' && session.run.tick > 0")
        assert page.errors == []


def test_a_node_that_fails_in_a_run_says_why_on_the_right(browser: Browser, tmp_path: Path) -> None:
    film = {"type": "service_nodes.Film@1"}
    troubled = {
        "type": "service_nodes.Troubled@1",
        "set": {"does": "raise"},
        "in": {"count": "film.count"},
    }
    with serving(tmp_path / "data") as server, editor(browser, server.address) as page:
        layout = {"film": [80, 80], "troubled": [480, 80]}
        page.start_with("").open_workflow(
            {"minibrains": 1, "nodes": {"film": film, "troubled": troubled}, "layout": layout}
        )
        page.ask("editor.board.select(['troubled'])")
        page.page.get_by_role("button", name="Run", exact=True).click()
        expect(page.page.locator("#inspector .faults")).to_contain_text("as I was told")
        page.ask("editor.board.select(['film'])")
        expect(page.page.locator("#inspector .faults")).to_be_empty()


def test_an_older_workflow_is_shown_and_saved_in_todays_form(page: EditorPage, data: Path) -> None:
    old = json.loads((DATA / "console1.json").read_text())
    page.start_with("").open_workflow(old)
    page.until("editor.workflow.nodes.console.type === 'RetroEmulator@3'")
    nodes = page.workflow["nodes"]
    assert nodes["or"]["in"] == {"flags": ["console.terminated", "console.terminated"]}
    assert nodes["last"]["when"] == "console.terminated"
    assert not page.ask("editor.document.canUndo"), (
        "that it is older is not for people to take back"
    )
    page.save_as("once old")
    saved = json.loads((data / "workflows" / "once old.json").read_text())
    assert saved == {**old, "nodes": nodes}


def test_an_older_workflow_is_saved_in_todays_form_even_at_once(
    page: EditorPage, data: Path
) -> None:
    old = json.loads((DATA / "console1.json").read_text())
    (data / "workflows" / "old.json").write_text(json.dumps(old))
    page.page.reload()
    page.ready().start_with("")
    page.page.locator('[data-tab="files"]').click()
    page.page.get_by_text("old", exact=True).first.click()
    page.until("editor.document.file === 'old.json'")
    page.press("Control+s")
    expect(page.message).to_have_text("Saved as old.json.")
    saved = json.loads((data / "workflows" / "old.json").read_text())
    assert saved["nodes"]["console"]["type"] == "RetroEmulator@3"
    assert saved["nodes"]["last"]["when"] == "console.terminated"


@pytest.mark.parametrize("part", [".icon", "span"], ids=["icon", "word"])
def test_a_button_that_is_drawn_anew_while_it_is_pressed_is_clicked(
    page: EditorPage, part: str
) -> None:
    page.start_with("duel_expert")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.frames("console", at_least=1)
    page.until("session.run.tick > 0")  # by then all buttons of a run are in the bar
    stop = page.page.locator(".bar-middle button[title^=Stop]")
    x, y = stop.evaluate(
        """(button, part) => {
            const { x, y, width, height } = button.querySelector(part).getBoundingClientRect();
            return [x + width / 2, y + height / 2];
        }""",
        part,
    )
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    pressed = stop.locator(part).element_handle()
    pressed.wait_for_element_state("hidden")  # it is no longer in the page
    page.page.mouse.up()
    page.until("session.run?.state === 'stopped'")


@pytest.mark.slow
def test_a_moment_of_a_running_game_or_a_paused_one_is_saved_and_begun_from(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path / "data") as server, editor(browser, server.address) as page:
        page.start_with("duel_expert")
        save = page.page.get_by_role("button", name="Save state", exact=True)
        page.select("console")
        expect(save).to_have_count(0)
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.frames("console", at_least=20)

        def save_as(name: str, answer: str) -> None:
            save.click()
            dialog = page.page.locator("dialog")
            dialog.get_by_label("Name", exact=True).fill(name)
            dialog.get_by_role("button", name="Save state").click()
            expect(page.message).to_contain_text(answer)

        save_as("earlier", "Saved. Choose earlier in states to start from it.")
        save_as("a/b", "'a/b'")
        page.page.get_by_role("button", name="Pause").click()
        page.until("session.run?.state === 'paused'")
        save_as("mine", "Saved. Choose mine in states to start from it.")
        save_as(" mine ", "is there already")
        for name in ("earlier", "mine"):
            assert (tmp_path / "home" / "games" / "Duel-Genesis" / f"{name}.state").is_file()
        page.select("fighter")
        expect(save).to_have_count(0)
        page.page.get_by_role("button", name="Stop").first.click()
        page.until("session.run?.state === 'stopped'")
        page.select("console")
        expect(save).to_have_count(0)

        page.set_widget("console", "states", "mine")
        page.page.get_by_label("ticks").fill("20")
        page.page.get_by_label("ticks").press("Tab")
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.until("session.run?.result?.episodes?.[0]?.start.state === 'mine'")
        assert [line for line in page.errors if "400" not in line] == []
        page.errors.clear()


def test_the_benchmark_says_what_it_lacks(minibrains: Command, tmp_path: Path) -> None:
    done = minibrains("bench", "editor", env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == (
        "bench editor needs Chromium, which is not on PATH; on Debian: apt-get install chromium\n"
    )


def _hostile_workflows() -> Iterator[dict[str, Any]]:
    entry = {
        "type": "RetroEmulator@3",
        "title": HOSTILE,
        "set": {"game": HOSTILE, HOSTILE: HOSTILE},
        "in": {HOSTILE: "b.x", "pad1": HOSTILE},
    }
    group = {"title": HOSTILE, "bounds": [0, 0, 600, 400], "colour": HOSTILE}
    top = {
        "minibrains": 1,
        "title": HOSTILE,
        "description": HOSTILE,
        HOSTILE: HOSTILE,
        "extra": HOSTILE,
    }
    yield {**top, "nodes": {"a": entry}, "layout": {"a": [80, 80]}, "groups": [group, HOSTILE]}
    yield {
        **top,
        "nodes": {
            "a": {
                **entry,
                "type": HOSTILE,
                "brain": HOSTILE,
                "every": HOSTILE,
                "when": HOSTILE,
                "mode": HOSTILE,
            }
        },
    }
    yield {
        **top,
        "nodes": {
            "a": {**entry, "brain": {"file": HOSTILE, "sha256": HOSTILE}},
            "b": {"type": f"{HOSTILE}@1"},
        },
        "layout": HOSTILE,
    }
    yield {
        **top,
        "run": {"seed": HOSTILE, HOSTILE: 1},
        "nodes": {"__proto__": entry, "constructor": entry, "tostring": entry},
    }
    yield {
        **top,
        "groups": HOSTILE,
        "nodes": {
            "a": {
                "type": "Log@1",
                "in": {"value": [HOSTILE, {"x": 1}]},
                "set": HOSTILE,
                "title": [HOSTILE],
            }
        },
    }


@pytest.mark.parametrize("workflow", list(_hostile_workflows()), ids=range(5))
def test_nothing_in_a_hostile_workflow_runs(page: EditorPage, workflow: dict[str, Any]) -> None:
    page.start_with("")
    page.drop("hostile.json", json.dumps(workflow).encode(), page.at(20, 20))
    page.until("Object.keys(editor.workflow.nodes).length > 0")
    for tab in ("list", "nodes", "files", "runs", "list"):
        page.page.locator(f'[data-tab="{tab}"]').click()
    for node in workflow["nodes"]:
        page.ask(f"editor.board.select([{json.dumps(node)}])")
        page.page.mouse.click(*page.node(node), button="right")
        page.page.keyboard.press("Escape")
    page.ask("editor.check()")
    page.page.get_by_role("button", name="Run", exact=True).click()
    expect(page.message).to_be_visible()
    page.press("Control+a")
    page.press("Control+d")
    assert page.ask("globalThis.pwned ?? null") is None
    assert (
        page.page.locator(
            "img, iframe, object, embed, a, [onerror], body script, body style"
        ).count()
        == 0
    )
    assert [line for line in page.errors if "400" not in line] == []
    page.errors.clear()


def test_the_page_may_run_no_script_but_its_own(page: EditorPage) -> None:
    page.start_with("")
    page.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "globalThis.pwned = 1";
        document.body.append(script);
    }""")
    assert page.ask("globalThis.pwned ?? null") is None
    assert ["Content Security Policy" in line for line in page.errors] == [True]
    page.errors.clear()


SIZES = {"1280x800": (1280, 800), "1920x1080": (1920, 1080)}

CUT = """() => [...document.querySelectorAll('body *')].filter((element) => {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    if (!element.textContent.trim() || box.width === 0) return false;
    if (style.visibility === 'hidden') return false;
    const isText = (child) => child.nodeType === 3 && child.textContent.trim();
    const own = [...element.childNodes].some(isText);
    if (!own) return false;
    const outside = box.right > innerWidth + 1 || box.left < -1;
    const hides = style.textOverflow !== 'ellipsis' && style.overflowX === 'hidden';
    const cut = hides && element.scrollWidth > element.clientWidth + 1;
    return outside || cut;
}).map((element) => element.outerHTML.slice(0, 120))"""


PICTURES_LOADED = """(images) => images.length > 0 && [...images].every((image) => {
    const { top, bottom } = image.getBoundingClientRect();
    return bottom < 0 || top > innerHeight || image.naturalWidth > 0;
})"""
"""Whether all pictures in the window are loaded."""


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
def test_screenshots(
    browser: Browser, address: str, screenshots: Path | None, size: str, theme: str
) -> None:
    """Nothing is cut or lies outside."""
    width, height = SIZES[size]
    with editor(
        browser, address, viewport={"width": width, "height": height}, color_scheme=theme
    ) as page:

        def picture(name: str) -> None:
            assert page.page.evaluate(CUT) == []
            if screenshots is not None:
                _save_picture(
                    page.page.screenshot(), screenshots / f"editor-{name}-{theme}-{size}.png"
                )

        expect(page.page.locator(".gallery")).to_be_visible()
        template = page.page.locator('.gallery .card[data-template="sf2"]')
        expect(template).to_be_visible()
        picture("gallery")
        page.start_with("duel_expert")
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.until("session.run?.tick > 120")
        page.page.mouse.move(width / 2, height - 10)
        picture("running")
        page.select("fighter")
        page.page.locator('[data-tab="list"]').click()
        page.page.get_by_role("button", name="Stop").first.click()
        expect(page.status).to_contain_text("Stopped")
        picture("inspector")
        page.page.locator('[data-tab="list"]').click()
        page.select("console")
        page.page.locator("#inspector").get_by_role("combobox", name="states").click()
        page.until(f"({PICTURES_LOADED})(document.querySelectorAll('.choice img'))")
        picture("states")
        page.page.keyboard.press("Escape")
        page.deselect()
        x, y = page.node("score")
        page.drag(page.socket("console.frame", "out"), (x - 60, y + 150))
        picture("palette")
        page.page.keyboard.press("Escape")
        page.press("?")
        picture("help")
        page.page.keyboard.press("Escape")
        page.page.locator('[data-tab="files"]').click()
        expect(page.page.get_by_role("button", name="policy_head/duel policy_head")).to_be_visible()
        picture("files")
        page.page.get_by_role("button", name="Gallery", exact=True).click()
        page.start_with("airstriker_pixels")
        page.until("editor.workflow.nodes.head !== undefined")
        page.page.locator('[data-tab="files"]').click()
        page.page.locator('[data-clock="fast"]').click()
        page.page.get_by_role("button", name="Run", exact=True).click()
        page.until("session.run?.nodes.has('head') && session.run.tick > 300")
        picture("pixels")
        assert page.errors == []


@pytest.mark.slow
def test_in_a_shipped_workflow_no_node_lies_on_another(page: EditorPage) -> None:
    page.start_with("")
    overlapping: list[tuple[str, list[float], list[float]]] = []
    for file in sorted((ROOT / "workflows").glob("*.json")):
        page.page.locator('[data-tab="files"]').click()
        page.page.get_by_role("button", name="Gallery", exact=True).click()
        page.start_with(file.stem)
        nodes = sorted(json.loads(file.read_text())["nodes"])
        page.until(
            f"Object.keys(editor.workflow.nodes).sort().join() === {json.dumps(','.join(nodes))}"
        )
        page.page.locator('[data-tab="files"]').click()
        boxes = page.ask("[...editor.board.boxes.values()].map((box) => [...box])")
        assert len(boxes) == len(nodes)
        for one, other in itertools.combinations(boxes, 2):
            if not _are_apart(one, other):
                overlapping.append((file.stem, one, other))
    assert overlapping == []


def _is_within(box: list[float], outer: list[float]) -> bool:
    starts = all(box[axis] >= outer[axis] for axis in (0, 1))
    return starts and all(
        box[axis] + box[axis + 2] <= outer[axis] + outer[axis + 2] for axis in (0, 1)
    )


def _are_apart(one: list[float], other: list[float]) -> bool:
    for axis in (0, 1):
        if one[axis] + one[axis + 2] <= other[axis] or other[axis] + other[axis + 2] <= one[axis]:
            return True
    return False


@pytest.mark.parametrize("name", ["sf2", "sf2_ram_text"])
def test_the_graph_of_the_fighter_can_be_read(
    browser: Browser, address: str, screenshots: Path | None, name: str
) -> None:
    with editor(
        browser, address, viewport={"width": 2048, "height": 1100}, color_scheme="dark"
    ) as page:
        page.start_with(name)
        page.press("f")
        boxes = page.ask("[...editor.board.boxes.values()].map((box) => [...box])")
        first = [min(x for x, _, _, _ in boxes) - 40, min(y for _, y, _, _ in boxes) - 40]
        last = [max(x + w for x, _, w, _ in boxes) + 40, max(y + h for _, y, _, h in boxes) + 40]
        left, top = page.ask(f"editor.board.toClient({first})")
        right, bottom = page.ask(f"editor.board.toClient({last})")
        clip = FloatRect(x=left, y=top, width=right - left, height=bottom - top)
        taken = page.page.screenshot(clip=clip)
        if screenshots is not None:
            _save_picture(taken, screenshots / f"{name.replace('_', '-')}-graph.png")
        assert page.errors == []


def _save_picture(taken: bytes, file: Path) -> None:
    """Save a screenshot in 256 colours."""
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    picture.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(file, optimize=True)


def test_an_answer_that_comes_late_changes_nothing_that_was_told_meanwhile(
    page: EditorPage,
) -> None:
    page.start_with("sf2_human")
    page.set_many_episodes()
    page.select("pad")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.frames("console", at_least=2)  # a key that is pressed before the run begins is lost
    page.page.get_by_role("button", name="Play", exact=True).click()
    page.hold("d")
    held = "session.run.values.get('pad.pad')"
    page.until(f"{held} === 'Z'")
    run, asked = page.ask("session.run.id"), []
    page.page.route(f"**/runs/{run}", lambda route: asked.append((route, route.fetch())))
    page.ask(f"session.follow({json.dumps(run)})")
    while not asked:
        page.page.wait_for_timeout(10)
    route, answer = asked.pop()
    told = answer.json()
    assert told["values"]["pad.pad"] == "Z"
    page.release("d")
    page.until(f"{held} === 'nothing'")
    route.fulfill(
        response=answer, json={**told, "said": [*told["said"], {"node": None, "text": "at last"}]}
    )
    page.until("session.run.messages.includes('at last')")
    assert page.ask(held) == "nothing"


def test_a_person_plays_with_the_keyboard(page: EditorPage) -> None:
    page.start_with("sf2_human")
    page.set_many_episodes()
    play = page.page.get_by_role("button", name="Play", exact=True)
    expect(play).to_be_hidden()
    page.select("pad")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.frames("console", at_least=2)
    held = "session.run.values.get('pad.pad')"
    page.press("ArrowLeft")  # not yet the game's: it moves the node
    page.frames("console", at_least=page.frames("console") + 2)
    assert page.ask(f"{held} === undefined"), "nobody plays"
    before = page.workflow
    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    page.hold("ArrowLeft")
    page.hold("m")
    page.hold("z")
    page.until(f"{held} === 'A, LEFT'")
    page.release("ArrowLeft")
    page.until(f"{held} === 'A'")
    page.page.evaluate("() => dispatchEvent(new Event('blur'))")
    page.until(f"{held} === 'nothing'")
    page.hold("c")
    page.until(f"{held} === 'C'")
    page.page.keyboard.press("Escape")
    page.until(f"{held} === 'nothing'")
    expect(play).to_have_attribute("aria-pressed", "false")
    assert page.workflow == before, "keys that went to the game did nothing else"
    play.click()
    page.hold("d")
    page.until(f"{held} === 'Z'")
    run = page.ask("session.run.id")
    page.ask("session.clearRun()")
    expect(play).to_be_hidden()
    page.ask(f"session.follow({json.dumps(run)})")
    page.until(f"{held} === 'nothing'")
    expect(play).to_have_attribute("aria-pressed", "false")
    page.page.get_by_role("button", name="Stop").click()
    expect(page.status).to_contain_text("Stopped")
