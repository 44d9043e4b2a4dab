"""Policies, gate, sink, control nodes: their rules, tick by tick."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains import ABSENT, BrainError, Episode, MinibrainsError, Node
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.actions.gates import CooldownGate, RecoveryBrain
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.control.flow import Changed, Every, Override, Previous, Variable
from nodes.fighting.rounds import AttackShare
from nodes.policies.baselines import RandomPolicy, ReflexBrain, ReflexPolicy
from nodes.policies.network import ActionSampler, AttackBias, PolicyHead, PolicyHeadBrain
from tests.support.page_scripts import read_scripts


def _outputs(node: Node, *ticks: Any, episode: Episode | None = None) -> list[Any]:
    with opened(node):
        return play(node, *ticks, episode=episode)


def _each(name: str, given_out: list[Any]) -> list[Any]:
    """One of the outputs, tick by tick."""
    return [getattr(out, name) for out in given_out]


def _true_ticks(beats: list[Any]) -> list[int]:
    now = _each("now", beats)
    return np.flatnonzero(now).tolist()


def _wanted(*actions: int | None) -> list[dict[str, Any]]:
    return [{"action": action} for action in actions]


PUNCH = 9
KICK = 21
JUMP = 1

FRAMES = np.zeros(44, np.int32)
FRAMES[PUNCH] = 11
FRAMES[KICK] = 12
FRAMES[JUMP] = 15
RECOVERY = RecoveryBrain(recovery=FRAMES)


@pytest.mark.parametrize(
    ("action", "closed"),
    [
        (PUNCH, 11),
        (KICK, 12),
        (JUMP, 15),
    ],
)
def test_the_gate_is_closed_for_as_long_as_the_action_takes(action: int, closed: int) -> None:
    gate = CooldownGate(brain=RECOVERY)
    wanted = [action] * (2 * closed + 2)
    given_out = _outputs(gate, *_wanted(*wanted))

    waiting = [ABSENT] * closed
    until_open = given_out[: closed + 1]
    assert _each("action", given_out) == [action, *waiting, action, *waiting]
    assert _each("ready", until_open) == [False] * closed + [True]
    assert _each("remaining", given_out) == [*range(closed, -1, -1)] * 2
    assert _each("since", given_out) == [*range(closed + 1)] * 2


def test_the_documentation_s_slower_table_takes_twice_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(read_scripts("sf2.md")["slow.py"].text, {})
    gate = CooldownGate(brain=RecoveryBrain.load("slow.safetensors"))
    given_out = _outputs(gate, *_wanted(PUNCH, *[None] * 22))
    assert _each("remaining", given_out) == [*range(22, -1, -1)]


def test_releasing_sends_nothing_once() -> None:
    gate = CooldownGate(brain=RECOVERY, idle="release")
    given_out = _outputs(gate, *_wanted(PUNCH, None, None, None))
    assert _each("action", given_out) == [PUNCH, 0, ABSENT, ABSENT]


@given(st.lists(st.one_of(st.none(), st.integers(0, 43)), max_size=80))
def test_no_action_gets_through_a_closed_gate(stream: list[int | None]) -> None:
    gate = CooldownGate(brain=RECOVERY)
    given_out = _outputs(gate, *_wanted(*stream))

    free = 0
    for tick, (wanted, out) in enumerate(zip(stream, given_out, strict=True)):
        if tick < free or wanted is None:
            assert out.action is ABSENT
        else:
            assert out.action == wanted
            free = tick + 1 + int(RECOVERY.recovery[wanted])
        assert out.ready == (tick + 1 >= free)


TABLE: dict[str, Any] = {
    "names": ("none", "roll"),
    "buttons": ("DOWN", "B"),
    "starts": np.array([0, 1, 4], np.int32),
    "rows": np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.uint8),
}


def test_a_sequence_runs_once_and_its_last_row_is_held() -> None:
    sink = EmulatorSink(brain=ActionTable(**TABLE))
    given_out = _outputs(sink, *_wanted(1, None, 0, None, None, 0))
    assert _each("pad", given_out) == [
        ("DOWN",),
        ("B",),
        ("DOWN", "B"),
        ("DOWN", "B"),
        ("DOWN", "B"),
        (),
    ]
    assert _each("busy", given_out) == [True, True, False, False, False, False]


def test_before_the_first_action_nothing_is_held() -> None:
    sink = EmulatorSink(brain=ActionTable(**TABLE))
    (out,) = _outputs(sink, *_wanted(None))
    assert out.pad == ()
    assert out.busy is False


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"starts": np.array([0, 1, 1], np.int32)}, "starts must rise"),
        ({"starts": np.array([0, 2, 3], np.int32)}, "starts must rise"),
        ({"names": ("none",)}, "need one name each"),
        ({"rows": np.array([[0, 0], [1, 0], [0, 1], [2, 1]], np.uint8)}, "rows must be 0 or 1"),
    ],
)
def test_a_bad_action_table_is_refused(fields: dict[str, Any], sentence: str) -> None:
    changed = {**TABLE, **fields}
    with pytest.raises(BrainError, match=sentence):
        ActionTable(**changed)


def test_a_reflex_plays_macros_to_their_end_and_then_looks_again() -> None:
    brain = ReflexBrain(
        actions=5,
        action=np.array([[1, 2], [3, 4]], np.int32),
        ticks=np.array([[2, 1], [1, 0]], np.int32),
    )
    policy = ReflexPolicy(brain=brain)
    left = {"situation": 0}
    right = {"situation": 1}

    given_out = _outputs(policy, left, right, right, right, left, left)

    assert _each("action", given_out) == [1, ABSENT, 2, 3, 1, ABSENT]
    assert _each("started", given_out) == [True, False, False, True, True, False]


def test_random_actions_are_uniform_held_and_follow_from_the_seed() -> None:
    ticks: list[dict[str, Any]] = [{}] * 12_000
    policy = RandomPolicy(actions=6, hold=2)
    first = _outputs(policy, *ticks, episode=Episode(0, 1, "a"))
    chosen, held = first[::2], first[1::2]
    assert set(held) == {ABSENT}

    counts = Counter(chosen)
    assert sorted(counts) == list(range(6))
    found = np.array(list(counts.values()))
    expected = 1000
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < 20.5, "chi-square, 5 degrees, p = 0.001"

    for other in (Episode(0, 2, "a"), Episode(1, 1, "a"), Episode(0, 1, "b")):
        policy = RandomPolicy(actions=6, hold=2)
        assert _outputs(policy, *ticks, episode=other) != first


def test_sampled_actions_follow_the_softmax() -> None:
    probabilities = np.array([0.5, 0.25, 0.25])
    logits = np.log(probabilities).astype(np.float32)
    ticks = [{"logits": logits}] * 4000

    sampled = _outputs(ActionSampler(mode="sample"), *ticks)
    found = np.bincount(_each("action", sampled), minlength=3)
    expected = 4000 * probabilities
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < 13.8

    best = _outputs(ActionSampler(mode="greedy"), *ticks)
    assert set(_each("action", best)) == {0}


FIGHTING = ActionTable(
    names=("none", "walk", "jab", "roll"),
    buttons=("FORWARD", "DOWN", "A", "B"),
    starts=np.array([0, 1, 2, 3, 5], np.int32),
    rows=np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]], np.uint8),
)
"""Four actions: the last two are attacks, because they press A and B."""


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        (0.0, [2.0, 3.0, 0.5, 1.0]),
        (2.0, [2.0, 3.0, 2.5, 3.0]),
        (-4.0, [2.0, 3.0, -3.5, -3.0]),
    ],
)
def test_a_bias_is_added_to_attacks_alone(bias: float, expected: list[float]) -> None:
    logits = np.array([2, 3, 0.5, 1], np.float32)
    (biased,) = _outputs(AttackBias(brain=FIGHTING, bias=bias), {"logits": logits})
    np.testing.assert_array_equal(biased, np.array(expected, np.float32))
    assert biased.dtype == np.float32
    np.testing.assert_array_equal(logits, [2, 3, 0.5, 1])


def test_attacks_with_some_buttons() -> None:
    logits = np.zeros(4, np.float32)
    node = AttackBias(brain=FIGHTING, bias=1.0, buttons=("A",))
    (biased,) = _outputs(node, {"logits": logits})
    np.testing.assert_array_equal(biased, np.array([0, 0, 1, 0], np.float32))

    share = AttackShare(brain=FIGHTING, buttons=("B",))
    with opened(share):
        play(share, *_wanted(0, 2, 2, 3))
        assert share.report() == {"attack_share": 0.25}

    wrong = AttackShare(brain=FIGHTING, buttons=("A", "DOWN"))
    sentence = "has no button 'DOWN' to attack with; expected some of A, B"
    with pytest.raises(MinibrainsError, match=sentence), opened(wrong):
        pass


def test_the_share_of_attacks_is_that_of_the_episode() -> None:
    node = AttackShare(brain=FIGHTING)
    with opened(node):
        play(node, *_wanted(0, 2, None, 3, None, 1))
        assert node.report() == {"attack_share": 0.5}
        play(node, *_wanted(None, 0))
        assert node.report() == {"attack_share": 0.0}
        play(node, *_wanted(None))
        assert node.report() == {}


SIZES: dict[str, Any] = {
    "channels": 2,
    "height": 20,
    "width": 24,
    "actions": 5,
    "hidden": 8,
}
CONVOLUTIONS = ((6, 4, 4), (4, 3, 1))


@pytest.mark.parametrize(
    "of",
    [
        "airstriker-untrained",
        "duel",
        {"convolutions": CONVOLUTIONS},
        {"convolutions": CONVOLUTIONS, "layers": 3},
        {"convolutions": CONVOLUTIONS, "layers": 2, "profiles": True},
        {"convolutions": (), "profiles": True},
    ],
    ids=str,
)
def test_the_policy_head_computes_what_torch_computes(of: str | dict[str, Any]) -> None:
    if isinstance(of, str):
        path = bundled_dir("models") / f"policy_head/{of}.safetensors"
        brain = PolicyHeadBrain.load(path)
    else:
        brain = PolicyHead.new_brain({**SIZES, **of})

    shape = (brain.channels, brain.height, brain.width)
    frames = np.random.default_rng(0).random(shape, np.float32)
    (logits,) = _outputs(PolicyHead(brain=brain), {"frames": frames})

    import torch

    weights = {}
    for name, array in brain.tensors.items():
        weights[name] = torch.from_numpy(np.array(array)).float()

    x = torch.from_numpy(frames)[None]
    for place, (_, _, stride) in enumerate(brain.convolutions):
        weight = weights[f"convolution{place}.weight"]
        bias = weights[f"convolution{place}.bias"]
        x = torch.nn.functional.conv2d(x, weight, bias, stride=stride)
        x = torch.relu(x)
    x = x.flatten(1)

    if brain.profiles:
        columns = frames.mean(axis=1)
        rows = frames.mean(axis=2)
        means = np.concatenate([columns.ravel(), rows.ravel()])
        profiles = 4 * torch.from_numpy(means)[None]
        x = torch.cat([x, profiles], 1)

    for name in ("hidden", "hidden2", "hidden3")[: brain.layers]:
        weight = weights[f"{name}.weight"]
        bias = weights[f"{name}.bias"]
        x = torch.relu(x @ weight.T + bias)

    expected = x @ weights["output.weight"].T + weights["output.bias"]
    largest = float(expected.abs().max())
    tolerance = 1e-5 * max(largest, 1)
    assert np.allclose(logits, expected[0].numpy(), atol=tolerance)
    assert logits.shape == (brain.actions,)


def test_every_is_true_at_its_beat() -> None:
    beats = _outputs(Every(ticks=30), *[{}] * 600)
    assert _true_ticks(beats) == list(range(0, 600, 30))

    shifted = _outputs(Every(ticks=4, offset=3), *[{}] * 9)
    assert _true_ticks(shifted) == [3, 7]


def test_changed_compares_arrays_by_their_elements() -> None:
    same = np.zeros(3)
    other = np.ones(3)
    first, second, third, fourth, fifth = _outputs(
        Changed(),
        {"value": same},
        {"value": same.copy()},
        {"value": other},
        {"value": other},
        {"value": same},
    )

    assert first is not ABSENT
    assert second is ABSENT
    assert third is not ABSENT
    assert fourth is ABSENT
    assert fifth is not ABSENT


def test_previous_is_one_tick_late() -> None:
    ticks = [{"value": 5}, {"value": 6}, {"value": 7}]

    after_zero = _outputs(Previous(initial=0), *ticks)
    assert after_zero == [0, 5, 6]

    after_nothing = _outputs(Previous(initial=None), *ticks)
    assert after_nothing == [ABSENT, 5, 6]


def test_override_is_urgent_on_its_own_tick_only() -> None:
    given_out = _outputs(
        Override(),
        {"value": None, "urgent": None},
        {"value": None, "urgent": 2},
        {"value": 1, "urgent": None},
        {"value": 1, "urgent": 2},
    )
    assert given_out == [ABSENT, 2, 1, 2]


def test_a_variable_that_is_not_there_is_named() -> None:
    node = Variable(name="hp")
    variables = {"score": 1, "lives": 2}
    with pytest.raises(MinibrainsError, match="no variable 'hp'; it has lives, score"):
        _outputs(node, {"variables": variables})
