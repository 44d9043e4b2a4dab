"""A pretrained vision-language model in one safetensors file: weights, configuration, tokenizer, processor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self

import numpy as np

from minibrains import Brain, BrainError, setting
from minibrains.brain_file import TensorInfo, read_header, short
from minibrains.loading import BrainRef
from minibrains.tensors import as_array
from nodes.language.asking import Pretrained
from nodes.language.qwen3_vl_fast import FastQwen3VL

WEIGHTS: Final = "model.safetensors"
CONFIG: Final = "config.json"
FILES: Final = (
    CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json",
    "chat_template.jinja", "chat_template.json",
)  # fmt: skip
"""The files of a Hugging Face model folder that are taken over: all of them text, none of them code."""
NEEDED: Final = (CONFIG, "tokenizer.json", "tokenizer_config.json")
OFFLINE: Final = {"local_files_only": True, "trust_remote_code": False}
"""To every `from_pretrained`: nothing is fetched, and no code is run that came with a model."""
FLOATS: Final = ("f32", "f16", "bf16")
"""The types weights may be stored in; computed is in f32."""


class Family(NamedTuple):
    """A kind of model: the classes of transformers that make it up, and who asks it."""

    model: str
    processor: str
    asked_by: type[Pretrained] = Pretrained
    """By transformers' own calls, or by a subclass that comes to the same in less time."""


FAMILIES: Final = {
    "qwen3_vl": Family("Qwen3VLForConditionalGeneration", "Qwen3VLProcessor", FastQwen3VL),
    "idefics3": Family("Idefics3ForConditionalGeneration", "Idefics3Processor"),
}
"""`model_type` of a configuration -> how such a model is loaded and asked."""


class VisionLanguageModel(Brain):
    """A model that looks at a picture, reads a prompt and answers. Its tensors are those that transformers saves."""

    kind = "vlm"
    files: Mapping[str, str] = setting(doc="the text files of a Hugging Face model folder, by name")
    answers: tuple[str, ...] = setting((), doc="what it may be asked to choose from; each is one token")

    @classmethod
    def check_tensors(cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        """Whether names and shapes are those of the model is for transformers to say, when it is loaded."""
        check_files(where, config["files"])
        for name, info in tensors.items():
            if info.dtype not in FLOATS:
                raise BrainError(f"{where}: tensor {short(name)} is {info}; expected one of {', '.join(FLOATS)}")
        return {}

    @classmethod
    def of_folder(cls, folder: Path, answers: tuple[str, ...] = ()) -> Self:
        """What transformers' `save_pretrained` wrote. Raises BrainError if that is no model of ours."""
        from safetensors import safe_open

        files = {name: (folder / name).read_text("utf-8") for name in FILES if (folder / name).is_file()}
        check_files(str(folder), files)
        tensors: dict[str, np.ndarray] = {}
        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, "pt") as weights:
                tensors.update({name: as_array(weights.get_tensor(name)) for name in weights.keys()})  # noqa: SIM118 - no dict
        return cls(tensors, files=files, answers=answers)


def check_files(where: str, files: Mapping[str, str]) -> Family:
    """How this model is loaded. Raises BrainError if files are missing, want code of their own, or are of another family."""
    for name in files:
        if name not in FILES:
            raise BrainError(f"{where}: {short(name)} is no file of a model that is taken over; expected {', '.join(FILES)}")
    for name in NEEDED:
        if name not in files:
            raise BrainError(f"{where}: {name} is missing")
    configs = {name: _object(f"{where}: {name}", text) for name, text in files.items() if name.endswith("config.json")}
    for name, config in configs.items():
        if "auto_map" in config:
            raise BrainError(f"{where}: {name} wants Python code to be loaded with the model (auto_map); that is never done")
        if "audio_tokenizer" in config:
            raise BrainError(f"{where}: {name} wants another model to be loaded (audio_tokenizer); that is never done")
    family = configs[CONFIG].get("model_type")
    if family not in FAMILIES:
        raise BrainError(f"{where}: a model of type {short(family)} cannot be loaded yet; expected {' or '.join(FAMILIES)}")
    return FAMILIES[family]


def _object(what: str, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)  # not by our rules: transformers writes numbers of more than 64 bits
    except (ValueError, RecursionError) as error:
        raise BrainError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BrainError(f"{what} is not a JSON object")
    return value


def load_pretrained(ref: BrainRef) -> Pretrained:
    """Load a model with transformers, as f32, from this one file. Raises BrainError if it does not fit its configuration."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # what is wrong is said below, in a sentence
    path = Path(ref.file)
    files = VisionLanguageModel.load(path).files
    family = check_files(ref.file, files)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        _link(path, folder / WEIGHTS)
        try:
            model, faults = _load_model(folder, family)
            processor = _load_processor(folder, family)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise BrainError(f"{path}: transformers cannot load it: {' '.join(str(error).split())}") from None
    for fault in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if found := sorted(map(str, faults.get(fault) or ())):
            raise BrainError(f"{path}: {short(found[0])} is one of {len(found)} {fault.replace('_', ' ')} of the model's tensors")
    return family.asked_by(model.requires_grad_(False).eval(), processor)


def _load_model(folder: Path, family: Family) -> Any:
    """Return the model, and what its file has too little or too much of."""
    import torch
    import transformers

    kind = getattr(transformers, family.model)
    return kind.from_pretrained(
        folder, dtype=torch.float32, ignore_mismatched_sizes=True, output_loading_info=True, **OFFLINE
    )  # fmt: skip


def _load_processor(folder: Path, family: Family) -> Any:
    """Return the processor, without what reads videos: that needs torchvision, and nobody shows any here."""
    import transformers
    from transformers.video_processing_utils import VideoProcessorMixin

    kind = getattr(transformers, family.processor)
    # as it is, it refuses the stand-in for what reads videos
    unchecked: Any = type(kind.__name__, (kind,), {"check_argument_for_proper_class": lambda self, name, part: type(part)})
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **OFFLINE)
    parts = {
        "tokenizer": tokenizer,
        "image_processor": transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **OFFLINE),
        "video_processor": VideoProcessorMixin(),
    }
    settings, _ = kind.get_processor_dict(folder, **OFFLINE)
    settings.setdefault("chat_template", tokenizer.chat_template)
    return unchecked.from_args_and_dict([parts[name] for name in kind.get_attributes()], settings)


def _link(file: Path, name: Path) -> None:
    try:
        name.symlink_to(file.absolute())
    except OSError:  # where a person may not link
        shutil.copyfile(file, name)


def title_of(ref: BrainRef) -> str:
    """What people call a model."""
    return read_header(Path(ref.file)).metadata.get("title") or Path(ref.file).name
