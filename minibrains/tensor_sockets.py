"""Convert between values on links and tensors: an item becomes a batch of one,
and is taken out of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_origin

import numpy as np

from minibrains.annotations import Aged
from minibrains.errors import MinibrainsError
from minibrains.sockets import DTYPES, SocketType, SocketTypes

if TYPE_CHECKING:
    import torch

_SCALARS: Final = {bool: "bool", int: "int64", float: "float32"}
"""Python type of a value on a link -> dtype of the tensor [B]."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """The form of a socket's values as tensors."""

    python: type
    """The type of the value on a link: float, bool, int or np.ndarray."""
    dtype: str
    """The dtype, by the name that NumPy and torch share."""
    ndim: int
    """Number of dimensions of one item, without the batch."""

    def __str__(self) -> str:
        sizes = ", …" * self.ndim
        return f"{self.dtype} [B{sizes}]"


def tensor_form(types: SocketTypes) -> TensorForm | None:
    """Return the tensor form of these socket types; None if some have none, or the forms differ."""
    forms = {_form_of(option) for option in types.options}
    if len(forms) == 1:
        return forms.pop()
    return None


def _form_of(option: SocketType) -> TensorForm | None:
    python = get_origin(option.python) or option.python
    if python in _SCALARS:
        return TensorForm(python, _SCALARS[python], 0)
    if python is not np.ndarray or option.dtype not in DTYPES:
        return None
    if option.dtype == "bf16":  # NumPy cannot compute with it, so no node delivers it
        return None
    return TensorForm(np.ndarray, DTYPES[option.dtype].name, len(option.dims))


def batch_of_one(form: TensorForm, value: Any, device: torch.device) -> Any:
    """Return the value of a link as a tensor [1, …].

    None stays None, a list becomes a list of tensors, and an Aged one of two tensors.
    """
    import torch

    if isinstance(value, np.ndarray):
        # torch warns about read-only arrays although nothing writes to them here, and takes no
        # reversed ones; a copy of one item is cheap
        array = value if value.flags.carray else value.copy()
        return torch.from_numpy(array)[None].to(device)
    if value is None:
        return None
    if isinstance(value, list):
        return [batch_of_one(form, item, device) for item in value]
    if isinstance(value, Aged):
        item: Any = batch_of_one(form, value.value, device)
        age: Any = torch.tensor([value.age], device=device)
        return Aged(item, age)
    return torch.tensor([value], dtype=getattr(torch, form.dtype), device=device)


def only_item(form: TensorForm, name: str, tensor: Any) -> Any:
    """Return the item of a batch of one as a link carries it: a float, bool or int,
    or an array of its own on the CPU.

    Raises:
        MinibrainsError: The tensor is not of this form, or not a batch of one.
    """
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise MinibrainsError(
            f"forward gave a {type(tensor).__name__} as {name!r}; expected a tensor, {form}"
        )
    shape = tensor.shape
    if len(shape) != form.ndim + 1 or shape[0] != 1 or not _holds(form, tensor.dtype):
        dtype = str(tensor.dtype).removeprefix("torch.")
        raise MinibrainsError(
            f"forward gave {name!r} as {dtype} {list(shape)} for a batch of 1; expected {form}"
        )
    if form.python is np.ndarray:
        # it may be a view of the state or of a weight, which may change
        return tensor[0].cpu().numpy().copy()
    return form.python(tensor.item())


def _holds(form: TensorForm, dtype: torch.dtype) -> bool:
    import torch

    if form.python is float:
        return dtype.is_floating_point
    if form.python is int:
        return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    expected: torch.dtype = getattr(torch, form.dtype)
    return dtype == expected


def check_state(state: Any, batch: int, where: str) -> None:
    """Raise MinibrainsError if the tensors of a state are not [batch, …]."""
    for tensor in _tensors_of(state):
        if tensor.ndim == 0 or tensor.shape[0] != batch:
            raise MinibrainsError(
                f"{where} gave a state with a tensor {list(tensor.shape)}; expected [{batch}, …], "
                "the batch as the first size"
            )


def join_state(state: Any) -> torch.Tensor:
    """Return the tensors [B, …] of a state as one, float32 [B, numbers]."""
    import torch

    parts: list[torch.Tensor] = []
    for tensor in _tensors_of(state):
        parts.append(tensor.float().reshape(len(tensor), -1))
    return torch.cat(parts, 1)


def split_state(joined: torch.Tensor, like: Any) -> Any:
    """Return the state that `join_state` has joined.

    Args:
        joined: The joined state, float32 [B, numbers].
        like: A state of the same form, for any batch.
    """
    columns = 0

    def take(part: torch.Tensor) -> torch.Tensor:
        nonlocal columns
        numbers = part[0].numel()
        taken = joined[:, columns : columns + numbers]
        columns += numbers
        return taken.reshape(len(joined), *part.shape[1:]).to(part.dtype)

    return map_state(like, take)


def map_state(state: Any, change: Callable[[Any], Any]) -> Any:
    """Return a state of the same form, with what `change` returns in the place of each tensor."""
    if isinstance(state, Mapping):
        return {name: map_state(part, change) for name, part in state.items()}
    if isinstance(state, (tuple, list)):
        parts = [map_state(part, change) for part in state]
        if hasattr(state, "_fields"):
            return type(state)(*parts)
        return type(state)(parts)
    return change(state)


def _tensors_of(state: Any) -> Iterator[torch.Tensor]:
    import torch

    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, Mapping):
        for part in state.values():
            yield from _tensors_of(part)
    elif isinstance(state, (tuple, list)):
        for part in state:
            yield from _tensors_of(part)
    else:
        raise MinibrainsError(
            f"a state has a {type(state).__name__} in it; expected tensors, or tuples, "
            "lists and dicts of them"
        )
