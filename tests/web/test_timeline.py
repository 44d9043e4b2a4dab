"""A recorded run, or the last ticks of one that is paused, are shown on the page as a timeline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.support.contrast import least_contrast
from tests.support.editor_page import EditorPage


def record(page: EditorPage, workflow: str) -> str:
    """Record a run of 250 ticks with the seed 5, in which something is hit; return its id."""
    page.start_with(workflow)
    page.deselect()
    settings = page.page.locator("#inspector")
    for name, value in (("episodes", 1), ("ticks", 250), ("seed", 5)):
        settings.get_by_label(name).fill(str(value))
        page.page.keyboard.press("Tab")
    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Record", exact=True).click()
    page.until("session.run?.state === 'done'")
    return str(page.ask("session.run.id"))


def rewind(page: EditorPage) -> tuple[Locator, Locator]:
    """Open the latest run from the panel; return the timeline, and its slider."""
    if page.page.locator("#panel").is_hidden():
        page.page.locator('[data-tab="runs"]').click()
    page.page.get_by_role("button", name="More for Airstriker").first.click()
    page.page.get_by_role("menuitem", name="Rewind").click()
    page.until("session.run.replayOf")  # the run that was shown before has a timeline as well
    timeline = page.page.locator("#timeline")
    slider = timeline.get_by_label("Tick", exact=True)
    expect(slider).to_be_enabled()
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    return timeline, slider


def to_the_first_reward(page: EditorPage, amount: str) -> None:
    """Go from tick 0 to the first mark of a reward, which is of this amount."""
    timeline = page.page.locator("#timeline")
    timeline.get_by_label("Marks to go to").select_option("reward")
    timeline.get_by_label("Tick", exact=True).fill("0")
    page.until("session.run.ticks === 0")
    timeline.get_by_role("button", name="The next mark").click()
    expect(timeline.locator("output")).to_contain_text(f"reward {amount}")


@pytest.mark.slow
def test_a_recorded_run_is_shown_at_any_tick(page: EditorPage, screenshots: Path | None) -> None:
    played = record(page, "airstriker")

    # opened from the panel
    timeline, _ = rewind(page)
    assert page.ask("session.run.replayOf") == played
    expect(timeline.locator("output")).to_contain_text("Tick 250 of 250: game 1 ended: limit")

    # from mark to mark: the first reward is on the wire, and one tick before it is not
    to_the_first_reward(page, "+20")
    page.until("session.run.values.get('console.reward') === '20'")
    at = page.ask("session.run.ticks")
    frames = page.frames("console", 1)
    if screenshots is not None:
        page.page.locator('[data-tab="runs"]').click()
        page.page.screenshot(path=screenshots / "editor-timeline-light-1280x800.png")
    assert least_contrast(page.page, "#timeline") >= 4.5
    page.page.locator("#board").focus()
    page.page.keyboard.press(",")
    page.until(f"session.run.ticks === {at - 1}")
    page.until("session.run.values.get('console.reward') === '0'")
    page.frames("console", frames + 1)
    page.page.keyboard.press(".")
    page.until("session.run.values.get('console.reward') === '20'")

    # with another run on the page it is closed
    if page.page.locator("#panel").is_hidden():
        page.page.locator('[data-tab="runs"]').click()
    page.page.locator(f'[data-run="{played}"]').click()
    expect(timeline).to_be_hidden()
    page.until("session.run.state === 'done'")


@pytest.mark.slow
def test_the_last_ticks_of_a_run_are_shown_and_it_goes_on(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("airstriker")
    page.set_many_episodes()
    page.run()
    page.until("session.run?.tick > 150")
    page.press("p")
    page.until("session.run.state === 'paused'")
    going = page.ask("session.run.id")
    now = page.ask("session.run.ticks")
    page.until(f"document.querySelector('[data-node=console]').dataset.tick == {now}")
    picture = page.picture("console")

    # one tick back opens them; pictures, values and wires are those of that tick
    timeline = page.page.locator("#timeline")
    slider = timeline.get_by_label("Tick", exact=True)
    expect(timeline.locator("output")).to_contain_text("drag to see earlier ones")
    page.page.locator("#board").focus()
    page.press(",")
    page.until(f"session.run.replayOf === '{going}' && session.run.ticks === {now - 1}")
    expect(timeline.locator("output")).to_contain_text(f"Tick {now - 1} of {now}")
    for tick in (now - 100, now - 3, now):
        slider.fill(str(tick))
        page.until(f"session.run.ticks === {tick}")
        page.until(f"document.querySelector('[data-node=console]').dataset.tick == {tick}")
    assert page.picture("console") == picture
    if screenshots is not None:
        slider.fill(str(now - 100))
        page.until(f"session.run.ticks === {now - 100}")
        page.page.screenshot(path=screenshots / "editor-live-timeline-light-1280x800.png")

    # what is changed meanwhile holds when the run goes on
    page.set_widget("console", "noop_max", "3")
    page.until("editor.isChecked && editor.faults.length === 0")
    timeline.get_by_role("button", name="Go on live").click()
    page.until(f"session.run.id === '{going}' && session.run.ticks > {now + 5}")
    expect(timeline).to_be_hidden()
    played = "(await (await fetch(`api/runs/${session.run.id}`)).json()).workflow"
    assert page.ask(f"(async () => {played}.nodes.console.set.noop_max)()") == 3

    # Stop ends the run, also from its past
    page.press("p")
    page.until("session.run.state === 'paused'")
    page.press(",")
    page.until("session.isInThePast")
    page.page.locator("button.stop").click()
    page.until(f"session.run.id === '{going}' && session.run.state === 'stopped'")


TRAINED, UNTRAINED = "vector_policy/duel.safetensors", "vector_policy/duel-untrained.safetensors"


def set_brain(page: EditorPage, node: str, brain: str) -> None:
    page.select(node)
    field = page.page.locator("#inspector").get_by_role("combobox", name="Brain")
    field.select_option(brain)
    page.until(f"editor.workflow.nodes.{node}.brain === {brain!r}")
    page.deselect()


@pytest.mark.slow
def test_the_tick_at_which_an_agent_lost_is_found_and_another_brain_would_have_won(
    page: EditorPage, screenshots: Path | None
) -> None:
    # an agent that was never trained plays a match and loses
    page.start_with("sf2_vector")
    set_brain(page, "head", UNTRAINED)
    settings = page.page.locator("#inspector")
    for name, value in (("episodes", 1), ("seed", 3)):
        settings.get_by_label(name).fill(str(value))
        page.page.keyboard.press("Tab")
    page.page.locator('[data-clock="fast"]').click()
    page.page.get_by_role("button", name="Record", exact=True).click()
    page.until("session.run?.state === 'done'")
    assert page.ask("session.run.result.episodes[0].won") is False

    # the timeline leads to the tick at which it lost its first round
    page.page.get_by_role("button", name="Rewind", exact=True).click()
    page.until("session.timeline !== null")
    timeline = page.page.locator("#timeline")
    slider = timeline.get_by_label("Tick", exact=True)
    to_the_first_reward(page, "-1")
    page.until("session.run.values.get('console.reward') === '-1'")
    lost_at = page.ask("session.run.ticks")
    if screenshots is not None:
        page.until(f"document.querySelector('[data-node=console]').dataset.tick == {lost_at}")
        page.page.screenshot(path=screenshots / "editor-lost-light-1280x800.png")

    # from long before that, the trained brain wins
    slider.fill("300")
    page.until("session.run.ticks === 300")
    set_brain(page, "head", TRAINED)
    timeline.get_by_role("button", name="Run from here").click()
    beside = page.page.get_by_role("region", name="Two runs side by side")
    expect(beside.get_by_role("status")).to_contain_text("The two differ from tick")
    assert page.ask("session.comparison.run.result.episodes[0].won") is True
    slider.fill(str(lost_at))
    page.until(f"session.run.ticks === {lost_at} && session.comparison.run.ticks === {lost_at}")
    expect(beside).to_contain_text("won")
    if screenshots is not None:
        for game in ("The recorded game", "The other game"):
            expect(beside.get_by_label(game)).to_have_attribute("data-tick", str(lost_at))
        page.page.screenshot(path=screenshots / "editor-would-have-won-light-1280x800.png")

    # played to its end, the recorded game is followed by the end of the other one
    last, beside_last = page.ask("[session.timeline.last, session.comparison.timeline.last]")
    assert last < beside_last
    slider.fill(str(last - 60))
    page.until(f"session.run.ticks === {last - 60}")
    page.page.get_by_role("button", name="Resume").click()
    page.until(f"session.run.ticks === {last} && session.comparison.run.ticks === {beside_last}")


@pytest.mark.slow
def test_a_fork_is_shown_beside_the_recorded_run(
    page: EditorPage, screenshots: Path | None
) -> None:
    record(page, "airstriker_random")
    timeline, slider = rewind(page)
    if page.page.locator("#panel").is_visible():
        page.page.locator('[data-tab="runs"]').click()
    slider.fill("100")
    page.until("session.run.ticks === 100")

    # another setting changes nothing of the recorded run, but the fork plays with it
    again = timeline.get_by_role("button", name="Run from here")
    expect(again).to_have_accessible_name("Run from here")
    page.set_widget("random", "hold", "3")
    expect(again).to_have_accessible_name("Run from here with 1 change")
    expect(again).to_have_attribute("title", re.compile("random hold: .+ → 3"))
    again.click()
    beside = page.page.get_by_role("region", name="Two runs side by side")
    said = beside.get_by_role("status")
    expect(said).to_contain_text(re.compile(r"The two differ from tick \d+ on: console\.pad1: "))
    differs_at = page.ask("session.comparison.differsAt")
    assert 100 < differs_at < 250

    # the list of runs knows which is which
    page.page.locator('[data-tab="runs"]').click()
    rows = page.page.locator(".run-row")
    expect(rows.filter(has_text="a fork from tick 100, seed 5")).to_have_count(1)
    expect(rows.filter(has_text="rewound")).to_have_count(2)
    page.page.locator('[data-tab="runs"]').click()

    # both are shown at the first tick at which they differ, and go on together
    other = beside.get_by_label("The other game")
    recorded = beside.get_by_label("The recorded game")
    for tick in (differs_at, 240, 60):
        slider.fill(str(tick))
        page.until(f"session.run.ticks === {tick} && session.comparison.run.ticks === {tick}")
        expect(other).to_have_attribute("data-tick", str(tick))
        expect(recorded).to_have_attribute("data-tick", str(tick))
    timeline.get_by_label("Marks to go to").select_option("difference")
    timeline.get_by_role("button", name="The next mark").click()
    page.until(f"session.comparison.run.ticks === {differs_at}")
    slider.fill("240")
    expect(other).to_have_attribute("data-tick", "240")
    assert least_contrast(page.page, "#comparison") >= 4.5
    if screenshots is not None:
        page.page.screenshot(path=screenshots / "editor-fork-light-1280x800.png")

    # played on, they stay in step
    slider.fill("100")
    page.until("session.run.ticks === 100")
    page.page.get_by_role("button", name="Resume").click()
    page.until("session.run.ticks === 250 && session.comparison.run.ticks === 250")

    # a tick is found by a value
    slider.fill("0")
    page.until("session.run.ticks === 0")
    timeline.get_by_label("Marks to go to").select_option("found")
    asked = page.page.get_by_label("An output and a condition")
    asked.fill("console.variables.scor > 0")
    page.page.get_by_role("button", name="Find", exact=True).click()
    expect(page.message).to_contain_text("Did you mean 'score'?")
    expect(asked).to_have_value("console.variables.scor > 0")
    page.errors.clear()  # the server's refusal
    asked.fill("console.variables.score > 0")
    page.page.get_by_role("button", name="Find", exact=True).click()
    expect(timeline.locator("output")).to_contain_text("console.variables.score > 0")
    slider.fill("0")
    page.until("session.run.ticks === 0")
    timeline.get_by_role("button", name="Find a value").click()
    asked.fill("console.reward > 0")
    page.page.get_by_role("button", name="Find", exact=True).click()
    page.until("session.run.values.get('console.reward') > 0")
    expect(timeline.locator("output")).to_contain_text("console.reward > 0")

    # another fork takes the place of the first one
    first = page.ask("session.comparison.run.replayOf")
    slider.fill("150")
    page.until("session.run.ticks === 150")
    page.set_widget("random", "hold", "4")
    timeline.get_by_role("button", name="Run from here").click()
    page.until(f"session.comparison?.timeline && session.comparison.run.replayOf !== {first!r}")
    differs_at = page.ask("session.comparison.differsAt")
    assert differs_at >= 150

    beside.get_by_role("button", name="Show only one run").click()
    expect(beside).to_be_hidden()

    # a run of the same seed from the list beside it, to compare the two
    page.page.locator('[data-tab="runs"]').click()
    page.page.get_by_role("button", name="More for Airstriker").first.click()
    page.page.get_by_role("menuitem", name="Show beside the other").click()
    expect(beside.get_by_role("status")).to_contain_text(f"The two differ from tick {differs_at}")
