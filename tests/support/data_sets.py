"""Small data sets for tests: episodes of plain pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from nodes.actions.sink import ActionTable
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, Sample, encode_picture

Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes the columns and the metadata of a file."""

ACTIONS = ("wait", "kick", "punch")
TABLE = ActionTable(
    names=ACTIONS,
    buttons=("B",),
    starts=np.array([0, 1, 2, 3], np.int32),
    rows=np.array([[0], [1], [1]], np.uint8),
)
INFO = EpisodeInfo(
    game="Duel-Genesis",
    rom_sha1="ab" * 20,
    actions=ACTIONS,
    state="Level4.KazeVsBron",
    state_sha256="cd" * 32,
    seed=3,
    episode=0,
    noops=7,
    written={"enemy_level": 4},
    workflow="collect",
    workflow_sha256="0123456789abcdef" * 4,
    command="python -m server run collect",
    outcome="won",
    score=2.0,
    ticks=100,
    frame_rate=60.0,
    trajectory_sha256="ef" * 32,
    features=("enemy_hp", "hp"),
    samples=3,
)


def picture(level: int) -> np.ndarray:
    """A picture of noise around a level, 0 to 200; another level is another picture."""
    noise = np.random.default_rng(level).integers(0, 50, (12, 16, 3), np.uint8)
    pixels: np.ndarray = noise + np.uint8(level)
    return pixels


def samples(count: int = 3, **changes: Any) -> list[Sample]:
    """Samples on ticks 0, 10, …: every second one lies between two decisions."""
    made: list[Sample] = []
    for row in range(count):
        decided = row % 2 == 0
        sample = Sample(
            tick=10 * row,
            picture=encode_picture(picture(row)),
            action=row % 3,
            second=2 if decided else None,
            played=1 if decided else None,
            actionable=decided,
            features={"hp": 176.0 - row, "enemy_hp": 90.0},
        )
        made.append(sample._replace(**changes))
    return made


def write(folder: Path, **changes: Any) -> Path:
    """Write an episode that differs from INFO in these fields, and return its file."""
    info = replace(INFO, **changes)
    return DataSet(folder).write(info, samples(info.samples))


def rewrite(path: Path, change: Change) -> Path:
    """Write the file of an episode again with other columns or metadata."""
    table = parquet.read_table(path)
    columns = table.to_pydict()
    about = json.loads(table.schema.metadata[b"minibrains"])
    change(columns, about)
    metadata = {**table.schema.metadata, b"minibrains": json.dumps(about).encode()}
    parquet.write_table(pyarrow.table(columns, schema=table.schema.with_metadata(metadata)), path)
    return path
