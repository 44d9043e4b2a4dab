"""Between a brain's arrays and torch's tensors: NumPy has no bfloat16, so its bits travel in records (`DTYPES["bf16"]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from minibrains.sockets import DTYPES

if TYPE_CHECKING:
    import torch


def as_tensor(array: np.ndarray) -> torch.Tensor:
    """A copy of a brain's array, any of DTYPES, as a tensor of the same shape and type."""
    import torch

    if array.dtype == DTYPES["bf16"]:
        return torch.from_numpy(np.array(array["bf16"]).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """A copy of a tensor as a brain holds it: the inverse of `as_tensor`."""
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        return np.array(tensor.view(torch.int16).numpy().view(DTYPES["bf16"]))
    return np.array(tensor.numpy())


def is_finite(array: np.ndarray) -> bool:
    """Return whether no number of a brain's array, any of DTYPES, is infinity or NaN."""
    if array.dtype == DTYPES["bf16"]:
        # as in f32, of which it is the upper half: every bit of the exponent is set
        return not ((array["bf16"] & 0x7F80) == 0x7F80).any()
    return bool(np.isfinite(array).all())


def torch_dtype(label: str) -> torch.dtype:
    """Return torch's dtype for the name of one of DTYPES."""
    import torch

    name = "bfloat16" if label == "bf16" else DTYPES[label].name
    dtype: torch.dtype = getattr(torch, name)
    return dtype
