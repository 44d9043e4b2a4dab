"""The device and the type of numbers with which a language model computes, and whether it has room
there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from minibrains import MinibrainsError
from minibrains.loading import MODELS_VARIABLE, model_budget
from minibrains.packages import install_extra_command
from minibrains.tensors import torch_dtype
from minibrains.torch_node import find_device

if TYPE_CHECKING:
    import torch

Precision = Literal["auto", "f32", "bf16", "int8", "nf4"]
QUANTIZED: Final = ("int8", "nf4")
"""Types of 8 and of 4 bits, for the weights of linear layers; the rest is in bf16.

Source: T. Dettmers et al., LLM.int8(), NeurIPS 2022, arXiv:2208.07339; and QLoRA, NeurIPS 2023,
arXiv:2305.14314.
"""
BYTES: Final[Mapping[str, int]] = {"f32": 4, "bf16": 2}
"""The types of numbers that all of a model can be in, and their sizes. f16 is not among them: on a
processor it is slow, and the values of models that were trained in bf16 exceed it."""


class Placement(NamedTuple):
    """The device and the type of numbers with which a model computes."""

    device: torch.device
    precision: str
    """A name in BYTES or in QUANTIZED."""

    @property
    def is_usual(self) -> bool:
        """True for f32 on the processor, in which faster ways to ask a model are written."""
        return self.device.type == "cpu" and self.precision == "f32"

    @property
    def is_quantized(self) -> bool:
        """True if the weights of linear layers have 8 or 4 bits."""
        return self.precision in QUANTIZED

    @property
    def dtype(self) -> torch.dtype:
        """The torch dtype in which the model computes."""
        if self.is_quantized:
            return torch_dtype("bf16")
        return torch_dtype(self.precision)

    def __str__(self) -> str:
        return f"{self.precision} on {self.device}"

    def receive(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return a model's inputs on its device; those that are not whole numbers in its type."""
        placed: dict[str, Any] = {}
        for name, tensor in inputs.items():
            dtype = self.dtype if tensor.is_floating_point() else tensor.dtype
            placed[name] = tensor.to(self.device, dtype)
        return placed

    def check_room(self, memory: Mapping[str, int]) -> None:
        """Check that a model has room here, before it is loaded.

        Args:
            memory: The bytes that its weights take, by type of number.

        Raises:
            MinibrainsError: It is larger than what models may take.
        """
        needed = memory[self.precision]
        room, reason = _room(self.device)
        if needed > room:
            raise MinibrainsError(
                f"the model takes {megabytes(needed)} in {self}, and models may take "
                f"{megabytes(room)} ({reason}); {self._remedy(memory, room)}"
            )

    def _remedy(self, memory: Mapping[str, int], room: int) -> str:
        precisions = (*BYTES, *QUANTIZED)
        for smaller in precisions[precisions.index(self.precision) + 1 :]:
            if memory[smaller] <= room:
                return f'set precision to "{smaller}", which takes {megabytes(memory[smaller])}'
        return "choose a smaller model, or ask it on a server, with RemoteVLM"


def place(device: str, precision: Precision) -> Placement:
    """Return where a model computes.

    Args:
        device: A name for `find_device`.
        precision: "auto" is bf16 on an accelerator that computes in it, and f32 elsewhere.

    Raises:
        MinibrainsError: This machine has no such device, or the device does not compute in bf16, or
            not with quantised weights.
    """
    found = find_device(device)
    if precision == "auto":
        precision = "bf16" if found.type != "cpu" and _computes_in_bf16(found) else "f32"
    elif precision == "bf16" and not _computes_in_bf16(found):
        raise MinibrainsError(f'{found} does not compute in bf16; set precision to "f32"')
    elif precision in QUANTIZED:
        _check_quantization(found, precision)
    return Placement(found, precision)


def megabytes(size: int) -> str:
    """Return a size in bytes for people, in MB."""
    return f"{size / 1e6:,.1f} MB"


def _computes_in_bf16(device: torch.device) -> bool:
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)  # Ampere
    return True


def _check_quantization(device: torch.device, precision: str) -> None:
    if device.type not in ("cpu", "cuda"):
        raise MinibrainsError(
            f'{device} does not compute with weights in {precision}; set precision to "bf16"'
        )
    if find_spec("bitsandbytes") is None:
        raise MinibrainsError(
            f"weights in {precision} need the package bitsandbytes; install it with: "
            f"{install_extra_command('quantized')}"
        )


def _room(device: torch.device) -> tuple[int, str]:
    """Return the bytes that models may take on a device, and why."""
    import torch

    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free, f"what is free on {device}"
    return model_budget(), f"half of the memory, unless {MODELS_VARIABLE} says otherwise"
