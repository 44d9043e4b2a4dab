"""Duel's tile codebook, learned from pictures of the training states; that takes about two minutes.

Random actions are played. The stage in the background moves with the fighters (the wall half as
fast as the floor), so each of its pixels is determined by a majority vote of all frames. Pixels
that differ from it belong to the score and the bars at the top, or to a fighter if the game's
variables place one there. The most frequent tiles are kept, each with its most frequent label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from minibrains import Episode
from minibrains.files import bundled_dir
from minibrains.games.catalog import find_game
from minibrains.games.splits import Splits, refuse_held_back
from minibrains.testing import opened
from nodes.actions.sink import ActionTable
from nodes.consoles.retro import RetroEmulator
from nodes.vision.tiles import SIDE, TileCodebook, TileTokenizer
from server.commands.make_brains.codebook import UNLABELLED, learn_codebook
from server.commands.make_brains.made_brain import MadeBrain

GAME = "Duel-Genesis"

LABELS = ("background", "floor", "hud", "fighter")
BACKGROUND, FLOOR, HUD, FIGHTER = range(len(LABELS))
OTHER = UNLABELLED
"""Projectiles, sparks and shadows: before a moving stage their tiles never repeat, so the codebook
has none of them."""
TILES = 4096
"""Largest number of tiles in the codebook."""

FRAMES = 600
"""Number of frames played from each state."""
LOOK_EVERY = 10
"""One in this many of the frames is used."""
HOLD = 8
"""Number of frames for which an action is held."""

HEIGHT, WIDTH = 224, 320
"""Size of the screen in pixels."""
ARENA = 512
"""Width of a stage, in pixels."""

HORIZON = 21
"""The row of tiles at which the floor begins."""
BARS = 2
"""The row of tiles that the bars of health fill."""
NAMES = 5
"""The row of tiles above which names and score are written."""
WORDS = 13
"""The row of tiles above which words may be written."""

REACH = 64
"""Pixels from a fighter's middle to its hands."""
HEAD = 88
"""Pixels from a fighter's position up to its head."""
FEET = 4
"""Pixels from a fighter's position down to the end of its feet."""

Stages = Mapping[int, np.ndarray]
"""Number of a stage -> picture of the empty stage, uint8 [224, 512, 3]."""


class Moment(NamedTuple):
    """A picture, and the variables that it was drawn from, which are one frame older."""

    frame: np.ndarray
    variables: Mapping[str, int]

    @property
    def stage(self) -> int:
        """The stage's number."""
        return self.variables["stage"]

    @property
    def camera(self) -> int:
        """The pixel of the floor at the left edge of the screen."""
        middle = (self.variables["agent_x"] + self.variables["enemy_x"]) // 2
        left = middle - WIDTH // 2
        return min(max(left, 0), ARENA - WIDTH)


def duel() -> MadeBrain:
    """Learn the codebook from the training states, and measure it on games with another seed."""
    game = find_game((GAME,))
    splits = Splits.of(game)
    assert splits is not None
    training = tuple(splits.parts["training"])
    validation = tuple(splits.parts["validation"])
    refuse_held_back(game, training, (), ["make-brains"])
    # the codebook is learned from the training stages alone; the other stages are needed to measure
    # it
    stages = empty_stages((*training, *validation), seed=0)
    codebook = learn(stages, training, seed=0)
    metrics = {
        "training": measure(codebook, stages, training, seed=1),
        "validation": measure(codebook, stages, validation, seed=1),
    }
    return MadeBrain(
        codebook,
        "Duel: stage, floor, bars, and some of the fighters",
        "python -m server make-brains tile_codebook/duel.safetensors",
        {"metrics": metrics},
    )


def empty_stages(states: Sequence[str], seed: int) -> Stages:
    """Return the empty stages: the colour of each pixel is that of the majority of
    the pictures that show it.
    """
    colors: dict[int, np.ndarray] = {}
    leads: dict[int, np.ndarray] = {}
    for moment in moments(states, seed):
        if moment.stage not in colors:
            colors[moment.stage] = np.zeros((HEIGHT, ARENA, 3), np.uint8)
            leads[moment.stage] = np.zeros((HEIGHT, ARENA), np.int32)
        _vote(colors[moment.stage], leads[moment.stage], moment)
    return colors


def _vote(color: np.ndarray, lead: np.ndarray, moment: Moment) -> None:
    """Count a picture in Boyer and Moore's majority vote,
    for each pixel of the stage that it shows.
    """
    area = _on_stage(moment.camera)
    leading = lead[area]
    same = (color[area] == moment.frame).all(axis=2)
    stays = same | (leading > 0)
    color[area] = np.where(stays[..., None], color[area], moment.frame)
    against = np.where(leading > 0, leading - 1, 1)
    lead[area] = np.where(same, leading + 1, against)


def learn(stages: Stages, states: Sequence[str], seed: int) -> TileCodebook:
    """Return the codebook of the most frequent tiles."""
    pictures = (
        (moment.frame, label_tiles(moment, stages[moment.stage]))
        for moment in moments(states, seed)
    )
    return learn_codebook(pictures, LABELS, TILES)


def measure(
    codebook: TileCodebook, stages: Stages, states: Sequence[str], seed: int
) -> dict[str, float]:
    """Return the shares of unknown tiles, of unknown tiles of fighters,
    and of correctly labelled known tiles.
    """
    tiles = unknown = fighters = fighters_unknown = judged = right = 0
    tokenizer = TileTokenizer(brain=codebook)
    with opened(tokenizer):
        for moment in moments(states, seed):
            found = tokenizer.tick(moment.frame).labels
            truth = label_tiles(moment, stages[moment.stage])
            missing = found < 0
            fighter = truth == FIGHTER
            known = ~missing & (truth != OTHER)
            tiles += found.size
            unknown += int(missing.sum())
            fighters += int(fighter.sum())
            fighters_unknown += int((fighter & missing).sum())
            judged += int(known.sum())
            right += int((known & (found == truth)).sum())
    return {
        "unknown": round(unknown / tiles, 4),
        "fighter_unknown": round(fighters_unknown / fighters, 4),
        "label_right": round(right / judged, 4),
    }


def moments(states: Sequence[str], seed: int) -> Iterator[Moment]:
    """Yield moments of games in which random actions are played from each state."""
    table = ActionTable.load(bundled_dir("models") / "action_table" / "duel.safetensors")
    console = RetroEmulator(game=GAME, states=tuple(states), write={"seed": "$seed"})
    with opened(console):
        for index in range(len(states)):
            console.reset(Episode(index, seed, "console"))
            random = np.random.default_rng([seed, index])
            yield from _play(console, table, random)


def _play(
    console: RetroEmulator, table: ActionTable, random: np.random.Generator
) -> Iterator[Moment]:
    before = console.emit().variables
    for tick in range(FRAMES):
        held = tick % HOLD
        if held == 0:
            action = int(random.integers(table.sizes["actions"]))
            pads = table.pads(action)
        shown = console.emit()
        if shown.terminated:
            break
        if tick % LOOK_EVERY == LOOK_EVERY - 1:
            yield Moment(shown.frame(), dict(before))
        before = shown.variables
        last = len(pads) - 1
        console.latch(pads[min(held, last)])


def label_tiles(moment: Moment, stage: np.ndarray) -> np.ndarray:
    """Return the label of each tile of a picture, int [28, 40]: an index into LABELS, or OTHER."""
    rows, columns = HEIGHT // SIDE, WIDTH // SIDE
    differs = (moment.frame != stage[_on_stage(moment.camera)]).any(axis=2)
    busy = differs.reshape(rows, SIDE, columns, SIDE).any(axis=(1, 3))
    y, x = np.mgrid[:rows, :columns] * SIDE + SIDE // 2
    labels = np.where(y < HORIZON * SIDE, BACKGROUND, FLOOR)
    in_front = np.where(y < WORDS * SIDE, HUD, OTHER)
    labels[busy] = in_front[busy]
    for who in ("agent", "enemy"):
        middle = moment.variables[f"{who}_x"] - moment.camera
        ground = moment.variables[f"{who}_y"]
        beside = np.abs(x - middle) < REACH
        upright = (y > ground - HEAD) & (y < ground + FEET)
        labels[busy & beside & upright] = FIGHTER
    labels[:NAMES][busy[:NAMES]] = HUD
    labels[BARS, 1:-1] = (
        HUD  # always visible, so they win the vote as if they were part of the stage
    )
    return labels


def _on_stage(camera: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of the stage that each pixel of the screen shows."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    wall = y < HORIZON * SIDE
    return y, x + np.where(wall, camera // 2, camera)
