"""Learn Duel's tile codebook from what is to be seen on the training states: `python models/duel_tiles.py`.

Run again it writes the same bytes; it takes about two minutes. Random actions are played. The stage behind everything moves
with the fighters (the wall half as fast as the floor), so each of its pixels is had by a vote of all frames; what
differs from it is the score and the bars at the top, or a fighter where the game's variables have one. The tiles seen most
often are kept, each with the label it had most often.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from minibrains import Episode
from minibrains.files import shipped
from minibrains.games.catalog import find_game
from minibrains.games.splits import Splits, refuse_held_back
from minibrains.testing import opened
from nodes.actions.sink import ActionTable
from nodes.consoles.retro import RetroEmulator
from nodes.vision.tiles import SIDE, TileCodebook, TileTokenizer, keys_of

GAME = "Duel-Genesis"
LABELS = "background", "floor", "hud", "fighter"
BACKGROUND, FLOOR, HUD, FIGHTER = range(len(LABELS))
OTHER = -1
"""Projectiles, sparks and shadows: nowhere twice the same before a stage that moves, so no tile of a codebook."""
TILES = 4096
FRAMES, LOOK_EVERY, HOLD = 600, 10, 8
"""Played from each state; looked at; for how long an action is held."""
HEIGHT, WIDTH, ARENA = 224, 320, 512
HORIZON, BARS, NAMES, WORDS = 21, 2, 4, 13
"""The row of tiles at which the floor begins; the one of the bars; above which names and score stand, and words may."""
REACH, HEAD, FEET = 64, 88, 4
"""Pixels from a fighter's middle to its hands; from where it stands up to its head, and down."""


class Moment(NamedTuple):
    """A picture, and the variables that it was drawn by: they are one frame older than it."""

    frame: np.ndarray
    variables: dict[str, int]

    @property
    def camera(self) -> int:
        middle = (self.variables["agent_x"] + self.variables["enemy_x"]) // 2 - WIDTH // 2
        return min(max(middle, 0), ARENA - WIDTH)


def moments(states: Sequence[str], seed: int) -> Iterator[Moment]:
    """What is to be seen when random actions are played from each state."""
    table = ActionTable.load(shipped("models") / "action_table/duel.safetensors")
    console = RetroEmulator(game=GAME, states=tuple(states), write={"seed": "$seed"})
    with opened(console):
        for index in range(len(states)):
            console.reset(Episode(index, seed, "console"))
            random = np.random.default_rng([seed, index])
            before = console.emit().variables
            for tick in range(FRAMES):
                if tick % HOLD == 0:
                    pads = table.pads(int(random.integers(table.sizes["actions"])))
                shown = console.emit()
                if shown.done:
                    break
                if tick % LOOK_EVERY == LOOK_EVERY - 1:
                    yield Moment(shown.frame(), dict(before))
                before = shown.variables
                console.latch(pads[min(tick % HOLD, len(pads) - 1)])


def places(camera: int) -> tuple[np.ndarray, np.ndarray]:
    """Where on its stage each pixel of the screen lies."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return y, x + np.where(y < HORIZON * SIDE, camera >> 1, camera)


def stages(states: Sequence[str], seed: int) -> dict[int, np.ndarray]:
    """Each stage without anybody on it, uint8 [224, 512, 3]: for each pixel the colour that wins a majority vote."""
    votes: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for moment in moments(states, seed):
        stage = moment.variables["stage"]
        if stage not in votes:
            votes[stage] = np.zeros((HEIGHT, ARENA, 3), np.uint8), np.zeros((HEIGHT, ARENA), np.int32)
        (color, lead), place = votes[stage], places(moment.camera)
        same, leading = (color[place] == moment.frame).all(axis=2), lead[place]
        color[place] = np.where((same | (leading > 0))[..., None], color[place], moment.frame)
        lead[place] = np.where(same, leading + 1, np.where(leading > 0, leading - 1, 1))
    return {stage: color for stage, (color, _) in votes.items()}


def labelled(moment: Moment, stage: np.ndarray) -> np.ndarray:
    """What each tile of a picture is, int [28, 40]: a place in LABELS, or OTHER."""
    differs = (moment.frame != stage[places(moment.camera)]).any(axis=2)
    busy = differs.reshape(HEIGHT // SIDE, SIDE, WIDTH // SIDE, SIDE).any(axis=(1, 3))
    row, column = np.mgrid[: HEIGHT // SIDE, : WIDTH // SIDE] * SIDE + SIDE // 2
    fighter = np.zeros_like(busy)
    for who in ("agent", "enemy"):
        x, y = (moment.variables[f"{who}_{axis}"] for axis in "xy")
        fighter |= (np.abs(column - (x - moment.camera)) < REACH) & (row > y - HEAD) & (row < y + FEET)
    labels = np.where(row < HORIZON * SIDE, BACKGROUND, FLOOR)
    labels[busy] = np.where(row < WORDS * SIDE, HUD, OTHER)[busy]
    labels[busy & fighter] = FIGHTER
    labels[:NAMES][busy[:NAMES]] = HUD
    labels[BARS, 1:-1] = HUD  # always there, so they win the vote as if they were the stage
    return labels


def learn(states: Sequence[str], seed: int) -> tuple[TileCodebook, dict[int, np.ndarray]]:
    """The codebook, and the stages it was labelled by."""
    empty = stages(states, seed)
    seen: dict[bytes, np.ndarray] = {}
    for moment in moments(states, seed):
        keys = keys_of(moment.frame)
        for key, label in zip(map(bytes, keys), labelled(moment, empty[moment.variables["stage"]]).ravel(), strict=True):
            if label != OTHER:
                seen.setdefault(key, np.zeros(len(LABELS), np.int64))[label] += 1
    often = sorted(seen, key=lambda key: (-int(seen[key].sum()), key))[:TILES]
    tiles = np.frombuffer(b"".join(often), np.uint8).reshape(-1, SIDE, SIDE, 3)
    label = np.int32([seen[key].argmax() for key in often])
    return TileCodebook(labels=LABELS, tiles=tiles, label=label), empty


def measure(book: TileCodebook, empty: dict[int, np.ndarray], states: Sequence[str], seed: int) -> dict[str, float]:
    """Over games of another seed, the share of: tiles unknown, tiles of fighters unknown, known tiles labelled right."""
    counts = np.zeros(6, np.int64)
    with opened(tokenizer := TileTokenizer(brain=book)):
        for moment in moments(states, seed):
            found, truth = tokenizer.tick(moment.frame).labels, labelled(moment, empty[moment.variables["stage"]])
            missing, fighter, known = found < 0, truth == FIGHTER, (found >= 0) & (truth != OTHER)
            shares = np.ones_like(missing), missing, fighter, missing & fighter, known, known & (found == truth)
            counts += [np.count_nonzero(share) for share in shares]
    everything, missing, fighter, fighter_missing, known, right = counts.tolist()
    shares = {"unknown": missing / everything, "fighter_unknown": fighter_missing / fighter, "label_right": right / known}
    return {name: round(share, 4) for name, share in shares.items()}


def main() -> None:
    game = find_game((GAME,))
    splits = Splits.of(game)
    assert splits is not None
    training, validation = (tuple(splits.parts[name]) for name in ("training", "validation"))
    refuse_held_back(game, training, (), ["this script"])
    book, empty = learn(training, 0)
    metrics = {"training": measure(book, empty, training, 1), "validation": measure(book, empty, validation, 1)}
    digest = book.save(
        Path(__file__).resolve().parent / "tile_codebook/duel.safetensors",
        title="Duel: stage, floor, bars, and some of the fighters",
        made_by="python models/duel_tiles.py",
        license="MIT",
        author="Minibrains",
        metrics=metrics,
    )
    print(f"{digest[:16]}  tile_codebook/duel.safetensors")
    print({label: int((book.label == place).sum()) for place, label in enumerate(LABELS)})
    print(json.dumps(metrics, indent=1))


if __name__ == "__main__":
    main()
