"""The distribution of the numbers in a tensor of a brain file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from minibrains import BrainError
from minibrains.tensor_histogram import BINS, READ_LIMIT, tensor_histogram


def test_all_numbers_of_a_small_tensor_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    numbers = np.array([[0, 1, 2], [np.nan, np.inf, 32]], np.float16)
    save_file({"weights": numbers, "none": np.zeros(0, np.int8)}, path)
    found = tensor_histogram(path, "weights")
    assert (found["dtype"], found["shape"]) == ("f16", [2, 3])
    assert (found["numbers"], found["read"], found["not_finite"]) == (6, 6, 2)
    assert (found["min"], found["max"], found["mean"]) == (0, 32, 8.75)
    assert len(found["counts"]) == BINS
    assert found["counts"][:3] == [1, 1, 1]
    assert found["counts"][-1] == 1
    assert tensor_histogram(path, "none")["counts"] == []


def test_the_largest_numbers_are_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"weights": np.array([-1e308, 1e308])}, path)
    counts = tensor_histogram(path, "weights")["counts"]
    assert (counts[0], counts[-1]) == (1, 1)


def test_of_a_large_tensor_evenly_spaced_blocks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    numbers = np.arange(READ_LIMIT, dtype=np.float32)
    save_file({"weights": numbers}, path)
    found = tensor_histogram(path, "weights")
    assert found["read"] == READ_LIMIT // 4
    assert found["numbers"] == READ_LIMIT
    assert found["mean"] == pytest.approx(numbers.mean(), rel=0.01)


def test_a_tensor_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"weights": np.zeros(1)}, path)
    with pytest.raises(BrainError, match="there is no tensor 'bias'"):
        tensor_histogram(path, "bias")
