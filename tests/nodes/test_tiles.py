"""Tiles: equal ones have equal ids and no other has;
the overlay draws what it says and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minibrains import BrainError, Episode, MinibrainsError, Node
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.consoles.retro import RetroEmulator
from nodes.vision.overlay import GridOverlay, OverlayStyle
from nodes.vision.tiles import TileCodebook, TileTokenizer

RANDOM = np.random.default_rng(3)
TILES = RANDOM.integers(0, 256, (500, 8, 8, 3), np.uint8)
BOOK = TileCodebook(
    tiles=TILES, label=np.arange(500, dtype=np.int32) % 3, labels=("wall", "floor", "water")
)
STYLE = OverlayStyle.load(bundled_dir("models") / "overlay_style/plain.safetensors")
HIT_OR_DOWN = 524
"""The status of a fighter of Duel that may be lying."""


def _picture(places: np.ndarray) -> np.ndarray:
    rows, columns = places.shape
    return np.ascontiguousarray(TILES[places].transpose(0, 2, 1, 3, 4)).reshape(
        rows * 8, columns * 8, 3
    )


def _once(node: Node, **inputs: Any) -> Any:
    with opened(node):
        return play(node, inputs)[0]


def test_every_tile_of_a_picture_is_found() -> None:
    places = RANDOM.integers(0, 500, (20, 30))
    tokens = _once(TileTokenizer(brain=BOOK), frame=_picture(places))
    assert np.array_equal(tokens.ids, places)
    assert np.array_equal(tokens.labels, places % 3)
    assert tokens.unknown == 0
    assert tokens.legend == ("wall", "floor", "water")


def test_a_tile_with_one_other_bit_is_unknown_and_only_that_one() -> None:
    places = RANDOM.integers(0, 500, (20, 30))
    for _ in range(50):
        picture = _picture(places)
        y, x, color, bit = (int(RANDOM.integers(n)) for n in (160, 240, 3, 8))
        picture[y, x, color] ^= 1 << bit
        tokens = _once(TileTokenizer(brain=BOOK), frame=picture)
        expected = places.copy()
        expected[y // 8, x // 8] = 500
        assert np.array_equal(tokens.ids, expected)
        assert tokens.labels[y // 8, x // 8] == -1
        assert tokens.unknown == 1 / 600


def test_equal_hashes_are_no_hit() -> None:
    """Words w and w', changed so that the sum of products stays the same:
    only the pixels tell them apart.
    """
    node = TileTokenizer(brain=BOOK)
    with opened(node):
        first, second = (int(multiplier) for multiplier in node._multipliers[:2])
        words = TILES[7].reshape(-1).view(np.uint64).copy()
        words[0] += np.uint64(1)
        words[1] = np.uint64((int(words[1]) - first * pow(second, -1, 2**64)) % 2**64)
        (tokens,) = play(node, {"frame": words.view(np.uint8).reshape(8, 8, 3)})
    assert tokens.ids.tolist() == [[500]]


def test_a_picture_that_is_no_whole_tiles_is_refused() -> None:
    with pytest.raises(MinibrainsError, match="240x163; expected multiples of 8"):
        _once(TileTokenizer(brain=BOOK), frame=np.zeros((163, 240, 3), np.uint8))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"tiles": TILES[[0, 0]]}, "two tiles are equal"),
        ({"label": np.array([0, 1], np.int32)}, "every label must be from 0 to 0"),
    ],
)
def test_a_bad_codebook_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BrainError, match=sentence):
        TileCodebook(
            **{
                "tiles": TILES[:2],
                "label": np.array([0, 0], np.int32),
                "labels": ("wall",),
                **fields,
            }
        )


GREY = np.full((80, 80, 3), 60, np.uint8)


def _drawn(**inputs: Any) -> np.ndarray:
    """Which pixels differ from plain grey, without grid and coordinates."""
    picture = _once(GridOverlay(brain=STYLE, grid=False, coordinates=False), frame=GREY, **inputs)
    changed: np.ndarray = (picture != GREY).any(axis=2)
    return changed


def test_nothing_asked_for_nothing_drawn() -> None:
    assert not _drawn().any()
    assert not _drawn(labels=np.full((10, 10), -1, np.int32)).any()


def test_colors_follow_the_names_of_the_labels() -> None:
    labels = np.full((10, 10), -1, np.int32)
    labels[2, 3], labels[4, 5] = 0, 1
    node = GridOverlay(brain=STYLE, grid=False, coordinates=False)
    picture = _once(node, frame=GREY, labels=labels, legend=("water", "nobody knows"))
    tile = picture[16:24, 24:32]
    assert (tile == tile[0, 0]).all()
    assert tile[0, 0].argmax() == 2, "water is blue"
    assert (picture != GREY).any(axis=2).sum() == 64, "a label without a colour is left as it is"


def test_the_grid_is_every_eighth_line_and_crossings_are_no_brighter() -> None:
    picture = _once(GridOverlay(brain=STYLE, coordinates=False), frame=GREY)
    lines = (picture != GREY).any(axis=2)
    ys, xs = np.mgrid[:80, :80]
    assert np.array_equal(lines, (ys % 8 == 0) | (xs % 8 == 0))
    assert len(np.unique(picture)) == 2


def test_coordinates_are_written_in_every_fourth_tile() -> None:
    picture = _once(GridOverlay(brain=STYLE, grid=False), frame=GREY)
    ink = (picture == 255).all(axis=2)
    four = STYLE.glyphs[STYLE.letters.index("4")].astype(bool)
    assert np.array_equal(ink[1:6, 33:36], four)
    assert np.array_equal(ink[33:38, 1:4], four)
    assert ink[:8, :8].sum() == 0


def test_a_marker_frames_its_tile_and_what_is_off_the_picture_is_left_out() -> None:
    drawn = _drawn(markers=[(2, 3, ""), (99, 0, "off"), (9, 9, "too long to fit")])
    assert drawn[24:32, 16:24].sum() == 28
    assert drawn.sum() == 56


def test_a_marker_has_its_word_to_its_right() -> None:
    picture = _once(
        GridOverlay(brain=STYLE, grid=False, coordinates=False), frame=GREY, markers=[(2, 3, "go")]
    )
    ink = (picture == 255).all(axis=2)
    for x, letter in ((25, "G"), (29, "O")):
        assert np.array_equal(
            ink[25:30, x : x + 3], STYLE.glyphs[STYLE.letters.index(letter)].astype(bool)
        )


def test_a_label_without_a_name_is_a_sentence() -> None:
    node = GridOverlay(brain=STYLE)
    with pytest.raises(MinibrainsError, match="a tile has the label 2, and the legend has 2 names"):
        _once(node, frame=GREY, labels=np.full((10, 10), 2, np.int32), legend=("water", "wall"))


def test_labels_of_another_picture_are_refused() -> None:
    with pytest.raises(MinibrainsError, match="80x80, the labels are 3x2 tiles"):
        _drawn(labels=np.zeros((2, 3), np.int32))


def test_duels_codebook_knows_what_stands_still_and_little_of_what_moves() -> None:
    """On a stage that it was learned from; `make-brains tile_codebook/duel.safetensors`
    measures it over all of them.
    """
    console = RetroEmulator(game="Duel-Genesis", states=("Level3.KazeVsBron",))
    tokenizer = TileTokenizer(
        brain=TileCodebook.load(bundled_dir("models") / "tile_codebook/duel.safetensors")
    )
    unknown = []
    with opened(console), opened(tokenizer):
        console.reset(Episode(0, 0, "console"))
        for tick in range(300):
            console.latch(("RIGHT",) if tick % 60 < 30 else ("A",))
            shown = console.emit()
            now = shown.variables
            if tick % 10 or now["hit_stop"]:  # after a heavy blow the picture shakes
                continue
            tokens = tokenizer.tick(shown.frame())
            unknown.append(tokens.unknown)
            names = np.array([*tokens.legend, "unknown"])[tokens.labels]
            assert (names[2, 2:18] == "hud").mean() > 0.9, "the bar of health"
            assert (names[26:] == "floor").mean() > 0.9
            assert np.isin(names[5:9], ("background", "unknown", "fighter")).mean() > 0.9
            camera = min(max((now["agent_x"] + now["enemy_x"]) // 2 - 160, 0), 192)
            for who in ("agent", "enemy"):
                body = names[
                    (now[f"{who}_y"] - 40) // 8, np.clip((now[f"{who}_x"] - camera) // 8, 0, 39)
                ]
                assert body in ("unknown", "fighter") or now[f"{who}_status"] == HIT_OR_DOWN
    assert 0.02 < np.mean(unknown) < 0.1
