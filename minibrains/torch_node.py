"""TorchNode: a node with a neural network, written over batches; its `tick` is derived."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

from minibrains.brain import Brain
from minibrains.errors import BrainError, MinibrainsError, NodeClassError
from minibrains.forward_signature import input_forms, output_forms, tick_signature
from minibrains.host import Episode, Host
from minibrains.loading import BrainRef
from minibrains.node import Node
from minibrains.node_options import NodeOptions
from minibrains.sockets import parse_spec
from minibrains.tensor_sockets import (
    TensorForm,
    batch_of_one,
    check_state,
    map_state,
    only_item,
)
from minibrains.tensors import as_array, as_tensor, torch_dtype
from minibrains.widgets import widget

if TYPE_CHECKING:
    import torch
    from torch import nn

Device = Literal[
    "cpu", "auto", "cuda", "mps", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5",
    "cuda:6", "cuda:7"
]  # fmt: skip


class TorchNode(Node, abstract=True, background="allowed"):
    """A node whose brain is the weights of a network.

    A subclass writes `build(config)`, which makes the network, and `forward(x, …) -> outputs` over
    tensors [B, …], without side effects and annotated with the socket types of one item. A
    recurrent one also writes `initial(batch) -> state`, takes the state as its last argument
    `state`, and returns `(outputs, state)`. `tick` follows: a batch of one, no gradients, NumPy in
    and out. A network that takes longer than a frame is given a thread by the workflow's `"busy"`.

    Torch is imported when the node is opened, not before.
    """

    device: Device = widget(
        default="cpu",
        rebuild=True,
        doc='where the network computes; "auto": an accelerator if there is one',
    )
    compiled: bool = widget(
        default=False,
        rebuild=True,
        doc="compile the network with torch.compile on the first tick, for up to a minute; on the "
        "processor this needs a C++ compiler. Results may differ in their last bits",
    )

    precision: Literal["f32", "bf16"] = widget(
        default="f32",
        rebuild=True,
        doc="the type in which linear and convolutional layers keep their weights and compute; "
        "bf16 takes half the memory, rounds to 3 digits, and is faster for large layers where the "
        "device has instructions for it (avx512_bf16, amx_bf16)",
    )

    input_forms: ClassVar[Mapping[str, TensorForm]]
    """The tensor forms of the inputs of `forward`, by name; lists and Aged consist of such
    tensors."""
    output_forms: ClassVar[Mapping[str, TensorForm]]
    """The tensor forms of the outputs of `forward`, by name."""
    _output_tuple: ClassVar[Any]
    """The NamedTuple of the outputs, for a class that has one."""

    if TYPE_CHECKING:
        forward: ClassVar[Any]
        initial: ClassVar[Any]

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        """Return a new, untrained network, whose parameters have the names of the brain's tensors.

        Args:
            config: The settings of the brain. Use nothing else, because all nodes with the same
                brain share one network.
        """
        raise NotImplementedError

    def __init_subclass__(cls, **options: Unpack[NodeOptions]) -> None:
        if options.get("abstract", False):
            super().__init_subclass__(**options)
            return
        if not hasattr(cls, "forward"):
            raise NodeClassError(
                f"{cls.__name__} has no forward(); a TorchNode needs one over tensors [B, …]"
            )
        written = {"forward", "initial"} & cls.__dict__.keys()
        derived = bool(written) or not hasattr(cls, "tick")
        if derived:
            _derive(cls)
        super().__init_subclass__(**options)
        if not (cls.schema.brain and cls.schema.brain_required):
            raise NodeClassError(
                f"{cls.__name__} has no brain; annotate it with the class of the "
                "network's weights: brain: …"
            )
        if derived:
            where = f"{cls.__name__}.forward"
            cls.input_forms = input_forms(where, cls.schema.inputs)
            cls.output_forms = output_forms(where, cls.schema.outputs)

    def open(self, host: Host) -> None:
        """Build the network and load the brain into it,
        or find it where another node of this process did.
        """
        limit_threads()
        self._device = find_device(self.device)
        self.module: Any = self._find_frozen(host)
        self._forward = self.forward
        if self.compiled:
            self._forward = _compile(self.forward, self._device)
        if self.precision == "bf16":
            self._forward = _in_bf16(self._forward, self._device)
        if hasattr(self, "initial"):
            check_state(self.start_state(2), 2, "initial(2)")

    def make_module(self) -> nn.Module:
        """Return a new network with the weights of the brain, to be trained;
        the node need not be opened.

        It is on the node's device and in training mode, its parameters require gradients, and
        nothing else uses it. Set it as the node's `module`, and `forward` computes with it, over
        batches of any size.

        Raises:
            BrainError: The brain does not fit the network.
            MinibrainsError: The device does not exist.
        """
        module = self.build(self.brain.config)
        tensors = {name: as_tensor(array) for name, array in self.brain.tensors.items()}
        try:
            module.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise BrainError(
                f"the brain does not fit the network: {' '.join(str(error).split())}"
            ) from None
        return module.to(find_device(self.device)).train()

    def brain_of(self, module: nn.Module) -> Any:
        """Return a brain of the node's kind with the weights of `module`,
        and the settings of the node's own brain.

        Raises:
            BrainError: The weights of the module are not those of such a brain.
        """
        return _read_weights(module, type(self.brain), self.brain.config)

    @classmethod
    def new_brain(cls, config: Mapping[str, Any], seed: int = 0) -> Any:
        """Return a brain for this class with the weights of a new, untrained network.

        Args:
            config: Settings of the brain; those with a default may be left out.
            seed: The seed of the random weights.

        Raises:
            BrainError: A setting is missing, unknown or of another type.
        """
        import torch

        kind = cls.schema.brain
        assert kind is not None
        settings = kind.read_config(cls.__name__, config)
        # build uses nothing but the settings, so an incomplete node is enough
        node = cls.__new__(cls)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            module = node.build(settings)
        return _read_weights(module, kind, settings)

    def _find_frozen(self, host: Host) -> nn.Module:
        """Return the network to play with.

        It is never written to, so all nodes and runs of this process share it.
        """
        ref = self.brain.ref
        if ref is None:
            return self._make_frozen()
        cls = type(self)
        return host.load(
            ref,
            f"{cls.__module__}.{cls.__qualname__} in {self.precision} on {self._device}",
            self._make_frozen,
        )

    def _make_frozen(self, ref: BrainRef | None = None) -> nn.Module:
        module = self.make_module().requires_grad_(False).eval()
        if self.precision == "bf16":
            _store_in_bf16(module)
        return module

    def start_state(self, batch: int) -> Any:
        """Return the result of `initial`, on the node's device."""
        with find_device(self.device):
            return self.initial(batch)

    def as_inputs(self, values: Sequence[Any]) -> list[Any]:
        """Convert the arguments of `tick` to those of `forward`;
        optional inputs at the end may be left out.
        """
        forms = self.input_forms.values()
        return [
            batch_of_one(form, value, self._device)
            for form, value in zip(forms, values, strict=False)
        ]

    def as_outputs(self, result: Any) -> Any:
        """Convert the result of `forward` for a batch of one to that of `tick`."""
        if not self.schema.returns_tuple:
            ((name, form),) = self.output_forms.items()
            return only_item(form, name, result)
        forms = self.output_forms
        if not isinstance(result, tuple) or len(result) != len(forms):
            raise MinibrainsError(
                f"forward gave {_describe(result)}; expected a tuple of {len(forms)} tensors: "
                f"{', '.join(forms)}"
            )
        items = [
            only_item(forms[name], name, tensor) for name, tensor in zip(forms, result, strict=True)
        ]
        return self._output_tuple(*items)


_threads_before: int | None = None
"""Number of threads that torch used before it was limited to one."""


def limit_threads(count: int = 1) -> None:
    """Limit torch to so many threads in this process: with more than one, synchronising them takes
    longer than a small network for a single item.
    """
    import torch

    global _threads_before
    if _threads_before is None:
        _threads_before = torch.get_num_threads()
    torch.set_num_threads(count)


def restore_threads() -> None:
    """Restore the number of torch's threads from before `limit_threads`."""
    global _threads_before
    if _threads_before is not None:
        import torch

        torch.set_num_threads(_threads_before)
        _threads_before = None


def find_device(name: str) -> torch.device:
    """Return the device of this name; "auto" is the first accelerator of this machine,
    or else the CPU.

    Raises:
        MinibrainsError: This machine has no such device.
    """
    import torch

    accelerators = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        accelerators.append("mps")
    there = ["cpu", *accelerators]
    if name == "auto":
        name = accelerators[0] if accelerators else "cpu"
    if name == "cuda":
        name = "cuda:0"
    if name not in there:
        raise MinibrainsError(
            f'there is no device {name!r} here; expected {", ".join(there)} or "auto"'
        )
    return torch.device(name)


def _compile(forward: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """Return the function, which torch compiles when it is called for the first time.

    Raises:
        MinibrainsError: It would be compiled for the processor, and there is no C++ compiler.
    """
    import torch

    compiler = os.environ.get("CXX", "g++")
    if device.type == "cpu" and shutil.which(compiler) is None:
        raise MinibrainsError(
            f"torch.compile needs a C++ compiler, and there is no {compiler}; install one (on "
            "Debian: apt-get install g++), or set compiled to false"
        )
    compiled: Callable[..., Any] = torch.compile(forward, dynamic=False)
    return compiled


def _store_in_bf16(module: nn.Module) -> None:
    """Convert the weights of the layers that compute in bf16 under `_in_bf16`. The others, such as
    norms, keep float32, which takes little memory and is more accurate.
    """
    import torch
    from torch import nn

    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
            layer.to(torch.bfloat16)


def _in_bf16(forward: Callable[..., Any], device: torch.device) -> Callable[..., Any]:
    """Return the function under torch's autocast, with results in float32."""
    import torch

    def as_float32(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16:
            return value.float()
        return value

    def cast(*inputs: Any, **state: Any) -> Any:
        with torch.autocast(device.type, torch.bfloat16):
            return map_state(forward(*inputs, **state), as_float32)

    return cast


def _read_weights(module: nn.Module, kind: type[Brain], config: Mapping[str, Any]) -> Brain:
    """Return a brain with the weights of a module,
    each in the dtype in which this kind of brain stores it.
    """
    specs = kind.tensor_specs(config)
    arrays = {}
    for name, tensor in module.state_dict().items():
        if name in specs:
            dtype, _ = parse_spec(specs[name])
            tensor = tensor.to(torch_dtype(dtype))
        arrays[name] = as_array(tensor)
    return kind(arrays, **config)


# -- the derivation of tick ------------------------------------------------------------------------


def _derive(cls: type[TorchNode]) -> None:
    """Give the class a tick with the sockets that `forward` is annotated with,
    and a recurrent one its reset and its state.
    """
    recurrent = hasattr(cls, "initial")
    derived = ("tick", "reset", "state", "load_state") if recurrent else ("tick",)
    for name in derived:
        if name in cls.__dict__:
            raise NodeClassError(
                f"{cls.__name__} writes {name}(), which a TorchNode derives from forward(); "
                "leave it out"
            )
    signature = tick_signature(f"{cls.__name__}.forward", cls.forward, recurrent)
    tick = _recurrent_tick() if recurrent else _plain_tick()
    tick.__signature__ = signature
    annotations = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if name != "self"
    }
    tick.__annotations__ = {**annotations, "return": signature.return_annotation}
    tick.__doc__ = f"Derived from {cls.__name__}.forward for one item (B = 1)."
    cls.tick = tick  # type: ignore[attr-defined]
    cls._output_tuple = signature.return_annotation
    if recurrent:
        cls.reset = _reset  # type: ignore[method-assign]
        cls.state = _state  # type: ignore[method-assign]
        cls.load_state = _load_state  # type: ignore[method-assign]


def _plain_tick() -> Any:
    def tick(self: TorchNode, *values: Any) -> Any:
        import torch

        with torch.inference_mode():
            inputs = self.as_inputs(values)
            return self.as_outputs(self._forward(*inputs))

    return tick


def _recurrent_tick() -> Any:
    def tick(self: Any, *values: Any) -> Any:
        import torch

        with torch.inference_mode():
            inputs = self.as_inputs(values)
            result = self._forward(*inputs, state=self.memory)
            if not isinstance(result, tuple) or len(result) != 2:
                raise MinibrainsError(
                    f"forward gave {_describe(result)}; expected (outputs, state)"
                )
            outputs, state = result
            check_state(state, 1, "forward")
            given = self.as_outputs(outputs)
            self.memory = state
            return given

    return tick


def _reset(self: Any, episode: Episode) -> None:
    """Start an episode with the state of a new network."""
    self.memory = self.start_state(1)


def _state(self: Any) -> dict[str, Any]:
    """Return the memory as NumPy arrays, since a snapshot can hold these."""
    state = Node.state(self)
    state["memory"] = map_state(self.memory, lambda tensor: tensor.numpy(force=True).copy())
    return state


def _load_state(self: Any, state: Mapping[str, Any]) -> None:
    import torch

    Node.load_state(self, state)
    self.memory = map_state(self.memory, lambda array: torch.tensor(array, device=self._device))


def _describe(result: Any) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    return f"a {type(result).__name__}"
