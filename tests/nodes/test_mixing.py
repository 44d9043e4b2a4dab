"""Random actions among those of an agent, two agents that take turns, and the second best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains import ABSENT, Episode, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.actions.mixing import MixedAction, NoisyAction
from nodes.actions.sink import ActionTable
from nodes.policies.network import ActionSampler
from nodes.vision.frames import RecentFrames

TABLE = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")
COUNT = len(TABLE.names)


def _noisy(decisions: int, episode: int = 0, **widgets: Any) -> list[Any]:
    node = NoisyAction(brain=TABLE, **widgets)
    with opened(node):
        ticks = [{"action": 3}] * decisions
        return play(node, *ticks, episode=Episode(episode, 0, "noise"))


def test_so_many_actions_are_replaced_by_any_of_the_table() -> None:
    results = _noisy(4000, probability=0.15)
    drawn = [result.action for result in results if result.random]
    assert 0.12 < len(drawn) / 4000 < 0.18
    assert set(drawn) == set(range(COUNT))
    assert all(result.action == 3 for result in results if not result.random)


def test_nothing_is_delivered_between_decisions() -> None:
    node = NoisyAction(brain=TABLE, probability=1.0)
    with opened(node):
        ticks: list[dict[str, Any]] = [{"action": 3}, {}, {"action": 3}]
        first, none, second = play(node, *ticks, episode=Episode(0, 0, "noise"))
    assert none == (ABSENT, ABSENT)
    # a tick without a decision draws nothing
    assert [first, second] == _noisy(2, probability=1.0)


@pytest.mark.parametrize(
    ("share", "least", "most"), [(0.0, 0, 0), (0.667, 55, 78), (1.0, 100, 100)]
)
def test_only_a_share_of_the_episodes_has_noise(share: float, least: int, most: int) -> None:
    noisy = 0
    for episode in range(100):
        results = _noisy(30, episode, probability=0.5, share=share)
        noisy += any(result.random for result in results)
    assert least <= noisy <= most


def test_the_same_episode_has_the_same_noise() -> None:
    assert _noisy(100, 4) == _noisy(100, 4)
    assert _noisy(100, 4) != _noisy(100, 5)


def test_another_probability_draws_the_same_actions() -> None:
    rarely, often = _noisy(500, probability=0.1), _noisy(500, probability=0.4)
    for one, other in zip(rarely, often, strict=True):
        if one.random:
            assert other == one


def _mixed(*ticks: dict[str, Any], episode: int = 0, **widgets: Any) -> list[Any]:
    node = MixedAction(**widgets)
    with opened(node):
        return play(node, *ticks, episode=Episode(episode, 0, "mix"))


BOTH = {"student": 1, "teacher": 2}


@pytest.mark.parametrize("per", ["episode", "decision"])
@pytest.mark.parametrize(("beta", "action"), [(0.0, 1), (1.0, 2)])
def test_one_of_them_may_have_every_turn(per: str, beta: float, action: int) -> None:
    results = _mixed(*[BOTH] * 50, beta=beta, per=per)
    assert results == [(action, action == 2)] * 50


def test_a_turn_is_a_decision() -> None:
    results = _mixed(*[BOTH] * 2000, beta=0.25)
    assert 0.2 < sum(result.by_teacher for result in results) / 2000 < 0.3
    assert all(result.action == 1 + result.by_teacher for result in results)


def test_or_an_episode() -> None:
    by_teacher = 0
    for episode in range(200):
        results = _mixed(*[BOTH] * 5, episode=episode, beta=0.25, per="episode")
        assert len(set(results)) == 1
        by_teacher += results[0].by_teacher
    assert 30 < by_teacher < 70


def test_nobody_takes_the_turn_of_one_who_does_not_decide() -> None:
    assert _mixed({}, {"teacher": 2}, BOTH, beta=0.0) == [
        (ABSENT, ABSENT),
        (ABSENT, ABSENT),
        (1, False),
    ]


# -- the second best


@given(
    values=st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=8),
    mode=st.sampled_from(["greedy", "sample"]),
)
def test_the_second_best_is_the_best_of_the_others(values: list[float], mode: Any) -> None:
    logits = np.array(values, np.float32)
    node = ActionSampler(mode=mode)
    with opened(node):
        (choice,) = play(node, {"logits": logits})
    others = [value for index, value in enumerate(values) if index != choice.action]
    assert choice.second != choice.action
    assert values[choice.second] == max(others)
    if mode == "greedy":
        assert values[choice.action] == max(values)


@pytest.mark.parametrize("logits", [[1.0], [0.0, -np.inf, -np.inf]])
def test_there_may_be_no_other(logits: list[float]) -> None:
    node = ActionSampler()
    with opened(node):
        assert play(node, {"logits": np.array(logits, np.float32)}) == [(0, ABSENT)]


# -- recent frames


def _frame(level: int) -> np.ndarray:
    return np.full((2, 3, 3), level, np.uint8)


def _levels(stacked: np.ndarray) -> list[int]:
    return [int(level) for level in stacked[::2, 0, 0]]


def test_pictures_of_the_past_are_delivered_when_asked() -> None:
    node = RecentFrames(taps=(7, 3, 0))
    ticks = [{"frame": _frame(tick), "now": tick % 10 == 0} for tick in range(31)]
    with opened(node):
        results = play(node, *ticks)
        again = play(node, *ticks[:1], episode=Episode(1, 0, "node"))
    delivered = {}
    for tick, result in enumerate(results):
        if result.stacked is not ABSENT:
            delivered[tick] = _levels(result.stacked)
    assert delivered == {0: [0, 0, 0], 10: [3, 7, 10], 20: [13, 17, 20], 30: [23, 27, 30]}
    assert _levels(again[0].stacked) == [0, 0, 0]


@given(
    taps=st.sets(st.integers(0, 12), min_size=1).map(lambda taps: sorted(taps, reverse=True)),
    length=st.integers(1, 40),
)
def test_each_is_as_old_as_its_tap(taps: list[int], length: int) -> None:
    node = RecentFrames(taps=tuple(taps))
    ticks = [{"frame": _frame(tick), "now": True} for tick in range(length)]
    with opened(node):
        results = play(node, *ticks)
    for tick, result in enumerate(results):
        assert _levels(result.stacked) == [max(0, tick - tap) for tap in taps]


@pytest.mark.parametrize("taps", [[], [0, 3], [3, 3], [2, -1], [600, 0]])
def test_taps_that_do_not_fall_are_refused(taps: list[int]) -> None:
    with pytest.raises(MinibrainsError, match="expected falling whole numbers"):
        RecentFrames(taps=tuple(taps)).check()
