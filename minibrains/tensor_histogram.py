"""The distribution of the numbers in a tensor of a brain file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from minibrains.brain_file import TensorInfo, read_open_header, short
from minibrains.errors import BrainError
from minibrains.sockets import DTYPES

BINS: Final = 32
READ_LIMIT: Final = 8 << 20
"""Largest number of bytes of a tensor that are read; of a larger one, evenly spaced blocks."""
_BLOCK: Final = 64 << 10
"""Size of such a block in bytes."""


def tensor_histogram(path: Path, name: str) -> dict[str, Any]:
    """Return how the numbers of a tensor are distributed.

    Returns:
        `name`, `dtype` and `shape`; `numbers`, how many it has, and `read`, how many of them were
        read; `not_finite`, how many of these are infinite or no number; of the others `min`, `max`,
        `mean` and `std`, which are None if there are none, and `counts`, their histogram with
        `BINS` equal bins from `min` to `max`.

    Raises:
        BrainError: The file cannot be read, or has no such tensor.
    """
    try:
        with path.open("rb") as file:
            header = read_open_header(path, file)
            info = header.tensors.get(name)
            if info is None:
                raise BrainError(f"{path}: there is no tensor {short(name)}")
            read = _read(file, header.data_start + info.start, info)
    except OSError as error:
        raise BrainError(f"{path}: the brain cannot be read: {error.strerror or error}") from None
    finite = read[np.isfinite(read)]
    summary: dict[str, Any] = {**dict.fromkeys(("min", "max", "mean", "std")), "counts": []}
    if finite.size:
        summary = _summarize(finite)
    return {
        "name": name,
        "dtype": info.dtype,
        "shape": list(info.shape),
        "numbers": math.prod(info.shape),
        "read": int(read.size),
        "not_finite": int(read.size - finite.size),
        **summary,
    }


def _read(file: BinaryIO, start: int, info: TensorInfo) -> np.ndarray:
    """Read a tensor, or evenly spaced blocks of it, as float64 [n]."""
    dtype = DTYPES[info.dtype]
    size = info.end - info.start
    if size <= READ_LIMIT:
        positions = [0]
        length = size
    else:
        blocks = READ_LIMIT // _BLOCK
        positions = [size // blocks * block // dtype.itemsize for block in range(blocks)]
        positions = [position * dtype.itemsize for position in positions]
        length = _BLOCK
    data = bytearray()
    for position in positions:
        file.seek(start + position)
        data += file.read(length)
    numbers = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
    if dtype.names is not None:  # bf16: the upper half of a float32
        bits = numbers["bf16"].astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    return numbers.astype(np.float64)


def _summarize(finite: np.ndarray) -> dict[str, Any]:
    """Summarize at least one number; scaled to at most 1, so that squares do not overflow."""
    scale = max(abs(float(finite.min())), abs(float(finite.max()))) or 1.0
    scaled = finite / scale
    low, high = float(scaled.min()), float(scaled.max())
    bins = np.zeros(scaled.size, np.int64)
    if low < high:
        bins = np.minimum(((scaled - low) / (high - low) * BINS).astype(np.int64), BINS - 1)
    return {
        "min": low * scale,
        "max": high * scale,
        "mean": float(scaled.mean()) * scale,
        "std": float(scaled.std()) * scale,
        "counts": np.bincount(bins, minlength=BINS).tolist(),
    }
