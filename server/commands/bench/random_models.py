"""Models with random weights: transformers' real classes of each family, in any size.

Their tokenizers have a token for each byte, so none of the files is from a published model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains.brain_file import TensorInfo
from minibrains.sockets import DTYPES
from nodes.language.model_files import FAMILIES, FILES
from nodes.language.pretrained import VLMBrain, silence_transformers

SPECIAL_TOKENS: Final[Mapping[str, int]] = MappingProxyType(
    {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
)
QWEN_CHAT: Final = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<|vision_start|><|image_pad|>\
<|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TEXT_CHAT: Final = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
IDEFICS_CHAT: Final = """\
{% for message in messages %}<|im_start|>{{ message.role }}:
{% for part in message.content %}{% if part.type == 'image' %}<image>{% else %}\
{{ part.text }}{% endif %}{% endfor %}
<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
GEMMA_CHAT: Final = """\
{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<start_of_image>{% else %}\
{{ part.text | trim }}{% endif %}{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
_STD: Final = 0.02
"""The standard deviation of weights, which is that of transformers for most models."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class ModelSize(NamedTuple):
    """The sizes of a model, under the names that its configuration has for them."""

    text: Mapping[str, Any]
    """The configuration of the language model. Without `vocab_size`, its vocabulary consists of the
    bytes and the special tokens."""
    vision: Mapping[str, Any] = _NOTHING
    """The configuration of the part that sees."""
    pictures: Mapping[str, Any] = _NOTHING
    """The settings of the image processor."""
    picture_tokens: int = 0
    """The number of tokens of a picture, or of each part that it is cut into; 0 for the families in
    which it follows from the picture."""
    others: Mapping[str, Any] = _NOTHING
    """Further entries of the configuration."""
    parts: int = 0
    """The number of rows and of columns of parts for which Idefics3 has special tokens."""


class ModelTexts(NamedTuple):
    """The files of a model besides its weights."""

    config: Any
    """Its configuration."""
    readers: tuple[Any, ...]
    """Its processor, or tokenizer and image processor, with `save_pretrained`."""


def byte_tokenizer(*special: str, named: dict[str, str] | None = None, room: int = 0) -> Any:
    """Return a tokenizer in which each byte is a token.

    Args:
        special: The special tokens after padding, beginning and end, which are 0, 1 and 2.
        named: Special tokens that the tokenizer has attributes for.
        room: The number of tokens up to which the vocabulary is filled.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokens = ["<pad>", "<bos>", "<eos>", *special, *sorted(letters.alphabet())]
    tokens += [f"<unused{place}>" for place in range(room - len(tokens))]
    whole = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, []))
    whole.pre_tokenizer = letters
    whole.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        extra_special_tokens=named or list(special),
    )


# -- the families ----------------------------------------------------------------------------------


def qwen_vl(model_type: str, size: ModelSize) -> ModelTexts:
    """Return a Qwen2.5-VL or a Qwen3-VL without its weights."""
    import transformers
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    marks = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>")
    words = byte_tokenizer(*marks, "<|image_pad|>", "<|video_pad|>", room=_vocabulary(size))
    words.chat_template = QWEN_CHAT
    kind = {"qwen2_5_vl": "Qwen2_5_VLConfig", "qwen3_vl": "Qwen3VLConfig"}[model_type]
    config = getattr(transformers, kind)(
        text_config=_text_config(size, words),
        vision_config=dict(size.vision),
        vision_start_token_id=5,
        vision_end_token_id=6,
        image_token_id=7,
        video_token_id=8,
        **size.others,
    )
    pictures = Qwen2VLImageProcessorPil(patch_size=size.vision["patch_size"], **size.pictures)
    return ModelTexts(config, (words, pictures))


def idefics3(size: ModelSize) -> ModelTexts:
    """Return an Idefics3 without its weights, whose pictures are cut up as SmolVLM's are."""
    from transformers import Idefics3Config, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    marks = ["<|im_start|>", "<fake_token_around_image>", "<image>", "<global-img>"]
    marks.append("<end_of_utterance>")
    for row in range(1, size.parts + 1):
        marks += [f"<row_{row}_col_{column}>" for column in range(1, size.parts + 1)]
    words = byte_tokenizer(*marks, room=_vocabulary(size))
    config = Idefics3Config(
        image_token_id=5,
        pad_token_id=0,
        vision_config=dict(size.vision),
        text_config={**_text_config(size, words), "model_type": "llama"},
        **size.others,
    )
    processor = Idefics3Processor(
        Idefics3ImageProcessorPil(**size.pictures),
        words,
        image_seq_len=size.picture_tokens,
        chat_template=IDEFICS_CHAT,
    )
    return ModelTexts(config, (processor,))


def paligemma(size: ModelSize) -> ModelTexts:
    """Return a PaliGemma without its weights; `model_type` among the sizes of its text is "gemma"
    in version 1, and "gemma2" in version 2.
    """
    from transformers import PaliGemmaConfig, PaliGemmaProcessor
    from transformers.models.paligemma.processing_paligemma import EXTRA_TOKENS
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    # the processor adds its tokens for places and segments
    room = _vocabulary(size) - len(EXTRA_TOKENS)
    words = byte_tokenizer(named={"image_token": "<image>"}, room=room)
    pictures = SiglipImageProcessorPil(**size.pictures)
    pictures.image_seq_length = size.picture_tokens
    processor = PaliGemmaProcessor(pictures, words)
    config = PaliGemmaConfig(
        image_token_id=processor.image_token_id,
        vision_config={**size.vision, "model_type": "siglip_vision_model"},
        text_config=_text_config(size, words),
        **size.others,
    )
    return ModelTexts(config, (processor,))


def gemma3(size: ModelSize) -> ModelTexts:
    """Return a Gemma 3 without its weights."""
    from transformers import Gemma3Config, Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    marks = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    turns = ("<start_of_turn>", "<end_of_turn>")
    words = byte_tokenizer(*marks.values(), *turns, named=marks, room=_vocabulary(size))
    config = Gemma3Config(
        mm_tokens_per_image=size.picture_tokens,
        boi_token_index=3,
        eoi_token_index=4,
        image_token_index=5,
        vision_config=dict(size.vision),
        text_config=_text_config(size, words),
        **size.others,
    )
    processor = Gemma3Processor(
        Gemma3ImageProcessorPil(**size.pictures),
        words,
        chat_template=GEMMA_CHAT,
        image_seq_length=size.picture_tokens,
    )
    return ModelTexts(config, (processor,))


def qwen3(size: ModelSize) -> ModelTexts:
    """Return a Qwen3, which sees nothing, without its weights."""
    from transformers import Qwen3Config

    words = byte_tokenizer("<|im_start|>", "<|im_end|>", room=_vocabulary(size))
    words.chat_template = TEXT_CHAT
    return ModelTexts(Qwen3Config(**_text_config(size, words), **size.others), (words,))


TEXTS: Final[Mapping[str, Callable[[ModelSize], ModelTexts]]] = {
    "qwen2_5_vl": lambda size: qwen_vl("qwen2_5_vl", size),
    "qwen3_vl": lambda size: qwen_vl("qwen3_vl", size),
    "idefics3": idefics3,
    "paligemma": paligemma,
    "gemma3": gemma3,
    "qwen3": qwen3,
}
"""`model_type` of a family -> the function that makes a model of it without its weights."""


def _vocabulary(size: ModelSize) -> int:
    """Return the size of the vocabulary; 0 if it is as large as it has to be."""
    vocabulary: int = size.text.get("vocab_size", 0)
    return vocabulary


def _text_config(size: ModelSize, words: Any) -> dict[str, Any]:
    return {**SPECIAL_TOKENS, **size.text, "vocab_size": len(words)}


# -- random weights --------------------------------------------------------------------------------


class RandomModel:
    """A model with random weights, which are not in memory."""

    def __init__(self, model_type: str, size: ModelSize) -> None:
        """Make everything of it except its weights.

        Args:
            model_type: The name of its family in FAMILIES.
            size: Its sizes.
        """
        import torch
        import transformers

        silence_transformers()
        texts = TEXTS[model_type](size)
        self.files: Mapping[str, str] = _files(texts)
        """Its text files by name."""
        self.sees = FAMILIES[model_type].sees
        """True if it is shown pictures."""
        kind = getattr(transformers, FAMILIES[model_type].model)
        with torch.device("meta"):
            model = kind._from_config(texts.config)
        self.parameters: int = model.num_parameters()
        """The number of its parameters; those that are used in two places count once."""
        self.tensors: Mapping[str, TensorInfo] = _infos(_shapes(model))
        """The tensors of its file, all of them in bf16."""

    @property
    def file_size(self) -> int:
        """The bytes of all its weights."""
        return sum(info.end - info.start for info in self.tensors.values())

    def write(self, path: Path, answers: Sequence[str]) -> None:
        """Write the brain file. Only one tensor at a time is in memory.

        Args:
            path: The new file.
            answers: The answers that the model chooses from.
        """
        import torch

        zero = np.zeros((), DTYPES["bf16"])
        # only the shapes are looked at, and these arrays take no memory
        shaped = {name: np.broadcast_to(zero, info.shape) for name, info in self.tensors.items()}
        brain = VLMBrain(shaped, files=self.files, answers=tuple(answers))
        metadata = brain.metadata(title="random", made_by="python -m server bench thoughts")
        header: dict[str, Any] = {"__metadata__": metadata}
        for name, info in self.tensors.items():
            places = [info.start, info.end]
            header[name] = {"dtype": "BF16", "shape": info.shape, "data_offsets": places}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        random = torch.Generator().manual_seed(0)
        with path.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name, info in self.tensors.items():
                weights = _random_weights(name, info.shape, random)
                file.write(weights.view(torch.int16).numpy().data)


def _files(texts: ModelTexts) -> dict[str, str]:
    """Return the text files of a model by name."""
    files: dict[str, str] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for part in (texts.config, *texts.readers):
            part.save_pretrained(folder)
        for file in FILES:
            if (folder / file).is_file():
                files[file] = (folder / file).read_text("utf-8")
    return files


def _shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that `save_pretrained` would write, by their names there."""
    from transformers.core_model_loading import revert_weight_conversion

    weights = model.state_dict()
    for name in model.all_tied_weights_keys:
        del weights[name]  # it is another tensor once more
    shapes: dict[str, tuple[int, ...]] = {}
    for name, tensor in revert_weight_conversion(model, weights).items():
        shapes[name] = tuple(tensor.shape)
    return shapes


def _infos(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, TensorInfo]:
    """Return tensors of bf16 that are one after the other in a file."""
    infos: dict[str, TensorInfo] = {}
    start = 0
    for name, shape in shapes.items():
        end = start + 2 * math.prod(shape)
        infos[name] = TensorInfo("bf16", shape, start, end)
        start = end
    return infos


def _random_weights(name: str, shape: tuple[int, ...], random: Any) -> Any:
    """Return the weights of a layer, bf16: those of norms are 1, and biases are 0, so that the
    numbers within a model remain of a usual size.
    """
    import torch

    weights = torch.empty(shape, dtype=torch.bfloat16)
    if len(shape) > 1:
        return weights.normal_(std=_STD, generator=random)
    return weights.fill_(0.0 if name.endswith("bias") else 1.0)
