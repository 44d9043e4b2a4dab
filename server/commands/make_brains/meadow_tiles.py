"""Meadow's tile codebook, learned from pictures of the training states, in every part of the day.

The hero walks at random. The rows of text are labelled as such, and each tile of the map by the
published collision map: whether it can be entered. All is on the grid of tiles but who is on the
way from one to the next. The most frequent tiles are kept, each with its most frequent label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minibrains import Episode, Pad
from minibrains.games.catalog import find_game
from minibrains.games.splits import Splits, refuse_held_back
from minibrains.testing import opened
from nodes.consoles.retro import RetroEmulator
from nodes.exploring.world_state import DIALOGUE, WALK
from nodes.vision.tiles import TileCodebook, TileTokenizer
from server.commands.make_brains.codebook import learn_codebook
from server.commands.make_brains.made_brain import MadeBrain

GAME = "Meadow-GbAdvance"
LABELS = ("free", "wall", "text")
FREE, WALL, TEXT = range(len(LABELS))
TILES = 6144
"""Largest number of tiles in the codebook."""

ROWS, COLUMNS = 20, 30
"""Tiles of the screen."""
STATUS_ROWS = 2
DIALOGUE_ROW = 15
"""The row of tiles at which the window of a dialogue begins."""

MINUTES = (6 * 60, 12 * 60, 19 * 60, 22 * 60)
"""Since midnight: dawn, day, dusk and night, which have colours of their own."""
FRAMES = 160
"""Number of frames played from each state in each part of the day."""
LOOK_EVERY = 10
"""One in this many of the frames is used."""
HOLD = 27
"""Number of frames for which a button is held."""
PADS: Sequence[Pad] = (("UP",), ("DOWN",), ("LEFT",), ("RIGHT",), ("A",))


class Moment(NamedTuple):
    """A picture, and the label of each of its tiles."""

    frame: np.ndarray
    labels: np.ndarray
    """int [20, 30], indices into LABELS."""


def meadow() -> MadeBrain:
    """Learn the codebook from the training states, and measure it on walks with another seed."""
    game = find_game((GAME,))
    splits = Splits.of(game)
    assert splits is not None
    training = tuple(splits.parts["training"])
    refuse_held_back(game, training, (), ["make-brains"])
    codebook = learn(training, seed=0)
    metrics = {
        "training": measure(codebook, GAME, training, seed=1),
        "validation": measure(codebook, GAME, tuple(splits.parts["validation"]), seed=1),
    }
    return MadeBrain(
        codebook,
        "Meadow: tiles that can be entered, walls, text",
        "python -m server make-brains tile_codebook/meadow.safetensors",
        {"metrics": metrics},
    )


def learn(states: Sequence[str], seed: int) -> TileCodebook:
    """Return the codebook of the most frequent tiles."""
    return learn_codebook(moments(GAME, states, seed), LABELS, TILES)


def measure(
    codebook: TileCodebook, game: str, states: Sequence[str], seed: int
) -> dict[str, float]:
    """Return the share of known tiles, that of the map's tiles whose label is that of the
    collision map, an unknown one counting as wrong, and that of the known ones.
    """
    tiles = known = of_map = known_of_map = right = 0
    tokenizer = TileTokenizer(brain=codebook)
    with opened(tokenizer):
        for moment in moments(game, states, seed):
            found = tokenizer.tick(moment.frame).labels
            is_map = moment.labels != TEXT
            tiles += found.size
            known += int((found >= 0).sum())
            of_map += int(is_map.sum())
            known_of_map += int((is_map & (found >= 0)).sum())
            right += int((is_map & (found == moment.labels)).sum())
    return {
        "known": round(known / tiles, 4),
        "walkable_right": round(right / of_map, 4),
        "walkable_right_of_known": round(right / known_of_map, 4),
    }


def moments(game: str, states: Sequence[str], seed: int) -> Iterator[Moment]:
    """Yield moments of random walks from each state in each part of the day."""
    for minute in MINUTES:
        console = RetroEmulator(
            game=game, states=tuple(states), overlay="truth.json", write={"clock": minute}
        )
        with opened(console):
            for index in range(len(states)):
                console.reset(Episode(index, seed, "console"))
                yield from _walk(console, np.random.default_rng([seed, minute, index]))


def _walk(console: RetroEmulator, random: np.random.Generator) -> Iterator[Moment]:
    for tick in range(FRAMES):
        if tick % HOLD == 0:
            pad = PADS[int(random.integers(len(PADS)))]
        shown = console.emit()
        if tick % LOOK_EVERY == LOOK_EVERY - 1 and _is_labelled(shown.variables):
            yield Moment(shown.frame(), label_tiles(shown.variables))
        console.latch(pad if tick % HOLD else ())


def _is_labelled(variables: Mapping[str, int]) -> bool:
    """Return True if it is known what the screen shows: no menu, choice or battle."""
    return variables["mode"] in (WALK, DIALOGUE) and not variables["choices"]


def label_tiles(variables: Mapping[str, int]) -> np.ndarray:
    """Return the label of each tile of the screen, int [20, 30]."""
    labels = np.full((ROWS, COLUMNS), TEXT)
    columns = np.arange(COLUMNS)
    for row in range(ROWS - STATUS_ROWS):
        walls = variables[f"wall_{row:02}"] >> columns & 1
        labels[STATUS_ROWS + row] = np.where(walls == 1, WALL, FREE)
    if variables["mode"] == DIALOGUE:
        labels[DIALOGUE_ROW:] = TEXT
    return labels
