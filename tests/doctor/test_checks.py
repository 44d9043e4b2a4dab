"""The checks of the doctor on arrays: each planted fault is named, and healthy ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from minibrains.doctor.checks import CAUSES, Cause, examine
from minibrains.doctor.evidence import (
    Buttons,
    ChannelStatistics,
    Demonstrations,
    Evidence,
    InputProbe,
    Kind,
    Part,
    best,
    entropies,
    largest_entropy,
    log_probabilities,
    press_probabilities,
)

ACTIONS = ("none", "forward", "back", "up", "A", "forward+B")
BUTTONS = Buttons(
    names=("FORWARD", "BACK", "UP", "A", "B"),
    presses=np.array(
        [
            [0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0],
            [0, 0, 1, 0, 0],
            [0, 0, 0, 1, 0],
            [1, 0, 0, 0, 1],
        ],
        bool,
    ),
)
PADS = ("A", "B", "X", "Y", "Z", "L", "R", "START")
SEED = np.array([-6.97, -7.93, -7.03, -7.25, -8.79, -7.70, -7.18, -10.57], np.float32)
"""The logits of a policy that never presses a button, as it was reported."""


def policy(count: int = 600, seed: int = 0) -> Evidence:
    """A healthy policy: it does now this, now that, and presses in a third of its decisions."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (count, len(ACTIONS))).astype(np.float32)
    labels = best("actions", rng.normal(0, 1, (5000, len(ACTIONS))))
    asked = best("actions", logits[:300])
    frames = rng.normal(0, 1, (200, 3, 8, 8))
    return Evidence(
        kind="actions",
        names=ACTIONS,
        buttons=BUTTONS,
        logits=logits,
        chosen=best("actions", logits),
        data=Demonstrations(
            labels=labels,
            asked=asked,
            logits=logits[:300],
            shuffled=rng.permutation(logits[:300]),
            inputs={"stack/frames": ChannelStatistics.of(frames)},
        ),
        inputs={"stack/frames": ChannelStatistics.of(frames[:100])},
        probes=(
            InputProbe(
                name="stack/frames",
                shuffled=rng.uniform(0.5, 5, 200),
                blank=rng.uniform(0.5, 5, 200),
                differs=np.ones(200, bool),
            ),
        ),
        parts=(Part(name="head.hidden", units=64, dead=20), Part(name="head.out", units=6, dead=0)),
        differences=(),
        games={"KazeVsBron": (20, 30), "KazeVsMira": (22, 30)},
    )


def pressing(logits: np.ndarray, labels: np.ndarray | None, seed: int = 0) -> Evidence:
    """A policy with a sigmoid for each button, which draws from it."""
    rng = np.random.default_rng(seed)
    chosen = rng.random(logits.shape) < np.exp(log_probabilities("buttons", logits))
    data = None if labels is None else Demonstrations(labels=labels)
    return Evidence(
        kind="buttons",
        names=PADS,
        buttons=Buttons.alone(PADS),
        logits=logits,
        chosen=chosen,
        data=data,
    )


def with_logits(evidence: Evidence, logits: np.ndarray) -> Evidence:
    """The same policy with other logits in play."""
    return replace(evidence, logits=logits, chosen=best(evidence.kind, logits))


def labelled(evidence: Evidence, labels: np.ndarray) -> Evidence:
    """The same policy beside other data, whose inputs it cannot be shown."""
    return replace(evidence, data=Demonstrations(labels=labels))


# -- what it computes


def test_log_probabilities_are_those_of_a_softmax_or_of_sigmoids() -> None:
    logits = np.array([[0.0, 1.0, -1000.0], [2.0, 2.0, 2.0]])
    assert np.exp(log_probabilities("actions", logits)).sum(axis=1) == pytest.approx([1, 1])
    sigmoid = np.exp(log_probabilities("buttons", SEED[None]))
    assert sigmoid[0, 0] == pytest.approx(0.0009, abs=1e-4)
    assert sigmoid[0, 7] == pytest.approx(0.00003, abs=1e-5)


@pytest.mark.parametrize("kind", ["actions", "buttons"])
def test_the_entropy_is_largest_if_all_outputs_are_equally_likely(kind: Kind) -> None:
    even = np.zeros((1, 44))
    certain = np.full((1, 44), -1e4)
    certain[0, 3] = 1e4
    assert entropies(kind, even)[0] == pytest.approx(largest_entropy(kind, 44))
    assert entropies(kind, certain)[0] == pytest.approx(0, abs=1e-9)


def test_impossible_actions_have_no_probability() -> None:
    logits = np.array([[0.0, -np.inf, 0.0]])
    assert entropies("actions", logits)[0] == pytest.approx(np.log(2))


def test_directions_are_no_presses() -> None:
    even = np.zeros((1, 6))
    assert press_probabilities("actions", even, BUTTONS)[0] == pytest.approx(2 / 6)
    walking = Buttons(names=("UP", "DOWN"), presses=np.array([[False, False], [True, False]]))
    assert walking.beyond_directions == ("UP",), "unless nothing else is there"


# -- healthy ones


@pytest.mark.parametrize("seed", range(10))
def test_a_healthy_policy_has_no_fault(seed: int) -> None:
    diagnosis = examine(policy(seed=seed))
    assert not diagnosis.sick, diagnosis.verdict()
    assert diagnosis.verdict().startswith("Healthy")
    assert {finding.check for finding in diagnosis.findings} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("seed", range(10))
def test_buttons_that_are_pressed_as_rarely_as_in_the_data_are_no_fault(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(-4, 1, (2000, 8)).astype(np.float32)
    labels = rng.random((20_000, 8)) < 0.03
    diagnosis = examine(pressing(logits, labels, seed))
    assert not diagnosis.sick, diagnosis.verdict()


@pytest.mark.parametrize("count", [2, 10, 30])
def test_too_few_decisions_are_no_fault(count: int) -> None:
    waiting = np.zeros((count, 6), np.float32)
    waiting[:, 0] = 9
    diagnosis = examine(with_logits(policy(), waiting))
    assert not diagnosis.sick
    assert any(finding.status == "untested" for finding in diagnosis.findings)


def test_a_button_that_the_teacher_never_uses_may_be_unused_without_data() -> None:
    logits = policy().logits.copy()
    logits[:, 3] = -50
    diagnosis = examine(replace(with_logits(policy(), logits), data=None))
    assert not diagnosis.sick
    assert [f.test for f in diagnosis.findings if f.status == "note"] == ["UP is used"]


# -- planted faults


def never_presses() -> Evidence:
    waiting = policy().logits.copy()
    waiting[:, 0] += 30
    return with_logits(policy(), waiting)


def only_moves() -> Evidence:
    moving = policy().logits.copy()
    moving[:, 4:] -= 40
    return with_logits(policy(), moving)


def never_presses_buttons() -> Evidence:
    rng = np.random.default_rng(0)
    logits = (SEED + rng.normal(0, 0.3, (6000, 8))).astype(np.float32)
    return pressing(logits, rng.random((5000, 8)) < 0.04)


def never_presses_without_data() -> Evidence:
    return replace(never_presses_buttons(), data=None)


def nearly_uniform() -> Evidence:
    """An entropy of 3.68 nats, where 44 actions have 3.78."""
    rng = np.random.default_rng(0)
    names = tuple(f"action {number}" for number in range(44))
    logits = rng.normal(0, 0.45, (500, 44)).astype(np.float32)
    assert 3.65 < entropies("actions", logits).mean() < 3.70
    return Evidence(
        kind="actions",
        names=names,
        buttons=Buttons.alone(names),
        logits=logits,
        chosen=best("actions", logits),
    )


def ignores_the_picture() -> Evidence:
    evidence = policy()
    (probe,) = evidence.probes
    nothing = np.full(200, 1e-6)
    return replace(evidence, probes=(replace(probe, shuffled=nothing, blank=nothing),))


def learned_nothing_from_the_picture() -> Evidence:
    """It answers differently to each picture, but not what the teacher does."""
    evidence = policy()
    assert evidence.data is not None
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 3, (300, 6)).astype(np.float32)
    return replace(
        evidence, data=replace(evidence.data, logits=noise, shuffled=rng.permutation(noise))
    )


def dead_gradients() -> Evidence:
    parts = (Part(name="head.hidden", units=64, dead=64), Part(name="head.out", units=6, dead=0))
    # what follows from it: it sees nothing, and does one thing only
    return replace(stuck(), parts=parts, probes=ignores_the_picture().probes, data=policy().data)


def other_settings() -> Evidence:
    return replace(policy(), differences=("Resize.width is 84, and was 176",))


def other_scale() -> Evidence:
    frames = 255 * np.random.default_rng(1).normal(0, 1, (100, 3, 8, 8))
    return replace(policy(), inputs={"stack/frames": ChannelStatistics.of(frames)})


def other_channels() -> Evidence:
    frames = np.random.default_rng(1).normal(0, 1, (100, 3, 8, 8))
    frames[:, 1] = 0
    return replace(policy(), inputs={"stack/frames": ChannelStatistics.of(frames)})


def unused_in_the_data() -> Evidence:
    labels = best("actions", np.random.default_rng(0).normal(0, 1, (5000, 6)))
    labels[labels[:, 3]] = labels[0]
    return labelled(policy(), labels if not labels[0, 3] else np.roll(labels, 1, axis=1))


def unused_by_the_policy() -> Evidence:
    logits = policy().logits.copy()
    logits[:, 3] = -50
    labels = best("actions", np.random.default_rng(0).normal(0, 1, (5000, 6)))
    return labelled(with_logits(policy(), logits), labels)


def stuck() -> Evidence:
    logits = policy().logits.copy()
    logits[:, 1] += 40
    return with_logits(policy(), logits)


def always_the_same_picture() -> Evidence:
    evidence = policy()
    (probe,) = evidence.probes
    return replace(evidence, probes=(replace(probe, differs=np.zeros(200, bool)),))


def beats_one_opponent() -> Evidence:
    return replace(policy(), games={"a": (48, 50), "b": (10, 50), "c": (12, 50)})


@pytest.mark.parametrize(
    ("plant", "cause"),
    [
        (never_presses, "never presses"),
        (only_moves, "never presses"),
        (never_presses_buttons, "never presses"),
        (never_presses_without_data, "never presses"),
        (nearly_uniform, "nearly uniform"),
        (ignores_the_picture, "ignores its input"),
        (learned_nothing_from_the_picture, "ignores its input"),
        (dead_gradients, "dead gradients"),
        (other_settings, "mismatched encodings"),
        (other_scale, "mismatched encodings"),
        (other_channels, "mismatched encodings"),
        (unused_in_the_data, "unused in the data"),
        (unused_by_the_policy, "unused by the policy"),
        (stuck, "stuck in one action"),
        (always_the_same_picture, "constant input"),
        (beats_one_opponent, "overfit to an opponent"),
    ],
)
def test_a_planted_fault_is_named(plant: Callable[[], Evidence], cause: Cause) -> None:
    diagnosis = examine(plant())
    assert diagnosis.causes[0] == cause, diagnosis.verdict()
    assert diagnosis.verdict().startswith(f"Sick: {cause}: ")
    assert CAUSES[cause] in diagnosis.verdict(), "it says what to do"


def test_every_fault_is_planted() -> None:
    (mark,) = test_a_planted_fault_is_named.pytestmark  # type: ignore[attr-defined]
    assert {cause for _, cause in mark.args[1]} == set(CAUSES)


def test_what_follows_from_a_fault_is_named_after_it() -> None:
    diagnosis = examine(dead_gradients())
    assert diagnosis.causes[:3] == ("dead gradients", "ignores its input", "stuck in one action")
