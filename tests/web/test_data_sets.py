"""The editor shows data sets: samples are found, corrected and deleted, and brains are asked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Response, expect

from minibrains.brain_file import hash_file
from nodes.training.data_set import DataSet
from tests.support.contrast import least_contrast
from tests.support.data_sets import ACTIONS
from tests.support.editor_page import EditorPage, editor
from tests.support.fights import write_fights, write_untrained_policy
from tests.support.service_fixtures import Server, serving
from tests.support.timeouts import TIMEOUT


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """Three matches of 40 samples, and a policy that can be asked about them."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    write_untrained_policy(tmp_path / "data" / "models")
    return write_fights(3)


@pytest.fixture
def server(tmp_path: Path, data: DataSet) -> Iterator[Server]:
    with serving(tmp_path / "data", "--parallel", 1) as server:
        yield server


def _open(page: EditorPage) -> Locator:
    """Open the data set from the panel, with the keyboard alone; returns its dialog."""
    page.start_with("")
    page.press("d")
    row = page.page.locator('[data-set="fights"]')
    expect(row).to_contain_text("3 episodes, 120 samples")
    row.press("Enter")
    dialog = page.page.get_by_role("dialog", name="Data set fights")
    expect(dialog.locator(".sample[aria-selected=true]")).to_be_visible()
    return dialog


def _samples(dialog: Locator) -> Locator:
    return dialog.locator(".sample")


def _label(dialog: Locator) -> Locator:
    """The label of the sample that is looked at."""
    return dialog.locator("dl[aria-label=Facts] dd").first


@pytest.mark.slow
def test_samples_are_looked_at_page_by_page(
    browser: Browser, server: Server, data: DataSet
) -> None:
    with editor(browser, server.address) as page:
        dialog = _open(page)
        expect(dialog).to_contain_text("Duel-Genesis: 3 episodes, 120 samples")
        expect(dialog).to_contain_text("1 to 60 of 120 samples")
        expect(_samples(dialog)).to_have_count(60)
        first, second, *_ = data.read(data.episodes()[0]).actions.tolist()
        names = data.episodes()[0].actions
        expect(_label(dialog)).to_have_text(names[first])
        expect(dialog.locator("[aria-label=Variables]")).to_contain_text("enemy_x")
        _samples(dialog).first.focus()
        page.page.keyboard.press("ArrowRight")
        expect(_samples(dialog).nth(1)).to_be_focused()
        expect(_label(dialog)).to_have_text(names[second])
        page.until("document.querySelector('.sample-details img').naturalHeight === 96")
        for _ in page.in_each_theme():
            assert least_contrast(page.page, "dialog") >= 4.5
        dialog.get_by_role("button", name="Next page").click()
        expect(dialog).to_contain_text("61 to 120 of 120 samples")
        expect(dialog.get_by_role("button", name="Next page")).to_be_disabled()
        page.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        assert page.errors == []


def test_filters_find_samples(browser: Browser, server: Server, data: DataSet) -> None:
    with editor(browser, server.address) as page:
        dialog = _open(page)
        info = data.episodes()[1]
        kicks = int((data.read(info).actions == 1).sum())
        dialog.get_by_label("Episode", exact=True).select_option(info.key)
        expect(_samples(dialog)).to_have_count(40)
        dialog.get_by_role("combobox", name="Label", exact=True).first.select_option("1")
        expect(_samples(dialog)).to_have_count(kicks)
        dialog.get_by_label("Effect").select_option(label="No action has an effect")
        expect(_samples(dialog)).not_to_have_count(kicks)
        dialog.get_by_label("Corrections").select_option(label="Corrected")
        expect(dialog).to_contain_text("No sample is like this.")
        assert page.errors == []


def test_labels_are_corrected_samples_deleted_and_everything_undone(
    browser: Browser, server: Server, data: DataSet
) -> None:
    key = data.names()[0]
    before = hash_file(data.path_of(key))
    labels = list(data.label_by_tick(key).values())
    with editor(browser, server.address) as page:
        dialog = _open(page)
        status = dialog.locator("footer [role=status]")
        # a label
        other = next(name for name in ("kick", "punch") if labels[0] != ACTIONS.index(name))
        dialog.get_by_label("Correct the label").select_option(label=other)
        expect(status).to_have_text("1 sample corrected.")
        expect(_label(dialog)).to_have_text(other)
        expect(dialog).to_contain_text("1 corrected, 0 deleted")
        expect(dialog.get_by_label("Samples")).to_have_attribute("aria-busy", "false")
        assert data.label_by_tick(key)[0] == ACTIONS.index(other)
        # several samples, with the keyboard
        _samples(dialog).first.focus()
        page.page.keyboard.press("Shift+ArrowRight")
        page.page.keyboard.press("Shift+ArrowRight")
        expect(dialog).to_contain_text("3 samples are selected")
        page.page.keyboard.press("Delete")
        expect(status).to_have_text("3 samples deleted.")
        expect(dialog).to_contain_text("117 samples")
        assert list(data.label_by_tick(key).values())[:4] == [None, None, None, labels[3]]
        # what was deleted is still there
        dialog.get_by_label("Corrections").select_option(label="Deleted")
        expect(_samples(dialog)).to_have_count(3)
        dialog.get_by_label("Corrections").select_option(label="Not deleted")
        # undone, the last first
        page.page.keyboard.press("Control+z")
        expect(status).to_have_text("Undone: 3 samples deleted.")
        assert data.label_by_tick(key)[0] == ACTIONS.index(other)
        dialog.get_by_role("button", name="Undo").click()
        expect(status).to_have_text("Undone: 1 sample corrected.")
        expect(dialog.get_by_role("button", name="Undo")).to_be_disabled()
        assert hash_file(data.path_of(key)) == before
        assert page.errors == []


def test_steps_are_undone_one_by_one_however_fast_somebody_is(
    browser: Browser, server: Server, data: DataSet
) -> None:
    key = data.names()[0]
    before = hash_file(data.path_of(key))
    original = next(iter(data.label_by_tick(key).values()))
    others = [name for number, name in enumerate(ACTIONS) if number != original]
    with editor(browser, server.address) as page:
        answers: list[int] = []

        def note(response: Response) -> None:
            if response.url.endswith("/correct"):
                answers.append(response.status)

        page.page.on("response", note)
        dialog = _open(page)
        for name in others:
            dialog.get_by_label("Correct the label").select_option(label=name)
        _samples(dialog).first.focus()
        page.page.keyboard.press("Delete")
        page.page.keyboard.press("Delete")  # which has nothing more to delete
        for _ in range(4):
            page.page.keyboard.press("Control+z")
        expect(dialog.get_by_role("button", name="Undo")).to_be_disabled()
        deadline = time.monotonic() + TIMEOUT
        while len(answers) < 6:
            assert time.monotonic() < deadline
            page.page.wait_for_timeout(30)
        assert answers == [200] * 6
        assert hash_file(data.path_of(key)) == before
        assert page.errors == []


def test_samples_are_restored_after_the_page_was_closed(
    browser: Browser, server: Server, data: DataSet
) -> None:
    key = data.names()[0]
    before = hash_file(data.path_of(key))
    data.correct({key: {0: None, 10: None}})
    with editor(browser, server.address) as page:
        page.start_with("")
        page.press("d")
        page.page.locator('[data-set="fights"]').press("Enter")
        dialog = page.page.get_by_role("dialog", name="Data set fights")
        dialog.get_by_label("Corrections").select_option(label="Deleted")
        expect(_samples(dialog)).to_have_count(2)
        _samples(dialog).first.focus()
        page.page.keyboard.press("Control+a")
        dialog.get_by_role("button", name="Restore").click()
        expect(dialog).to_contain_text("No sample is like this.")
        assert hash_file(data.path_of(key)) == before
        assert page.errors == []


def test_a_brain_is_asked_and_its_errors_are_looked_at(
    browser: Browser, server: Server, data: DataSet
) -> None:
    with editor(browser, server.address) as page:
        dialog = _open(page)
        brain = dialog.get_by_label("Brain", exact=True)
        expect(brain).to_have_value("policy_head/small.safetensors")
        duel = brain.locator('option[value="policy_head/duel.safetensors"]')
        expect(duel).to_be_disabled()
        expect(duel).to_contain_text("it chooses among other actions")
        expect(dialog.get_by_label("Question", exact=True)).to_be_hidden()
        expect(dialog.get_by_label("Answer", exact=True)).to_be_disabled()
        dialog.get_by_role("button", name="Ask about all").click()
        progress = dialog.locator(".data-progress")
        expect(progress).to_have_text(
            re.compile(r"^120 of 120 asked; agrees with \d+\.\d % of the labels$")
        )
        dialog.get_by_label("Answer", exact=True).select_option(label="Answer differs")
        dialog.get_by_label("Order", exact=True).select_option(label="Most confident answers first")
        expect(dialog.get_by_label("Samples")).to_have_attribute("aria-busy", "false")
        answers = dialog.locator(".sample .answer")
        expect(answers.first).to_contain_text("≠")
        shares = [int(text.split()[-2]) for text in answers.all_inner_texts()]
        assert shares == sorted(shares, reverse=True)
        # the answer is right: it is made the label
        before = _samples(dialog).count()
        answer = answers.first.inner_text().split()[1]
        dialog.get_by_label("Correct the label").select_option(label=answer)
        expect(dialog.locator("footer [role=status]")).to_have_text("1 sample corrected.")
        if before < 60:
            expect(_samples(dialog)).to_have_count(before - 1)
        # the answers are still there when it is opened again
        page.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.page.locator('[data-set="fights"]').press("Enter")
        expect(progress).to_contain_text("120 of 120 asked")
        assert page.errors == []
