"""Pictures: what comes out, not just that something does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains import BrainError, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.consoles.retro import RetroEmulator
from nodes.vision.frames import Crop, FrameStack, FrameStackBrain, Grayscale, Resize, ToPicture
from tests.support.engine_fixtures import Entries, make_plan


def _stack(taps: list[int], colors: int = 1, mean: float = 0.0, std: float = 1.0) -> FrameStack:
    brain = FrameStackBrain(
        taps=np.array(taps, np.int32),
        mean=np.full(colors, mean, np.float32),
        std=np.full(colors, std, np.float32),
    )
    return FrameStack(brain=brain)


def _numbered(count: int) -> list[dict[str, Any]]:
    """Return the inputs of so many ticks; all pixels of a frame have its number."""
    inputs: list[dict[str, Any]] = []
    for number in range(count):
        inputs.append({"frame": np.full((2, 3, 1), number, np.uint8)})
    return inputs


def _numbers_in(stack: np.ndarray) -> list[int]:
    """Return the numbers of the frames in a stack."""
    pixels = (stack[:, 0, 0] * 255).round().astype(int)
    numbers: list[int] = pixels.tolist()
    return numbers


def test_a_stack_is_ordered_from_oldest_to_newest() -> None:
    node = _stack([6, 3, 0])
    with opened(node):
        stacks = play(node, *_numbered(12))

    assert _numbers_in(stacks[11]) == [5, 8, 11]
    assert _numbers_in(stacks[0]) == [0, 0, 0], "before the episode is old enough, its first frame"
    assert _numbers_in(stacks[4]) == [0, 1, 4]
    assert stacks[0].shape == (3, 2, 3)
    assert stacks[0].dtype == np.float32


def test_a_stack_of_the_seed_has_24_channels() -> None:
    node = _stack([7, 6, 5, 4, 3, 2, 1, 0], colors=3)
    frame = np.zeros((128, 180, 3), np.uint8)
    with opened(node):
        (stack,) = play(node, {"frame": frame})

    assert stack.shape == (24, 128, 180)
    assert node.brain.sizes["channels"] == 24


def test_a_new_episode_has_no_picture_of_the_last() -> None:
    node = _stack([2, 1, 0])
    with opened(node):
        play(node, *_numbered(9))
        (stack,) = play(node, {"frame": np.full((2, 3, 1), 200, np.uint8)})

    assert _numbers_in(stack) == [200, 200, 200]


def test_pixels_are_normalised_by_the_brain() -> None:
    node = _stack([0], mean=0.5, std=0.25)
    white = np.full((1, 1, 1), 255, np.uint8)
    with opened(node):
        (stack,) = play(node, {"frame": white})

    assert stack[0, 0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("taps", [[], [0, 1], [3, 3, 0], [-1], [5000, 0]])
def test_taps_that_make_no_sense_are_refused(taps: list[int]) -> None:
    with pytest.raises(BrainError, match="taps are"):
        _stack(taps)


def test_grey_is_weighted_as_bt601() -> None:
    red, green, blue, white = [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]
    frame = np.array([[red, green, blue, white]], np.uint8)
    node = Grayscale()
    with opened(node):
        (grey,) = play(node, {"frame": frame})

    assert grey.shape == (1, 4, 1)
    assert grey.ravel().tolist() == [76, 150, 29, 255]


@pytest.mark.parametrize("colors", [1, 3])
def test_resize_averages(colors: int) -> None:
    chessboard = np.zeros((4, 4, colors), np.uint8)
    chessboard[::2, ::2] = 200
    chessboard[1::2, 1::2] = 200
    node = Resize(width=2, height=2)
    with opened(node):
        (small,) = play(node, {"frame": chessboard})

    assert small.shape == (2, 2, colors)
    assert set(small.ravel()) == {100}


def _picture(frame: np.ndarray) -> np.ndarray:
    """Return what ToPicture makes of a frame."""
    node = ToPicture()
    with opened(node):
        (picture,) = play(node, {"frame": frame})
    assert isinstance(picture, np.ndarray)
    assert picture.dtype == np.uint8
    return picture


@given(st.integers(5, 12), st.integers(5, 12), st.randoms(use_true_random=False))
def test_every_layout_of_a_picture_is_the_same_picture(
    height: int, width: int, random: Any
) -> None:
    data = random.randbytes(height * width * 3)
    picture = np.frombuffer(data, np.uint8).reshape(height, width, 3)
    opacity = np.full((height, width, 1), 255, np.uint8)
    opaque = np.concatenate([picture, opacity], axis=2)
    grey = picture[:, :, :1]
    in_grey = grey.repeat(3, axis=2)

    _check_kinds(picture, picture)
    _check_kinds(picture.transpose(2, 0, 1), picture)
    _check_kinds(opaque, picture)
    _check_kinds(opaque.transpose(2, 0, 1), picture)
    _check_kinds(grey, in_grey)
    _check_kinds(grey.transpose(2, 0, 1), in_grey)
    _check_kinds(grey[:, :, 0], in_grey)


def _check_kinds(layout: np.ndarray, expected: np.ndarray) -> None:
    """Check a layout in bytes, and in each kind of float."""
    assert np.array_equal(_picture(layout), expected)
    for kind in (np.float16, np.float32, np.float64):
        floats = (layout / 255).astype(kind)
        assert np.array_equal(_picture(floats), expected)


def test_what_is_transparent_is_shown_over_black() -> None:
    frame = np.full((5, 6, 4), 200, np.uint8)
    frame[:, :, 3] = [0, 1, 64, 128, 254, 255]
    assert _picture(frame)[0, :, 0].tolist() == [0, 1, 50, 100, 199, 200]


def test_what_is_half_transparent_in_planes_of_floats_is_half_as_bright() -> None:
    red, green, blue, opacity = 0.5, 1, 0, 0.5
    planes = np.empty((4, 6, 6), np.float32)
    planes[:] = np.reshape([red, green, blue, opacity], (4, 1, 1))
    assert _picture(planes)[0, 0].tolist() == [64, 128, 0]


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (np.zeros(9, np.uint8), "got a picture of 9; expected h x w"),
        (np.zeros((3, 9, 3), np.uint8), "got a picture of 3x9x3"),
        (np.zeros((9, 9, 2), np.uint8), "9x9x2"),
        (np.zeros((1, 9, 9, 3), np.uint8), "1x9x9x3"),
        (np.zeros((9, 9), np.int32), "got a picture of int32; expected uint8, or float"),
        (np.full((9, 9), 200.0), "values from 200 to 200; floats must be from 0 to 1"),
        (np.full((9, 9), np.nan), "values from nan to nan"),
    ],
)
def test_what_is_no_picture_is_told_so(frame: np.ndarray, sentence: str) -> None:
    with pytest.raises(MinibrainsError, match=sentence):
        _picture(frame)


def test_pictures_of_all_kinds_may_be_linked() -> None:
    nodes: Entries = {
        "console": {"type": "RetroEmulator@3"},
        "grey": {"type": "Grayscale@1", "in": {"frame": "again.frame"}},
        "again": {"type": "ToPicture@1", "in": {"frame": "console.frame"}},
        "stack": {
            "type": "FrameStack@1",
            "in": {"frame": "grey.frame"},
            "brain": "frame_stack/grey4.safetensors",
        },
        "one": {"type": "ToPicture@1", "in": {"frame": "stack.frames"}},
        "small": {"type": "Resize@1", "in": {"frame": "one.frame"}},
    }
    classes = (RetroEmulator, Grayscale, ToPicture, FrameStack, Resize)
    make_plan(nodes, classes, bundled_dir("models"))


def test_a_crop_is_the_box() -> None:
    frame = np.arange(5 * 7 * 2, dtype=np.uint8).reshape(5, 7, 2)

    box = Crop(left=2, top=1, width=4, height=3)
    assert np.array_equal(box.tick(frame), frame[1:4, 2:6])

    whole = Crop(width=7, height=5)
    assert np.array_equal(whole.tick(frame), frame)


@pytest.mark.parametrize(("width", "height"), [(6, 3), (5, 5)])
def test_a_box_outside_of_the_picture_is_refused(width: int, height: int) -> None:
    node = Crop(left=2, top=1, width=width, height=height)
    ends = f"the box ends at column {2 + width} and row {1 + height}, and the picture is 7x5"
    with pytest.raises(MinibrainsError, match=ends):
        node.tick(np.zeros((5, 7, 3), np.uint8))


@pytest.mark.parametrize("colors", [1, 2, 3, 4, 5])
def test_each_colour_is_scaled_by_itself(colors: int) -> None:
    """None of them is the opacity of the others."""
    frame = np.random.default_rng(colors).integers(0, 256, (6, 8, colors), np.uint8)
    resize = Resize(width=4, height=3)
    small = resize.tick(frame)

    assert small.shape == (3, 4, colors)
    for color in range(colors):
        alone = resize.tick(frame[:, :, color : color + 1])
        assert np.array_equal(small[:, :, color], alone[:, :, 0])
