"""Policies with a logit for each button: they learn, are calibrated, and press what they should."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minibrains import ABSENT, Episode
from minibrains.brain_file import read_header
from minibrains.errors import BrainError, MinibrainsError
from minibrains.testing import ScratchHost, opened
from nodes.policies.buttons import (
    ButtonCalibration,
    ButtonHead,
    ButtonHeadBrain,
    ButtonSampler,
    PressedPad,
    sigmoid,
)
from nodes.training.calibrate import Calibrate, match_bias, match_thresholds
from nodes.training.examples import EpisodeExamples, Examples
from nodes.training.objectives import ButtonObjective
from tests.support.fights import (
    COLORS,
    NAME,
    PREPROCESSING,
    TABLE,
    clone_buttons,
    write_fights,
)
from tests.support.page_scripts import read_scripts


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, with everything that is learned."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def _run(node: Any, tmp_path: Path) -> dict[str, Any]:
    """Let a job node run until it is finished, and return its report."""
    folder = tmp_path / "run"
    folder.mkdir(exist_ok=True)
    with opened(node, ScratchHost(folder)):
        node.reset(Episode(0, 0, "node"))
        while not node.emit().finished:
            node.latch()
        report: dict[str, Any] = node.report()
    return report


def _calibration(home: Path) -> ButtonCalibration:
    path = home / "models/button_calibration/small.safetensors"
    return ButtonCalibration.load(path)


# -- learning


def test_it_learns_to_hold_the_buttons_of_the_teacher(tmp_path: Path, home: Path) -> None:
    write_fights()
    report = _run(clone_buttons(), tmp_path)
    assert report["validation_agreement"] > report["majority"] + 0.2

    path = home / "models/button_head/small.safetensors"
    brain = ButtonHeadBrain.load(path)
    metadata = read_header(path).metadata
    assert brain.buttons == TABLE.buttons
    assert json.loads(metadata["presses"]) == {
        "wait": ["LEFT"],
        "kick": ["A"],
        "punch": ["B"],
    }
    assert _calibration(home).thresholds == (0.5, 0.5, 0.5)


def test_bias_and_temperature_are_for_play_and_the_bias_spares_directions(
    tmp_path: Path, home: Path
) -> None:
    write_fights()
    path = home / "models/button_head/small.safetensors"
    _run(clone_buttons(), tmp_path)
    weights = path.read_bytes()

    _run(clone_buttons(bias=4.0, temperature=2.0), tmp_path)
    calibration = _calibration(home)
    assert calibration.bias == (0.0, 4.0, 4.0)
    assert calibration.temperature == 2.0
    assert path.read_bytes() == weights


def test_moments_in_which_no_action_has_an_effect_are_learned_from_if_wanted(
    tmp_path: Path, home: Path
) -> None:
    write_fights()
    _run(clone_buttons(epochs=1), tmp_path)
    _run(clone_buttons(epochs=1, name="all", actionable=False), tmp_path)

    counts: list[int] = []
    for name in ("small", "all"):
        path = home / f"models/button_head/{name}.safetensors"
        metadata = read_header(path).metadata
        data = json.loads(metadata["data"])
        counts.append(data["samples"] + data["validation_samples"])
    assert counts == [8 * 35, 8 * 40]


def _objective(**changes: float) -> tuple[ButtonObjective, Examples]:
    """An objective, and three samples: the teacher waits, kicks and punches."""
    presses = np.array([[1, 0], [0, 1], [1, 1]], bool)
    settings = {"positive_weight": 1.0, "focal_gamma": 0.0, **changes}
    objective = ButtonObjective(presses, **settings)

    pictures = [b""] * 3
    labels = np.array([0, 1, 2])
    no_numbers = np.empty((3, 0), np.float32)
    found = EpisodeExamples(pictures, labels, labels, no_numbers, no_numbers)
    return objective, Examples(PREPROCESSING, [found])


@pytest.mark.parametrize(
    ("weight", "focus"),
    [
        (1.0, 0.0),
        (10.0, 0.0),
        (1.0, 2.0),
        (3.0, 2.0),
    ],
)
def test_the_loss_is_that_of_the_papers(weight: float, focus: float) -> None:
    objective, examples = _objective(positive_weight=weight, focal_gamma=focus)
    logits = np.array([[2.0, -1.0], [0.5, 0.1], [-3.0, 4.0]])
    held = np.array([[1, 0], [0, 1], [1, 1]])

    probability = 1 / (1 + np.exp(-logits))
    of_held = -weight * (1 - probability) ** focus * np.log(probability)
    of_others = -(probability**focus) * np.log(1 - probability)
    expected = np.where(held, of_held, of_others).sum(axis=1)

    losses = objective.losses(torch.tensor(logits), examples, np.arange(3))
    assert losses.numpy() == pytest.approx(expected, rel=1e-5)


# -- calibrating


def test_a_silent_policy_presses_as_often_as_its_teacher_once_it_is_calibrated(
    tmp_path: Path, home: Path
) -> None:
    write_fights()
    write_fights(24, name="others", first=100)
    _run(clone_buttons(bias=-30.0), tmp_path)

    node = Calibrate(brain=COLORS, data="others", name="small")
    figures = _run(node, tmp_path)["calibration"]
    before, after = figures["before"], figures["after"]
    assert before["ratio"] == 0, "it is silent"
    assert before["off"] == ["A", "B"]
    assert after["off"] == []
    assert after["ratio"] == pytest.approx(1, abs=0.2)
    assert after["f1"] > 0.8

    calibration = _calibration(home)
    assert calibration.bias == (0.0, -30.0, -30.0), "the thresholds make up for it"
    path = home / "models/button_calibration/small.safetensors"
    metadata = read_header(path).metadata
    assert json.loads(metadata["metrics"]) == figures


def test_a_bias_is_found_for_a_policy_that_draws(tmp_path: Path, home: Path) -> None:
    write_fights()
    write_fights(24, name="others", first=100)
    _run(clone_buttons(bias=-30.0), tmp_path)

    node = Calibrate(brain=COLORS, data="others", name="small", adjust="bias")
    figures = _run(node, tmp_path)["calibration"]
    assert figures["before"]["ratio"] == 0
    assert figures["after"]["ratio"] == pytest.approx(1, abs=0.2)
    assert _calibration(home).thresholds == (0.5, 0.5, 0.5)


def test_measuring_alone_changes_nothing(tmp_path: Path, home: Path) -> None:
    write_fights()
    write_fights(2, name="others", first=100)
    _run(clone_buttons(epochs=1), tmp_path)
    path = home / "models/button_calibration/small.safetensors"
    before = path.read_bytes()

    node = Calibrate(brain=COLORS, data="others", name="small", adjust="nothing")
    figures = _run(node, tmp_path)["calibration"]
    assert figures["after"] == figures["before"]
    assert path.read_bytes() == before


def test_thresholds_and_bias_match_any_press_rate() -> None:
    rng = np.random.default_rng(0)
    buttons = ("A", "B", "X", "Y", "UP", "DOWN")
    rates = [0.0, 0.001, 0.04, 1.0, 0.3, 0.5]
    logits = rng.normal(-7, 2, (5000, 6)).astype(np.float32)
    held = rng.random(logits.shape) < rates

    before = ButtonCalibration(
        buttons=buttons,
        thresholds=(0.5,) * 6,
        bias=(1.0,) * 6,
    )
    after = match_thresholds(before, logits, held)
    pressed = after.press(logits)
    up, down = pressed[:, 4], pressed[:, 5]
    assert pressed.sum(axis=0) == pytest.approx(held.sum(axis=0), rel=0.01)
    assert not (up & down).any(), "up and down"

    temperature = 2.0
    bias = match_bias(logits, held, temperature)
    probabilities = sigmoid((logits + bias) / temperature)
    expected = probabilities.mean(axis=0)
    assert expected == pytest.approx(held.mean(axis=0), abs=1e-6)


# -- pressing


CALIBRATION: dict[str, Any] = {
    "buttons": ("FORWARD", "BACK", "A"),
    "thresholds": (0.5, 0.5, 0.1),
    "bias": (0.0, 0.0, 1.0),
    "temperature": 2.0,
}


def _sampler(**widgets: Any) -> ButtonSampler:
    brain = ButtonCalibration(**CALIBRATION)
    sampler = ButtonSampler(brain=brain, **widgets)
    sampler.reset(Episode(0, 0, "node"))
    return sampler


def _press(sampler: ButtonSampler, logits: Sequence[float], facing: bool | None = True) -> Any:
    array = np.array(logits, np.float32)
    return sampler.tick(array, facing).pad


def test_buttons_above_their_thresholds_are_pressed_towards_where_the_player_faces() -> None:
    sampler = _sampler()
    # (-5 + 1) / 2 is a probability of 0.12, and (-6 + 1) / 2 one of 0.08
    assert _press(sampler, [1, -1, -5]) == ("A", "RIGHT")
    assert _press(sampler, [1, -1, -5], facing=False) == ("A", "LEFT")
    assert _press(sampler, [-1, 1, -6]) == ("LEFT",)
    assert _press(sampler, [-1, -1, -6], facing=None) == ()


def test_of_two_opposite_directions_one_is_held() -> None:
    back = _sampler()
    assert _press(back, [1, 2, -9]) == ("LEFT",)

    forward = _sampler()
    assert _press(forward, [2, 2, -9]) == ("RIGHT",)


def test_all_but_directions_are_released_after_a_while() -> None:
    sampler = _sampler(hold=2)
    logits = np.array([1, -1, 5], np.float32)
    first = sampler.tick(logits, True)
    assert np.array(first.pressed).tolist() == [True, False, True]

    assert sampler.tick(None, True) == PressedPad(ABSENT, ABSENT)
    assert sampler.tick(None, True) == PressedPad(("RIGHT",), ABSENT)
    assert sampler.tick(None, True) == PressedPad(ABSENT, ABSENT)


def test_buttons_are_drawn_as_often_as_their_probabilities_say() -> None:
    sampler = _sampler(mode="sample")
    logits = np.array([-30, -30, -3], np.float32)
    presses = 0
    for _ in range(4000):
        pressed = sampler.tick(logits, True)
        presses += pressed.pad == ("A",)
    assert presses / 4000 == pytest.approx(0.269, abs=0.03), "sigmoid(-1)"


def test_the_example_of_the_documentation_plays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "buttons": ("UP", "BACK", "FORWARD", "A"),
        "channels": 6,
        "height": 76,
        "width": 176,
        "hidden": 8,
        "convolutions": ((4, 8, 8),),
    }
    brain = ButtonHead.new_brain(config)
    path = home / "models/button_head/duel-buttons.safetensors"
    brain.save(path, title="Untrained", made_by="a test")

    calibration = ButtonCalibration(
        buttons=brain.buttons,
        thresholds=(0.5,) * 4,
        bias=(0.0,) * 4,
    )
    path = home / "models/button_calibration/duel-buttons.safetensors"
    calibration.save(path, title="None", made_by="a test")

    script = read_scripts("cloning.md")["play_buttons.py"].text
    short = script.replace("episodes=1", "episodes=1, ticks=90")
    exec(short, {})
    assert capsys.readouterr().out == "False\n"


# -- bad input


def test_a_direction_without_a_facing_is_refused() -> None:
    sampler = _sampler()
    with pytest.raises(MinibrainsError, match="link facing"):
        _press(sampler, [1, -1, -9], facing=None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"thresholds": (0.5, 0.5)}, "expected a number for each of the 3 buttons"),
        ({"thresholds": (0.5, 0.5, 1.5)}, "thresholds must be from 0 to 1"),
        ({"temperature": 0.0}, "expected 0.01 to 100"),
    ],
)
def test_an_impossible_calibration_is_refused(changes: dict[str, Any], sentence: str) -> None:
    changed = {**CALIBRATION, **changes}
    with pytest.raises(BrainError, match=sentence):
        ButtonCalibration(**changed)


def test_a_table_with_other_actions_is_refused(tmp_path: Path) -> None:
    write_fights()
    other_actions = clone_buttons(table="action_table/sf2.safetensors")
    with pytest.raises(MinibrainsError, match="has other actions than the data set fights"):
        _run(other_actions, tmp_path)

    no_file = clone_buttons(table="action_table/none.safetensors")
    with pytest.raises(MinibrainsError, match="expected in table an action_table brain"):
        _run(no_file, tmp_path)


def test_matches_that_the_policy_has_learned_from_do_not_calibrate_it(tmp_path: Path) -> None:
    write_fights()
    _run(clone_buttons(epochs=1), tmp_path)

    node = Calibrate(brain=COLORS, data=NAME, name="small")
    with pytest.raises(MinibrainsError, match="has learned from the data set fights"):
        _run(node, tmp_path)


def test_a_policy_of_other_colours_is_not_calibrated(tmp_path: Path, home: Path) -> None:
    write_fights()
    write_fights(2, name="others", first=100)
    _run(clone_buttons(epochs=1), tmp_path)

    path = tmp_path / "colors.safetensors"
    COLORS.save(path, title="Colours", made_by="a test")
    other_colors = type(COLORS).load(path)
    node = Calibrate(brain=other_colors, data="others", name="small")
    with pytest.raises(MinibrainsError, match="was trained with the fighter_colors brain"):
        _run(node, tmp_path)


def test_a_policy_that_says_nothing_of_its_training_is_not_calibrated(
    tmp_path: Path, home: Path
) -> None:
    write_fights()
    write_fights(2, name="others", first=100)
    _run(clone_buttons(epochs=1), tmp_path)

    path = home / "models/button_head/small.safetensors"
    brain = ButtonHeadBrain.load(path)
    brain.save(path, title="Unknown", made_by="a test")
    node = Calibrate(brain=COLORS, data="others", name="small")
    with pytest.raises(MinibrainsError, match="expected a brain that CloneButtons has saved"):
        _run(node, tmp_path)
