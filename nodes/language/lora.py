"""LoRALoader: a reference to a PEFT adapter, and the merging of adapters into a model."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

from minibrains import Brain, BrainError, MinibrainsError, Node, Socket, setting, widget
from minibrains.brain_file import TensorInfo, short
from minibrains.loading import BrainRef
from minibrains.tensors import as_array, as_tensor, is_finite
from minibrains.values import parse_json
from nodes.language.pretrained import FLOATS, title_of

USED: Final = ("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern")
"""The entries of an adapter_config.json that determine the numbers of a plain LoRA."""
MODULES: Final = "target_modules"
"""The entry with the names of the changed modules, or a regular expression for them. The tensors
decide which they are."""
PATTERNS: Final = ("rank_pattern", "alpha_pattern")
"""The entries with ranks and scales of single modules, whose names PEFT treats as regular
expressions."""
OF_TRAINING: Final = (
    "task_type", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout",
    "init_lora_weights", "peft_version", "auto_mapping", "megatron_core", "qalora_group_size",
    "exclude_modules", "layers_to_transform", "layers_pattern",
)  # fmt: skip
"""The entries about training, about files that are not used, or about the choice of modules, which
the tensors have made: they are left out."""
INITIAL: Final = "init_lora_weights"
PLAIN_INITIAL: Final = (None, True, False, "gaussian", "eva", "orthogonal")
"""The ways to begin a training after which an adapter is added to the model's weights as they are.
The others (PiSSA, OLoRA, CorDA, LoftQ) have changed these as well."""
NOTHING: Final[tuple[Any, ...]] = (None, False, (), [], {}, "none")
PEFT_RANK: Final = 8
PEFT_ALPHA: Final = 8
"""PEFT's default of `lora_alpha`."""
NAME: Final = re.compile(r"\w+(\.\w+)*")
TENSOR: Final = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<half>[AB])\.weight")


class LoraAdapter(Brain):
    """A low-rank change of a model's weights, as saved by PEFT, with PEFT's names of tensors."""

    kind = "lora_adapter"
    adapter: Mapping[str, Any] = setting(doc="PEFT's adapter_config.json")
    base: str = setting(doc="the title of the model that the adapter was made for")
    base_sha256: str = setting(doc="the SHA-256 of that model's file")

    @classmethod
    def of_folder(cls, folder: Path, base: BrainRef) -> Self:
        """Return the adapter for a model from a folder of PEFT's `save_pretrained`.

        Raises BrainError if it is not a plain LoRA.
        """
        from safetensors.torch import load_file

        for name in ("adapter_config.json", "adapter_model.safetensors"):
            if not (folder / name).is_file():
                raise BrainError(
                    f"{folder}: {name} is missing; expected the files that "
                    "PEFT's save_pretrained writes"
                )
        found = parse_json((folder / "adapter_config.json").read_bytes())
        if found.get(INITIAL) not in PLAIN_INITIAL:
            raise BrainError(
                f"{folder}: its {INITIAL} is {short(found[INITIAL])}, which has changed the "
                "model's own weights as well; expected a plain LoRA: save it again with PEFT, with "
                "save_pretrained(…, path_initial_model_for_weight_conversion=…)"
            )
        tensors = {
            name: as_array(tensor)
            for name, tensor in load_file(folder / "adapter_model.safetensors").items()
        }
        adapter: dict[str, Any] = {}
        for name, value in found.items():
            if name in PATTERNS and isinstance(value, Mapping):
                value = _by_plain_names(value, _modules(tensors))
            if name not in OF_TRAINING and not _says_nothing(value):
                adapter[name] = value
        return cls(tensors, adapter=adapter, base=title_of(base), base_sha256=base.sha256)

    @classmethod
    def check_tensors(
        cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]
    ) -> Mapping[str, int]:
        adapter = config["adapter"]
        if adapter.get("peft_type") != "LORA":
            raise BrainError(
                f"{where}: the adapter is {short(adapter.get('peft_type'))}; "
                "expected peft_type LORA"
            )
        for name, value in adapter.items():
            if name not in (*USED, MODULES, "peft_type") and value not in NOTHING:
                raise BrainError(
                    f"{where}: the adapter's {short(name)} is {short(value)}; expected a plain "
                    "LoRA, which has nothing there: merge it into its model with PEFT's "
                    "merge_and_unload, and pack that model"
                )
        _check_values(where, adapter)
        found: dict[str, dict[str, TensorInfo]] = {}
        for name, info in tensors.items():
            match = TENSOR.fullmatch(name)
            if match is None or len(info.shape) != 2 or info.dtype not in FLOATS:
                raise BrainError(
                    f"{where}: tensor {short(name)} {info}; "
                    "expected base_model.model.….lora_A.weight or lora_B.weight, a matrix "
                    f"of {' or '.join(FLOATS)}"
                )
            found.setdefault(match["module"], {})[match["half"]] = info
        for module, halves in found.items():
            if len(halves) != 2 or halves["A"].shape[0] != halves["B"].shape[1]:
                raise BrainError(
                    f"{where}: lora_A and lora_B of {short(module)} are not "
                    "two matrices of one rank"
                )
            rank = _rank(adapter, module)
            if halves["A"].shape[0] != rank:
                its = halves["A"].shape[0]
                raise BrainError(
                    f"{where}: the tensors of {short(module)} are of rank {its}; "
                    f"the adapter says {rank}"
                )
        named = adapter.get(MODULES)
        if isinstance(named, (list, tuple)):
            _check_modules(where, found, named)
        return {}

    def check(self, where: str) -> None:
        for name, array in self.tensors.items():
            if not is_finite(array):
                raise BrainError(f"{where}: tensor {short(name)} contains infinity or NaN")


def _says_nothing(value: Any) -> bool:
    """Return whether an entry is as if it were not there. Zero is equal to False, but a lora_alpha
    of 0 is no missing one.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return not is_number and value in NOTHING


def _by_plain_names(pattern: Mapping[str, Any], modules: Iterable[str]) -> Mapping[str, Any]:
    """Return a pattern whose keys are not regular expressions: those of these modules that one of
    its keys matches, as PEFT matches them.

    Raises BrainError if a key is not a regular expression.
    """
    if all(NAME.fullmatch(key) for key in pattern):
        return pattern
    plain: dict[str, Any] = {}
    for module in modules:
        for key, value in pattern.items():
            try:
                is_matched = re.fullmatch(rf"(.*\.)?({key})", module)
            except re.error as error:
                raise BrainError(f"{short(key)} is not a regular expression: {error}") from None
            if is_matched:
                plain[module] = value
                break
    return plain


def _check_values(where: str, adapter: Mapping[str, Any]) -> None:
    """Check the configuration values. Raises BrainError."""
    rank, alpha = adapter.get("r", 1), adapter.get("lora_alpha", 1)
    if type(rank) is not int or rank < 1:
        raise BrainError(
            f"{where}: the adapter's r is {short(rank)}; expected a whole number from 1"
        )
    if type(alpha) not in (int, float):
        raise BrainError(f"{where}: the adapter's lora_alpha is {short(alpha)}; expected a number")
    for key in PATTERNS:
        pattern = adapter.get(key) or {}
        if not isinstance(pattern, Mapping):
            raise BrainError(
                f"{where}: the adapter's {key} is {short(pattern)}; "
                "expected numbers by the names of modules"
            )
        for name, value in pattern.items():
            whole = type(value) is int and value >= 1
            if not NAME.fullmatch(name) or not (
                whole or (key == "alpha_pattern" and type(value) is float)
            ):
                found = f"{short(name)}: {short(value)}"
                raise BrainError(
                    f"{where}: the adapter's {key} has {found}; "
                    "expected numbers by the plain names of modules"
                )


def _check_modules(where: str, modules: Iterable[str], named: Sequence[Any]) -> None:
    """Compare the modules that have tensors with those that are named. Raises BrainError."""
    for name in named:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BrainError(
                f"{where}: the adapter's {MODULES} has {short(name)}; "
                "expected plain names of modules"
            )
    for module in modules:
        if not any(f".{module}".endswith(f".{name}") for name in named):
            raise BrainError(
                f"{where}: {short(module)} has tensors, but is not among the adapter's {MODULES}"
            )


class Adapter(NamedTuple):
    """A reference to an adapter, its weight, and the SHA-256 of the model that it belongs to."""

    ref: BrainRef
    weight: float
    base: str
    base_sha256: str


AdapterLink = Annotated[Adapter, Socket("adapter", "sha256[base_sha256]")]
"""An adapter for whichever model the LoRALoader's brain was made for."""


OwnAdapter = Annotated[Adapter, Socket("adapter", "sha256[brain]")]
"""An adapter that was made for the node's own brain."""


def check_base(model: BrainRef, adapter: Adapter) -> None:
    """Raise BrainError if an adapter is for another model; names both."""
    if adapter.base_sha256 != model.sha256:
        raise BrainError(
            f"{adapter.ref.file} is an adapter for the model {adapter.base!r} "
            f"({adapter.base_sha256[:12]}), and this one is {title_of(model)!r} "
            f"({model.sha256[:12]})"
        )


class LoRALoader(Node, category="language"):
    """Deliver a reference to an adapter that changes a model.

    Out:  for VLMStrategist, which takes any number of them
    Weight and brain can be changed while the game goes on: the next answer is that of the changed
    model. With the weight 0 it can be linked to any model, because it changes nothing.
    Source: E. J. Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021,
        arXiv:2106.09685.
    """

    brain: LoraAdapter
    weight: float = widget(
        default=1.0, min=-4.0, max=4.0, doc="the weight of the change: 0: none, 1: as trained"
    )

    @classmethod
    def fits_any_file(cls, widgets: Mapping[str, Any]) -> bool:
        return widgets.get("weight") == 0

    def tick(self) -> AdapterLink:
        if self.brain.ref is None:
            raise MinibrainsError("this adapter has no file to be loaded from; save it first")
        return Adapter(self.brain.ref, self.weight, self.brain.base, self.brain.base_sha256)


def merged(model: Any, adapters: Sequence[tuple[BrainRef, float]]) -> Any:
    """Return the model with adapters added to its weights, so that a forward pass takes no longer.

    `model` is not changed, and the weights that no adapter changes are shared with it. The numbers
    are those of PEFT's `merge_and_unload`, which adds layers of its own to the model first.

    Args:
        model: The model, with weights of f32 or bf16.
        adapters: The adapters to add, one after another, and their weights.

    Raises:
        BrainError: An adapter does not fit the model.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    changed = copy.deepcopy(model, shared)
    for ref, weight in adapters:
        _add_adapter(changed, ref, weight)
    return changed


def _add_adapter(model: Any, ref: BrainRef, weight: float) -> None:
    import torch

    brain = LoraAdapter.load(Path(ref.file))
    for module in _modules(brain.tensors):
        layer = _find_linear(model, module, ref)
        down, up = _matrix(brain, module, "A"), _matrix(brain, module, "B")
        if layer.weight.shape != (up.shape[0], down.shape[1]):
            found = f"{up.shape[0]} x {down.shape[1]}"
            expected = " x ".join(map(str, layer.weight.shape))
            raise BrainError(
                f"{ref.file}: its change of {short(module)} is {found}; "
                f"the model's weights there are {expected}"
            )
        # in place, because allocating a large matrix takes longer than computing the sum
        change = (up @ down).mul_(_scale(brain.adapter, module) * weight)
        # the sum is computed in f32 and rounded once, as PEFT does
        weights = change.to(layer.weight.device).add_(layer.weight).to(layer.weight.dtype)
        lowest, highest = torch.aminmax(weights)
        if not lowest.isfinite() or not highest.isfinite():
            raise BrainError(
                f"{ref.file}: added to the model's {short(module)}, it gives infinity or NaN"
            )
        layer.weight = torch.nn.Parameter(weights, requires_grad=False)


def _find_linear(model: Any, module: str, ref: BrainRef) -> Any:
    import torch

    try:
        layer = model.get_submodule(module)
    except AttributeError:
        layer = None
    if not isinstance(layer, torch.nn.Linear):
        raise BrainError(
            f"{ref.file}: it changes {short(module)}, "
            "and the model has no linear layer of that name"
        )
    return layer


def _modules(tensors: Iterable[str]) -> list[str]:
    """Return the modules that tensors of these names change."""
    modules: set[str] = set()
    for name in tensors:
        match = TENSOR.fullmatch(name)
        if match is not None:
            modules.add(match["module"])
    return sorted(modules)


def _matrix(brain: LoraAdapter, module: str, half: str) -> Any:
    """Return one of the two matrices whose product is added to a module's weights, as f32."""
    return as_tensor(brain.tensors[f"base_model.model.{module}.lora_{half}.weight"]).float()


# -- the configuration, as PEFT interprets it ------------------------------------------------------


def _scale(adapter: Mapping[str, Any], module: str) -> float:
    """Return the factor of a module's change."""
    rank = _rank(adapter, module)
    alpha: float = _of_module(
        adapter, "alpha_pattern", module, adapter.get("lora_alpha", PEFT_ALPHA)
    )
    if adapter.get("use_rslora"):
        return alpha / math.sqrt(rank)
    return alpha / rank


def _rank(adapter: Mapping[str, Any], module: str) -> int:
    rank: int = _of_module(adapter, "rank_pattern", module, adapter.get("r", PEFT_RANK))
    return rank


def _of_module(adapter: Mapping[str, Any], pattern: str, module: str, default: Any) -> Any:
    """Return the value for a module: that of the first name in the pattern
    that its own name ends with.
    """
    for name, value in (adapter.get(pattern) or {}).items():
        if f".{module}".endswith(f".{name}"):
            return value
    return default
