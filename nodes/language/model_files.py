"""The text files of a Hugging Face model folder: which of them are used,
and which contents are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from minibrains import BrainError
from minibrains.brain_file import TensorInfo, short
from nodes.language.asking import PaliGemma, Pretrained, TextModel
from nodes.language.qwen3_vl_fast import FastQwen3VL

CONFIG: Final = "config.json"
FILES: Final = (
    CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
    "processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json",
    "chat_template.jinja", "chat_template.json",
)  # fmt: skip
"""The files that are used, all of which are text and none of which is code."""
NEEDED: Final = (CONFIG, "tokenizer.json", "tokenizer_config.json")

CODE: Final = "Python code to be loaded with the model"
KERNEL: Final = "a particular implementation of its computations"
ANOTHER: Final = "another model or other files to be loaded"
REFUSED: Final = {
    "auto_map": CODE,
    "trust_remote_code": CODE,
    "custom_generate": CODE,
    "custom_pipelines": CODE,
    "attn_implementation": KERNEL,
    "_attn_implementation": KERNEL,
    "_attn_implementation_internal": KERNEL,
    "experts_implementation": KERNEL,
    "_experts_implementation": KERNEL,
    "_experts_implementation_internal": KERNEL,
    "kernel_config": KERNEL,
    "use_kernels": KERNEL,
    "compile_config": KERNEL,
    "audio_tokenizer": ANOTHER,
    "configuration_files": ANOTHER,
    "gguf_file": ANOTHER,
    "transformers_weights": ANOTHER,
}
"""Refused keys of a configuration, at any depth -> their purpose. Some of them fetch native code
from a hub."""
LANGUAGE_LAYERS: Final = (
    r"^(?!.*(visual|vision)).*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$"
)
"""The seven projections of each layer of a language model, and nothing of what sees, for PEFT."""
QUANTIZED: Final = "quantization_config"
"""The key of a model whose weights are stored in 4 or 8 bits."""
UNLOADABLE: Final = {
    "smolvlm": "SmolVLM2, whose processor needs the packages torchvision and num2words, which are "
    "not used here; take a SmolVLM of the first version (idefics3)",
}
"""`model_type` of families that cannot be loaded -> the reason, and what to do."""
_LABELS: Final = 2
"""The number of labels that transformers assumes by default; a model that answers in words has no
tensors for them."""


class Family(NamedTuple):
    """A family of models: its classes of transformers, the class that asks it,
    and the tensors that show its sizes.
    """

    model: str
    processor: str
    """The class of the processor; empty: it has only a tokenizer, because it sees nothing."""
    sizes: Mapping[str, tuple[str, ...]]
    """Size in the configuration -> where to count it, under any of these names: the parts below a
    name that ends in a dot, or the rows of a tensor."""
    eyes: str = ""
    """The name of the module that gives out the picture's tokens."""
    asked_by: type[Pretrained] = Pretrained
    """The class that asks it by transformers' own calls."""
    faster: type[Pretrained] | None = None
    """A class that computes the same in less time, in f32 on the processor."""
    attention: str = "sdpa"
    """The implementation of attention: torch's own, whatever a file says."""
    adapted: str = LANGUAGE_LAYERS
    """The layers that a new adapter changes: a regular expression for PEFT."""
    template: str | None = None
    """The chat template of a family whose models have none."""

    @property
    def sees(self) -> bool:
        """True if its models are shown pictures."""
        return bool(self.processor)


_GEMMA: Final = {
    "text_config.num_hidden_layers": (
        "language_model.model.layers.",
        "model.language_model.layers.",
    ),
    "text_config.vocab_size": (
        "language_model.model.embed_tokens.weight",
        "model.language_model.embed_tokens.weight",
    ),
    "vision_config.num_hidden_layers": (
        "vision_tower.encoder.layers.",
        "vision_tower.vision_model.encoder.layers.",
        "model.vision_tower.encoder.layers.",
    ),
}
FAMILIES: Final = {
    "qwen3_vl": Family(
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLProcessor",
        {
            "text_config.num_hidden_layers": ("model.language_model.layers.",),
            "text_config.vocab_size": ("model.language_model.embed_tokens.weight",),
            "vision_config.depth": ("model.visual.blocks.",),
            "vision_config.num_position_embeddings": ("model.visual.pos_embed.weight",),
        },
        "model.visual",
        faster=FastQwen3VL,
    ),
    "qwen2_5_vl": Family(
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLProcessor",
        {
            "text_config.num_hidden_layers": ("model.layers.", "model.language_model.layers."),
            "text_config.vocab_size": (
                "model.embed_tokens.weight",
                "model.language_model.embed_tokens.weight",
            ),
            "vision_config.depth": ("visual.blocks.", "model.visual.blocks."),
        },
        "model.visual",
    ),
    "idefics3": Family(
        "Idefics3ForConditionalGeneration",
        "Idefics3Processor",
        {
            "text_config.num_hidden_layers": ("model.text_model.layers.",),
            "text_config.vocab_size": ("model.text_model.embed_tokens.weight",),
            "vision_config.num_hidden_layers": ("model.vision_model.encoder.layers.",),
        },
        "model.connector",
    ),
    "paligemma": Family(
        "PaliGemmaForConditionalGeneration",
        "PaliGemmaProcessor",
        _GEMMA,
        "model.multi_modal_projector",
        PaliGemma,
        attention="eager",  # the text model of PaliGemma 2 has no other
        # the layer between the picture and the language model learns as well
        adapted=rf"{LANGUAGE_LAYERS}|^.*\.multi_modal_projector\.linear$",
        template="<image>{{ messages[0]['content'][1]['text'] }}",
    ),
    "gemma3": Family(
        "Gemma3ForConditionalGeneration",
        "Gemma3Processor",
        _GEMMA,
        "model.multi_modal_projector",
    ),
    "qwen3": Family(
        "Qwen3ForCausalLM",
        "",
        {
            "num_hidden_layers": ("model.layers.",),
            "vocab_size": ("model.embed_tokens.weight",),
        },
        asked_by=TextModel,
    ),
}
"""`model_type` of a configuration -> the family."""


def check_files(where: str, files: Mapping[str, str], tensors: Mapping[str, TensorInfo]) -> Family:
    """Return the family of a model, after checking its text files and the shapes of its tensors,
    before any of it is loaded.

    Raises:
        BrainError: As `check_texts`; or the configuration claims sizes that the tensors do not
            have.
    """
    family = check_texts(where, files)
    config = _object(f"{where}: {CONFIG}", files[CONFIG])
    _check_sizes(f"{where}: {CONFIG}", config, family, tensors)
    return family


def check_texts(where: str, files: Mapping[str, str]) -> Family:
    """Return the family of a model, after checking its text files.

    Raises:
        BrainError: Files are missing, or refer to code or to another model; its weights are
            quantised; or it is of no known family.
    """
    for name in files:
        if name not in FILES:
            raise BrainError(
                f"{where}: {short(name)} is not a supported model file; expected {', '.join(FILES)}"
            )
    for name in NEEDED:
        if name not in files:
            raise BrainError(f"{where}: {name} is missing")
    configs = {
        name: _object(f"{where}: {name}", text)
        for name, text in files.items()
        if name.endswith("config.json")
    }
    for name, config in configs.items():
        for key in _keys(config):
            if key == QUANTIZED:
                raise BrainError(
                    f"{where}: its weights are quantised ({QUANTIZED} in {name}), and cannot be "
                    "loaded here; take the model as its authors trained it, in bf16, or ask this "
                    "one on a server, with RemoteVLM"
                )
            if key in REFUSED:
                raise BrainError(
                    f"{where}: {name} asks for {REFUSED[key]} ({key}), which is not allowed. "
                    "Remove the key"
                )
    kind = configs[CONFIG].get("model_type")
    if isinstance(kind, str) and kind in UNLOADABLE:
        raise BrainError(
            f"{where}: this is a {UNLOADABLE[kind]}, or ask it on a server, with RemoteVLM"
        )
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise BrainError(
            f"{where}: a model of type {short(kind)} cannot be loaded yet; "
            f"expected {', '.join(FAMILIES)}"
        )
    return FAMILIES[kind]


def _keys(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield every key of an object, at any depth, whose value is not empty."""
    waiting: list[Any] = [config]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if item is not None:
                    yield key
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _check_sizes(
    where: str, config: Mapping[str, Any], family: Family, tensors: Mapping[str, TensorInfo]
) -> None:
    for path, sources in family.sizes.items():
        claimed = _find(config, path)
        if claimed is None:
            continue  # then the default of transformers applies
        source, found = sources[0], 0
        for name in sources:
            if found == 0:
                source, found = name, _count(tensors, name)
        if claimed != found:
            raise BrainError(
                f"{where}: {path} is {short(claimed)}, and the tensors {source} are of {found}"
            )
    for part in (config, *config.values()):
        if not isinstance(part, dict):
            continue
        labels = part.get("num_labels")
        if labels is not None and labels != _LABELS:
            raise BrainError(
                f"{where}: num_labels is {short(labels)}, "
                "and no tensor of such a model is of labels"
            )


def _find(config: Mapping[str, Any], path: str) -> Any:
    """Return a size; older configurations have those of the text outside of `text_config`."""
    part, _, name = path.rpartition(".")
    inner = config.get(part)
    if isinstance(inner, dict):
        return inner.get(name)
    return config.get(name)


def _count(tensors: Mapping[str, TensorInfo], source: str) -> int:
    """Return the number of parts below a name that ends in a dot,
    or the number of rows of a tensor.
    """
    if source.endswith("."):
        parts = {
            name.removeprefix(source).partition(".")[0]
            for name in tensors
            if name.startswith(source)
        }
        return len(parts)
    if source in tensors and tensors[source].shape:
        return tensors[source].shape[0]
    return 0


def _object(what: str, text: str) -> Mapping[str, Any]:
    try:
        # not with our own parser, because transformers writes numbers of more than 64 bits
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrainError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BrainError(f"{what} is not a JSON object")
    return value
