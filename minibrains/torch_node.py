"""TorchNode: a learned part, written over batches; its `tick` is derived."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minibrains.errors import BrainError, NodeClassError
from minibrains.host import Episode, Host
from minibrains.loading import BrainRef
from minibrains.node import Node
from minibrains.tensors import as_tensor

if TYPE_CHECKING:
    import torch
    from torch import nn


class TorchNode(Node):
    """A node whose brain is the weights of a network.

    Subclasses write `build(config) -> nn.Module` and `forward(x, …) -> out` over tensors [B, …], pure,
    annotated with the socket types of one item. A recurrent one also writes `initial(batch) -> state` and
    takes the state as the last argument `state` and returns `(out, state)`. `tick` follows: B = 1, no
    gradients, NumPy in and out. Torch is imported when the node is opened, not before.
    """

    __abstract__ = True

    module: nn.Module

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        """The network, untrained; its parameters have the names of the brain's tensors."""
        raise NotImplementedError

    if TYPE_CHECKING:
        forward: Any
        initial: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if not hasattr(cls, "forward"):
            raise NodeClassError(f"{cls.__name__} has no forward(); a TorchNode needs one over tensors [B, …]")
        if "forward" in cls.__dict__ and hasattr(cls, "initial"):
            cls.tick, cls.reset = _recurrent_tick(cls), _start_state  # type: ignore[attr-defined,method-assign]
        elif "forward" in cls.__dict__:
            cls.tick = _plain_tick(cls)  # type: ignore[attr-defined]
        super().__init_subclass__(**kwargs)

    def open(self, host: Host) -> None:
        """Build the module and load the brain into it, on one thread: two would wait for each other."""
        import torch

        torch.set_num_threads(1)
        ref, cls = self.brain.ref, type(self)
        # nobody writes into it, so all nodes and runs of this process can share it
        self.module = host.load(ref, f"{cls.__module__}.{cls.__qualname__}", self._module) if ref else self._module()

    def _module(self, ref: BrainRef | None = None) -> nn.Module:
        module = self.build(self.brain.config)
        tensors = {name: as_tensor(array) for name, array in self.brain.tensors.items()}
        try:
            module.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise BrainError(f"the brain does not fit the network: {' '.join(str(error).split())}") from None
        return module.requires_grad_(False).eval()


def _plain_tick(cls: type[TorchNode]) -> Any:
    def tick(self: TorchNode, *inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            out: torch.Tensor = self.forward(*(_batch_of_one(x) for x in inputs))
            return out[0].numpy()

    return _signed(tick, cls, recurrent=False)


def _recurrent_tick(cls: type[TorchNode]) -> Any:
    def tick(self: Any, *inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            out, self.memory = self.forward(*(_batch_of_one(x) for x in inputs), self.memory)
            result: np.ndarray = out[0].numpy()
            return result

    return _signed(tick, cls, recurrent=True)


def _start_state(self: Any, episode: Episode) -> None:
    """Start an episode with the state of a new network."""
    self.memory = self.initial(1)


def _batch_of_one(array: np.ndarray) -> torch.Tensor:
    import torch

    # torch warns about read-only arrays although nothing writes to them here; a copy of one frame is cheap
    return torch.from_numpy(array if array.flags.writeable else array.copy())[None]


def _signed(tick: Any, cls: type[TorchNode], recurrent: bool) -> Any:
    """Give the derived tick the sockets that `forward` is annotated with."""
    import inspect

    function = cls.__dict__["forward"]
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise NodeClassError(f"{cls.__name__}.forward: an annotation cannot be read: {error}") from None
    if "return" not in hints:
        raise NodeClassError(f"{cls.__name__}.forward has no return annotation; write the socket type of what it gives out")
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    returns = hints["return"]
    if recurrent:
        parameters.pop()
        returns = typing.get_args(returns)[0] if typing.get_args(returns) else returns
    tick.__signature__ = signature.replace(parameters=parameters, return_annotation=returns)
    names = [parameter.name for parameter in parameters if parameter.name in hints]
    tick.__annotations__ = {**{name: hints[name] for name in names}, "return": returns}
    tick.__doc__ = f"Derived from {cls.__name__}.forward for one item (B = 1)."
    return tick
