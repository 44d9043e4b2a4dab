"""The editor offers the games, states, variables and brains that there are."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.support.editor_page import EditorPage


def field_of(page: EditorPage, name: str) -> Locator:
    return page.page.locator("#inspector").get_by_role("combobox", name=name, exact=True)


def test_a_game_is_chosen_from_those_on_this_machine(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.select("console")
    game = field_of(page, "game")
    game.click()
    options = page.page.locator("#inspector .choice")
    expect(options.filter(has_text="Airstriker-Genesis-v0")).to_be_visible()
    expect(options.filter(has_text="Duel-Genesis")).to_have_attribute("aria-selected", "true")
    assert "StreetFighterIISpecialChampionEdition-Genesis-v0" not in options.all_text_contents()
    options.filter(has_text="Pad-Genesis").click()
    expect(game).to_have_value("Pad-Genesis")
    expect(options.first).not_to_be_visible()
    assert page.workflow["nodes"]["console"]["set"]["game"] == "Pad-Genesis"


def test_states_are_chosen_by_split_with_their_pictures(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("duel_expert")
    page.select("console")
    states = field_of(page, "states")
    states.click()
    inspector = page.page.locator("#inspector")
    for split in ("Training", "Validation", "Held back"):
        expect(inspector.get_by_role("group", name=split)).to_be_attached()
    chosen = inspector.get_by_role("option", name="Level4.KazeVsBron", exact=True)
    expect(chosen).to_have_attribute("aria-selected", "true")
    width = "document.querySelector('.choice[aria-selected=true] img')?.naturalWidth"
    page.until(f"{width} === 320")
    page.screenshot(screenshots, "states")
    # one more, and the first one no longer
    inspector.get_by_role("option", name="training/Level4.* 8 states").click()
    chosen.click()
    expect(states).to_have_value("training/Level4.*")
    assert page.workflow["nodes"]["console"]["set"]["states"] == ["training/Level4.*"]
    # a pattern that the list does not have
    states.fill("training/Level[2-3].*")
    expect(inspector.get_by_role("listbox")).to_contain_text("No matches.")
    states.press("Enter")
    assert page.workflow["nodes"]["console"]["set"]["states"] == ["training/Level[2-3].*"]
    expect(page.page.locator(".fault")).to_be_empty()


def test_everything_is_chosen_with_the_keyboard_alone(page: EditorPage) -> None:
    page.start_with("duel_expert")
    page.select("console")
    states = field_of(page, "states")
    states.focus()
    expect(states).to_have_attribute("aria-expanded", "false")
    page.page.keyboard.press("ArrowDown")
    expect(states).to_have_attribute("aria-expanded", "true")
    page.until("document.querySelectorAll('.choices:not([hidden]) .choice').length > 100")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    expect(states).to_have_value("Level4.KazeVsBron, Level4.KazeVsKaze")
    page.page.keyboard.type(", held level9")
    active = page.page.locator(".choice.active")
    expect(active).to_contain_text("held_back/Level9.*")
    page.page.keyboard.press("ArrowDown")
    expect(active).to_have_text("Level9.BronVsMira")
    page.page.keyboard.press("Enter")
    expect(states).to_have_value("Level4.KazeVsBron, Level4.KazeVsKaze, Level9.BronVsMira")
    page.page.keyboard.press("Escape")
    expect(states).to_have_attribute("aria-expanded", "false")
    expect(states).to_be_focused()
    assert page.workflow["nodes"]["console"]["set"]["states"] == [
        "Level4.KazeVsBron",
        "Level4.KazeVsKaze",
        "Level9.BronVsMira",
    ]


def test_a_widget_on_the_node_offers_the_same(page: EditorPage, screenshots: Path | None) -> None:
    page.start_with("duel_expert")
    page.page.mouse.click(*page.part("console", "states"))
    popover = page.page.locator(".editing")
    expect(popover.get_by_role("option").first).to_be_visible()
    page.screenshot(screenshots, "states-on-the-node")
    popover.get_by_role("combobox").fill("validation/level6")
    expect(page.page.locator(".choice.active")).to_contain_text("validation/Level6.*")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Escape")
    expect(popover).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(popover).to_have_count(0)
    assert page.workflow["nodes"]["console"]["set"]["states"] == ["validation/Level6.*"]


def test_a_console_on_an_empty_canvas_shows_a_game_at_once(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("")
    page.until("editor.games.names.length > 0")
    console = page.add("retro", 200, 60)
    assert page.workflow["nodes"][console]["set"] == {"game": "Duel-Genesis"}
    shown = f"(editor.board.startPicture('{console}')?.src ?? null)"
    page.until(f"{shown}?.endsWith('/Duel-Genesis/picture?state=Level4.KazeVsBron')")
    page.screenshot(screenshots, "console")
    page.set_widget(console, "states", "training/Level2.T*")
    page.until(f"{shown}?.endsWith('state=training%2FLevel2.T*')")
    page.set_widget(console, "states", "")
    page.set_widget(console, "game", "Airstriker-Genesis-v0")
    page.until(f"{shown}?.endsWith('/Airstriker-Genesis-v0/picture?state=Level1')")
    page.set_widget(console, "game", "Airstrike")
    expect(page.page.locator(".fault")).to_contain_text("Did you mean 'Airstriker-Genesis-v0'")
    page.until(f"{shown} === null")
    # it runs as it was dropped
    page.set_widget(console, "game", "Duel-Genesis")
    page.page.get_by_role("button", name="Run", exact=True).click()
    page.frames(console, at_least=5)
    page.page.get_by_role("button", name="Stop").click()
    expect(page.status).to_contain_text("Stopped")


def test_a_variable_is_one_of_the_console_s_game(page: EditorPage) -> None:
    page.start_with("duel_expert")
    variable = page.add("variable", 320, 620)
    page.select(variable)
    name = field_of(page, "name")
    name.press_sequentially("enemy hp")
    inspector = page.page.locator("#inspector")
    expect(inspector.get_by_role("group", name="Variables of Duel-Genesis")).to_be_visible()
    expect(inspector.locator(".choice")).to_have_text(["enemy_hp"])
    name.press("Enter")
    assert page.workflow["nodes"][variable]["set"]["name"] == "enemy_hp"


def test_a_brain_is_swapped_by_a_list_with_titles(
    page: EditorPage, screenshots: Path | None
) -> None:
    page.start_with("sf2_pixels")
    brain = page.workflow["nodes"]["head"]["brain"]
    page.page.mouse.click(*page.part("head"))
    items = page.page.get_by_role("menuitemradio")
    expect(items.first).to_be_visible()
    page.screenshot(screenshots, "brains")
    now = page.page.get_by_role("menuitemradio", checked=True)
    expect(now).to_contain_text(brain)
    expect(now).to_be_focused()
    assert all("policy_head/" in text for text in items.all_text_contents())
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Enter")
    assert page.workflow["nodes"]["head"]["brain"] != brain
    field = page.page.locator("#inspector").get_by_role("combobox", name="Brain")
    expect(field).to_have_value(page.workflow["nodes"]["head"]["brain"])
