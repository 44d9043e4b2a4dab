"""A pad to be seen: what is lit is what was held."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest

from minibrains import BrainError
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.consoles.pads import PadFace, PadView
from tests.support.pad_barcode import BITS, read_barcode

FACE = PadFace.load(bundled_dir("models") / "pad_face/plain.safetensors")
HEIGHT, WIDTH = FACE.button.shape


def lit(strip: np.ndarray) -> set[str]:
    """The buttons that are lit on a picture of the face:
    those whose pixels are nearer to the lit face than to the dark.
    """
    from_dark = np.abs(np.int32(strip) - FACE.dark).sum(axis=2)
    from_lit = np.abs(np.int32(strip) - FACE.lit).sum(axis=2)
    found = set()
    for number, name in enumerate(FACE.buttons, 1):
        place = FACE.button == number
        if from_lit[place].sum() < from_dark[place].sum():
            found.add(name)
    return found


def buttons_of(mask: int) -> set[str]:
    """The buttons whose bits are set in what Pad-Genesis read."""
    return {name for bit, name in enumerate(BITS["Pad-Genesis"]) if mask >> bit & 1}


def test_what_is_held_is_lit_under_the_picture() -> None:
    frame = np.random.default_rng(1).integers(0, 256, (9, 320, 3), np.uint8)
    pads: list[Any] = [
        None,
        ("UP", "LEFT", "X"),
        (),
        ("C", "START", "no such button"),
        FACE.buttons,
    ]
    ticks = [{"frame": frame, "pad": pad} for pad in pads]
    with opened(view := PadView(brain=FACE)):
        pictures = play(view, *ticks)
    for picture, pad in zip(pictures, pads, strict=True):
        assert np.array_equal(picture[:9], frame)
        assert lit(picture[9:, 80:240]) == set(pad or ()) & set(FACE.buttons)
        assert (picture[9:, :80] == FACE.dark[0, 0]).all()


def test_a_narrow_picture_stands_in_the_middle() -> None:
    with opened(view := PadView(brain=FACE)):
        (picture,) = play(view, {"frame": np.full((6, 100, 3), 200, np.uint8), "pad": ("B",)})
    assert picture.shape == (6 + HEIGHT, WIDTH, 3)
    assert (picture[:6, 30:130] == 200).all()
    assert lit(picture[6:]) == {"B"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"buttons": ("A", "A")}, "expected 1 to 255, all different"),
        (
            {"button": np.full((HEIGHT, WIDTH), 16, np.uint8)},
            "belongs to button 16; expected at most 15",
        ),
    ],
)
def test_a_face_that_cannot_be(changed: dict[str, Any], sentence: str) -> None:
    parts = {
        "buttons": FACE.buttons,
        "dark": FACE.dark,
        "lit": FACE.lit,
        "button": FACE.button,
    } | changed
    with pytest.raises(BrainError, match=sentence):
        PadFace(**parts).check("this face")


def test_the_clip_shows_each_pad_beside_the_frame_it_answers(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Pad-Genesis shows on each frame what it read:
    what was held when the frame before was on the screen.
    """
    clip = tmp_path / "clip.mp4"
    summary("pad", "--ticks", 90, "--video", clip)
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-v",
        "error",
        "-i",
        clip,
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    film = subprocess.run(command, capture_output=True, check=True).stdout
    pictures = np.frombuffer(film, np.uint8).reshape(90, 224 + HEIGHT, 2, 320, 2, 3)[:, :, 0, :, 0]
    pads = []
    held: set[str] | None = None  # nobody can know what was held before the clip
    for picture in pictures:
        frame, pad = picture[:224], picture[224:, 80:240]
        read = buttons_of(read_barcode(frame).pad1)
        if held is not None:
            assert read == held
        held = lit(pad)
        pads.append(frozenset(held))
    assert len(set(pads)) > 3
