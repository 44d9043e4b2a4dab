"""Pictures: what comes out, not just that something does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minibrains import BrainError
from minibrains.testing import opened, play
from nodes.image import FrameStack, FrameStackTaps, Grayscale, Resize


def _stack(taps: list[int], colors: int = 1, mean: float = 0.0, std: float = 1.0) -> FrameStack:
    per_color = np.ones(colors, np.float32)
    return FrameStack(brain=FrameStackTaps(taps=np.int32(taps), mean=per_color * mean, std=per_color * std))


def _numbered(count: int) -> list[dict[str, Any]]:
    return [{"frame": np.full((2, 3, 1), number, np.uint8)} for number in range(count)]


def test_a_stack_is_ordered_from_oldest_to_newest() -> None:
    node = _stack([6, 3, 0])
    with opened(node):
        stacks = play(node, *_numbered(12))
    newest = [list((stack[:, 0, 0] * 255).round().astype(int)) for stack in stacks]
    assert newest[11] == [5, 8, 11]
    assert newest[0] == [0, 0, 0], "before the episode is old enough, its first picture"
    assert newest[4] == [0, 1, 4]
    assert stacks[0].shape == (3, 2, 3)
    assert stacks[0].dtype == np.float32


def test_a_stack_of_the_seed_has_24_channels() -> None:
    node = _stack([7, 6, 5, 4, 3, 2, 1, 0], colors=3)
    frame = np.zeros((128, 180, 3), np.uint8)
    with opened(node):
        assert play(node, {"frame": frame})[0].shape == (24, 128, 180)
    assert node.brain.sizes["channels"] == 24


def test_a_new_episode_has_no_picture_of_the_last() -> None:
    node = _stack([2, 1, 0])
    with opened(node):
        play(node, *_numbered(9))
        fresh = play(node, {"frame": np.full((2, 3, 1), 200, np.uint8)})[0]
    assert set((fresh * 255).round().ravel()) == {200}


def test_pixels_are_normalised_by_the_brain() -> None:
    node = _stack([0], mean=0.5, std=0.25)
    with opened(node):
        (stack,) = play(node, {"frame": np.full((1, 1, 1), 255, np.uint8)})
    assert stack[0, 0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("taps", [[], [0, 1], [3, 3, 0], [-1], [5000, 0]])
def test_taps_that_make_no_sense_are_refused(taps: list[int]) -> None:
    with pytest.raises(BrainError, match="taps are"):
        _stack(taps)


def test_grey_is_weighted_as_bt601() -> None:
    colors = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    node = Grayscale()
    with opened(node):
        (grey,) = play(node, {"frame": colors})
    assert grey.shape == (1, 4, 1)
    assert grey.ravel().tolist() == [76, 150, 29, 255]


@pytest.mark.parametrize("colors", [1, 3])
def test_resize_averages(colors: int) -> None:
    checked = np.zeros((4, 4, colors), np.uint8)
    checked[::2, ::2] = checked[1::2, 1::2] = 200
    node = Resize(width=2, height=2)
    with opened(node):
        (small,) = play(node, {"frame": checked})
    assert small.shape == (2, 2, colors)
    assert set(small.ravel()) == {100}
