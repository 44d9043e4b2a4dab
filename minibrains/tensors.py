"""Convert between a brain's arrays and torch's tensors: NumPy lacks bfloat16,
so its bits are in records (`DTYPES["bf16"]`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minibrains.sockets import DTYPES

if TYPE_CHECKING:
    import torch


def as_tensor(array: np.ndarray) -> torch.Tensor:
    """Return a copy of a brain's array, of any of DTYPES,
    as a tensor of the same shape and dtype.
    """
    import torch

    if array.dtype == DTYPES["bf16"]:
        return torch.from_numpy(np.array(array["bf16"]).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """Return a copy of a tensor as a brain's array: the inverse of `as_tensor`."""
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return np.array(tensor.view(torch.int16).numpy().view(DTYPES["bf16"]))
    return np.array(tensor.numpy())


def is_finite(array: np.ndarray) -> bool:
    """Return whether a brain's array, of any of DTYPES, contains neither infinity nor NaN."""
    if array.dtype == DTYPES["bf16"]:
        # bf16 is the upper half of f32: infinity and NaN have all bits of the exponent set
        return not ((array["bf16"] & 0x7F80) == 0x7F80).any()
    return bool(np.isfinite(array).all())


def torch_dtype(label: str) -> torch.dtype:
    """Return the torch dtype for a name in DTYPES."""
    import torch

    name = "bfloat16" if label == "bf16" else DTYPES[label].name
    dtype: torch.dtype = getattr(torch, name)
    return dtype
