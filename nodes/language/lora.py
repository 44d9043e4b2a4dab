"""LoRALoader: a reference to a PEFT adapter, and what becomes of a model with adapters."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

import numpy as np

from minibrains import Brain, BrainError, Host, MinibrainsError, Node, Socket, setting, widget
from minibrains.brain_file import TensorInfo, short
from minibrains.errors import in_words
from minibrains.loading import BrainRef
from minibrains.tensors import as_array, as_tensor
from minibrains.values import parse_json
from nodes.language.pretrained import FLOATS, title_of

USED: Final = ("r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern")
"""What of an adapter_config.json decides the numbers of a plain LoRA."""
MODULES: Final = "target_modules"
"""The names of the modules that are changed, or a regular expression for them. Which they are is seen from the tensors."""
PATTERNS: Final = ("rank_pattern", "alpha_pattern")
"""Modules with a rank, or a scale, of their own: PEFT takes their names for regular expressions."""
OF_TRAINING: Final = (
    "task_type", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout", "init_lora_weights", "peft_version",
    "auto_mapping", "megatron_core", "qalora_group_size",
)  # fmt: skip
"""What of it tells of the training, or names what is not used: it is left out."""
NOTHING: Final[tuple[Any, ...]] = (None, False, (), [], {}, "none")
NAME: Final = re.compile(r"\w+(\.\w+)*")
TENSOR: Final = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<half>[AB])\.weight")


class LoraAdapter(Brain):
    """A low-rank change of a model's weights, as PEFT saves it. Its tensors are called as PEFT calls them."""

    kind = "lora_adapter"
    adapter: Mapping[str, Any] = setting(doc="PEFT's adapter_config.json")
    base: str = setting(doc="the title of the model it was made for")
    base_sha256: str = setting(doc="the SHA-256 of that model's file")

    @classmethod
    def of_folder(cls, folder: Path, base: BrainRef) -> Self:
        """What PEFT's `save_pretrained` wrote of an adapter for this model. Raises BrainError if it is no plain LoRA."""
        from safetensors.torch import load_file

        for name in ("adapter_config.json", "adapter_model.safetensors"):
            if not (folder / name).is_file():
                raise BrainError(f"{folder}: {name} is missing; expected what PEFT's save_pretrained writes of an adapter")
        adapter = parse_json((folder / "adapter_config.json").read_bytes())
        adapter = {name: value for name, value in adapter.items() if name not in OF_TRAINING and value not in NOTHING}
        tensors = {name: as_array(tensor) for name, tensor in load_file(folder / "adapter_model.safetensors").items()}
        return cls(tensors, adapter=adapter, base=title_of(base), base_sha256=base.sha256)

    @classmethod
    def check_tensors(cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        adapter = config["adapter"]
        if adapter.get("peft_type") != "LORA":
            raise BrainError(f"{where}: the adapter is {short(adapter.get('peft_type'))}; expected peft_type LORA")
        for name, value in adapter.items():
            if name not in (*USED, MODULES, "peft_type") and value not in NOTHING:
                raise BrainError(f"{where}: the adapter's {short(name)} is {short(value)}; a plain LoRA has nothing there")
        _check_values(where, adapter)
        found: dict[str, dict[str, TensorInfo]] = {}
        for name, info in tensors.items():
            match = TENSOR.fullmatch(name)
            if match is None or len(info.shape) != 2 or info.dtype not in FLOATS:
                raise BrainError(
                    f"{where}: tensor {short(name)} {info}; expected base_model.model.….lora_A.weight or lora_B.weight, a matrix "
                    f"of {' or '.join(FLOATS)}"
                )
            found.setdefault(match["module"], {})[match["half"]] = info
        for module, halves in found.items():
            if len(halves) != 2 or halves["A"].shape[0] != halves["B"].shape[1]:
                raise BrainError(f"{where}: lora_A and lora_B of {short(module)} are not two matrices of one rank")
        named = adapter.get(MODULES)
        if isinstance(named, (list, tuple)):
            _check_modules(where, found, named)
        return {}

    def check(self, where: str) -> None:
        for name, array in self.tensors.items():
            if not np.isfinite(array).all():
                raise BrainError(f"{where}: tensor {short(name)} has numbers in it that are none: infinity or NaN")


def _check_values(where: str, adapter: Mapping[str, Any]) -> None:
    """Look at what PEFT is given. Raises BrainError."""
    rank, alpha = adapter.get("r", 1), adapter.get("lora_alpha", 1)
    if type(rank) is not int or rank < 1:
        raise BrainError(f"{where}: the adapter's r is {short(rank)}; expected a whole number from 1")
    if type(alpha) not in (int, float):
        raise BrainError(f"{where}: the adapter's lora_alpha is {short(alpha)}; expected a number")
    for key in PATTERNS:
        pattern = adapter.get(key) or {}
        if not isinstance(pattern, Mapping):
            raise BrainError(f"{where}: the adapter's {key} is {short(pattern)}; expected numbers by the names of modules")
        for name, value in pattern.items():
            whole = type(value) is int and value >= 1
            if not NAME.fullmatch(name) or not (whole or (key == "alpha_pattern" and type(value) is float)):
                found = f"{short(name)}: {short(value)}"
                raise BrainError(f"{where}: the adapter's {key} has {found}; expected numbers by the plain names of modules")


def _check_modules(where: str, modules: Iterable[str], named: Sequence[Any]) -> None:
    """Compare the modules that have tensors with those that are named. Raises BrainError."""
    for name in named:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BrainError(f"{where}: the adapter's {MODULES} has {short(name)}; expected plain names of modules")
    for module in modules:
        if not any(f".{module}".endswith(f".{name}") for name in named):
            raise BrainError(f"{where}: the tensors of {short(module)} are of none of the adapter's {MODULES}")


class Adapter(NamedTuple):
    """An adapter, how much of it, and the model it belongs to."""

    ref: BrainRef
    weight: float
    base: str
    base_sha256: str


AdapterLink = Annotated[Adapter, Socket("adapter", "sha256[base_sha256]")]
"""An adapter for whichever model the LoRALoader's brain was made for."""


class LoRALoader(Node, category="language"):
    """Give out a reference to an adapter, for a model to be changed by.

    Out:  for VLMStrategist, which takes any number of them
    Weight and brain can be changed while the game goes on: the next answer is that of the changed model.
    Source: first seed, a LoRA on a vision-language model.
    """

    brain: LoraAdapter
    weight: float = widget(default=1.0, min=-4.0, max=4.0, doc="how much of the change: 0 none, 1 as it was trained")

    def open(self, host: Host) -> None:
        import peft  # noqa: F401 - takes seconds, and the first to need it is in the middle of a game

    def tick(self) -> AdapterLink:
        if self.brain.ref is None:
            raise MinibrainsError("an adapter is passed on by its file, and this one is in none")
        return Adapter(self.brain.ref, self.weight, self.brain.base, self.brain.base_sha256)


def applied(model: Any, adapters: Sequence[tuple[BrainRef, float]]) -> Any:
    """The model with these adapters beside its weights, as a PeftModel; `model` itself is left as it is.

    Raises BrainError if an adapter's tensors are not those that its configuration asks for.
    """
    from peft import LoraConfig, PeftModel, set_peft_model_state_dict
    from peft.tuners.lora import LoraLayer

    # of PEFT's own question to the model
    warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
    # another structure over the same weights: PEFT puts its layers in place of the model's own
    memo = {id(weight): type(weight)(weight.data, requires_grad=False) for weight in model.parameters()}
    changed: Any = copy.deepcopy(model, memo)
    names = [f"adapter_{place}" for place in range(len(adapters))]
    for name, (ref, weight) in zip(names, adapters, strict=True):
        brain = LoraAdapter.load(Path(ref.file))
        tensors = {key: as_tensor(array).float() for key, array in brain.tensors.items()}
        try:
            config = LoraConfig(**_peft_settings(brain), inference_mode=True)
            # made without numbers: no random ones are drawn, and whichever the file does not have is missed below
            if name == names[0]:
                changed = PeftModel(changed, config, name, low_cpu_mem_usage=True)
            else:
                changed.add_adapter(name, config, low_cpu_mem_usage=True)
            result = set_peft_model_state_dict(changed, tensors, name, low_cpu_mem_usage=True)
        except Exception as error:  # whatever PEFT makes of a configuration that it does not expect
            raise BrainError(f"{ref.file}: PEFT cannot apply it: {' '.join(in_words(error).split())}") from None
        missing = [key for key in result.missing_keys if f".{name}." in key]
        if wrong := [*missing, *result.unexpected_keys]:
            raise BrainError(f"{ref.file}: its tensors are not those its configuration asks for: {short(wrong[0])}")
        for layer in changed.modules():
            if isinstance(layer, LoraLayer) and name in layer.scaling:
                layer.scaling[name] *= weight
    changed.base_model.set_adapter(names, inference_mode=True)
    return changed.requires_grad_(False).eval()


def merged(model: Any, adapters: Sequence[tuple[BrainRef, float]]) -> Any:
    """The model with these adapters added to its weights, which costs a forward pass nothing; `model` is left as it is."""
    changed = applied(model, adapters)
    try:
        return changed.merge_and_unload(safe_merge=True)
    except ValueError as error:
        files = ", ".join(ref.file for ref, _ in adapters)
        raise BrainError(f"{files}: added to the model's weights it gives numbers that are none: {error}") from None


def _peft_settings(brain: LoraAdapter) -> dict[str, Any]:
    """Return what PEFT is told of an adapter: names that stand for themselves, and no pattern of the file's."""
    settings = {key: value for key in USED if (value := brain.adapter.get(key)) is not None}
    for key in PATTERNS:
        settings[key] = {re.escape(name): value for name, value in (settings.get(key) or {}).items()}
    modules = (TENSOR.fullmatch(name) for name in brain.tensors)
    settings[MODULES] = sorted({match["module"] for match in modules if match is not None})
    return settings
